"""``jobmon restart`` in a shell, with jobs of this machine."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.job.restart.model import Lineage
from jobmon_core.domain.many.groups.model import Group, Member
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.store.home import Home
from tests.support.checkpoint_layouts import torch_file
from tests.support.job_records import NOW_S, RUNNING, failed, job_of
from tests.support.lineages import attempt, job_of_attempt, lineage_of, save
from tests.support.processes import processes_of
from tests.support.shell import Shell, complaint
from tests.support.waiting import eventually

SCRIPT = """\
#!/bin/bash
#SBATCH -o out-%j.txt
echo "attempt ${JOBMON_ATTEMPT-none} from ${JOBMON_RESUME_FROM-the start} $MARK"
mkdir -p ckpt
cp whole.pt ckpt/.tmp && mv ckpt/.tmp ckpt/step_100.pt
exit 1
"""


@pytest.fixture
def user(shell: Shell) -> Shell:
    """A user with a script that saves a checkpoint and fails, and whose monitors look often."""
    config = shell.home / "config.json"
    config.write_text(json.dumps({"poll": {"running_s": 5}, "agent": {"enabled": False}}), encoding="ascii")
    config.chmod(0o600)
    for tool in ("cp", "mv", "mkdir"):
        (shell.programs / "tools" / tool).symlink_to(f"/bin/{tool}")
    (shell.work / "job.sh").write_text(SCRIPT, encoding="ascii")
    (shell.work / "jobmon.yaml").write_text("paths: {checkpoint_dir: ckpt}\n", encoding="ascii")
    torch_file(shell.work / "whole.pt")
    return shell


def submitted(shell: Shell, *arguments: str) -> str:
    """Submit a local job and wait until jobmon knows its end; return its id."""
    done = shell.jobmon("submit", "--backend", "local", *arguments)
    assert done.returncode == 0, done
    eventually(lambda: not list(processes_of(shell.home)))
    return done.stdout.split()[-1]


def output(shell: Shell, job_id: str) -> str:
    return (shell.work / f"out-{job_id}.txt").read_text(encoding="ascii")


def lineage(shell: Shell) -> Lineage:
    store = Context(Home(shell.home), {}).lineages
    (only,) = store.ids()
    return store.load(only)


def test_a_job_without_a_lineage_goes_on_from_its_newest_complete_checkpoint(user: Shell) -> None:
    first = submitted(user, "job.sh")
    assert output(user, first) == "attempt none from the start \n"
    assert "stdin is not a terminal" in complaint(user.jobmon("restart", first))
    shown = " ".join(user.jobmon("restart", "--dry-run", first).stderr.split())
    path = user.work / "ckpt/step_100.pt"
    assert "from step 100: its files are all there and whole" in shown
    assert f" {path} safe job {first} is dead: its exit code was recorded" in shown
    assert "its environment is that of this shell" in shown
    assert user.jobmon("restarts").stdout == "no job was submitted with --restart\n"

    code, screen = user.talk(["restart", first], ("[y/N] ", "n\n"))
    assert (code, "nothing was submitted" in screen) == (1, True)
    code, screen = user.talk(["restart", first], ("[y/N] ", "y\n"), MARK="hunter2")
    assert code == 0, screen
    eventually(lambda: not list(processes_of(user.home)))
    second = str(int(first) + 1)
    assert output(user, second) == f"attempt 1 from {path} hunter2\n"
    assert f"job {second} is attempt 1 of the lineage of job {first}" in screen
    found = lineage(user)
    assert [each.job for each in found.attempts] == [first, second]
    decision = found.attempts[0].decision
    assert decision
    assert (decision.rule, decision.checkpoint and decision.checkpoint.step) == ("by_hand", 100)
    assert not list((user.home / "state/lineages").glob("*.private.json"))  # nothing restarts it by itself
    assert f"before: {first}" in user.jobmon("show", second).stdout

    assert user.jobmon("restart", "--yes", first).returncode == 0  # any attempt names the lineage
    eventually(lambda: not list(processes_of(user.home)))
    assert [each.number for each in lineage(user).attempts] == [0, 1, 2]


def test_a_named_checkpoint_must_be_complete(user: Shell) -> None:
    first = submitted(user, "job.sh")
    path = user.work / "ckpt/step_100.pt"
    (user.work / "ckpt/step_50.pt").write_bytes(path.read_bytes()[:10_000])
    (user.work / "ckpt/notes.txt").write_text("x", encoding="ascii")
    for name, why in (
        ("ckpt/step_50.pt", "step_50.pt is not known to be complete: "),
        ("ckpt/step_7.pt", "is no checkpoint that jobmon knows: `jobmon checkpoints "),
        ("nowhere/step_7.pt", "is no checkpoint that jobmon knows: no such folder"),
        ("ckpt/notes.txt", "notes.txt is not known to be complete: "),
        ("ckpt", "is no checkpoint that jobmon knows"),
    ):
        done = user.jobmon("restart", "--yes", "--from", name, first)
        assert (done.returncode, why in done.stderr) == (1, True), done
    done = user.jobmon("restart", "--dry-run", "--from", "ckpt/step_100.pt", first)
    assert "you named it" in done.stderr


def test_without_a_checkpoint_it_begins_anew_and_says_so(user: Shell) -> None:
    (user.work / "job.sh").write_text(SCRIPT.replace("mv ckpt/.tmp", "true"), encoding="ascii")
    first = submitted(user, "job.sh")
    assert "the start: no complete checkpoint is known" in user.jobmon("restart", "--dry-run", first).stderr
    assert user.jobmon("restart", "--yes", first).returncode == 0
    eventually(lambda: not list(processes_of(user.home)))
    assert output(user, str(int(first) + 1)) == "attempt 1 from the start \n"


def test_what_may_still_run_or_has_several_tasks_is_refused(user: Shell) -> None:
    store = Context(Home(user.home), {}).store
    store.save(job_of(RUNNING, job_id=12))
    store.save(replace(job_of(failed("1"), failed("2"), job_id=13, concluded_s=NOW_S), array_indices="1-2"))
    done = user.jobmon("restart", "--yes", "12")
    assert (done.returncode, "`scancel 12` ends it" in done.stderr) == (1, True), done
    assert "is an array or het job" in user.jobmon("restart", "--yes", "13").stderr
    assert user.jobmon("restart", "--yes", "14").returncode == 1
    store.save(replace(job_of(job_id=15), answered_s=None))  # just submitted
    assert "nothing is known of job 15 yet" in user.jobmon("restart", "--yes", "15").stderr


def test_a_member_of_a_group_moves_on_even_if_the_group_was_complete(user: Shell) -> None:
    first = submitted(user, "job.sh")
    ctx = Context(Home(user.home), {})
    (job,) = ctx.store.find(JobRef(int(first)))
    ctx.groups.create(Group("sweep1", NOW_S, members={"a": Member(job.id)}, complete_s=NOW_S))
    assert user.jobmon("restart", "--yes", first).returncode == 0
    group = ctx.groups.load("sweep1")
    assert group.members["a"].job_id == str(int(first) + 1)
    assert group.complete_s is None
    eventually(lambda: not list(processes_of(user.home)))


def due(user: Shell) -> str:
    """Submit a job that fails, and whose restart is due in ten minutes; return its id."""
    config = "paths: {checkpoint_dir: ckpt}\nrestart: {delay: [600, 600]}\n"
    (user.work / "jobmon.yaml").write_text(config, encoding="ascii")
    (user.work / "job.sh").write_text(SCRIPT.replace("exit 1", "exit 75"), encoding="ascii")
    words = ("submit", "--restart=on", "--backend", "local", "job.sh", "--password=hunter2hunter2")
    done = user.jobmon(*words)
    assert done.returncode == 0, done
    eventually(lambda: "exit code 75; restart in " in user.jobmon("status").stdout)
    return done.stdout.split()[-1]


def test_a_restart_that_is_due_can_be_called_off(user: Shell) -> None:
    job = due(user)
    assert user.jobmon("wait", job, "--for", "0s").returncode == 3
    assert user.jobmon("restart", "--off", job).returncode == 0
    assert user.jobmon("wait", job, "--for", "300s").returncode == 1
    assert "restart" not in user.jobmon("status").stdout
    assert "ended: by `jobmon restart --off`" in user.jobmon("restarts", job).stdout
    eventually(lambda: not list(processes_of(user.home)))


def test_a_restart_that_is_due_can_be_made_at_once(user: Shell) -> None:
    job = due(user)
    done = user.jobmon("restart", "--yes", job, MARK="of this shell")
    assert (done.returncode, "its environment is that of the first submission" in done.stderr) == (0, True)
    assert "hunter2" not in done.stderr
    second = str(int(job) + 1)
    eventually(lambda: f"went on as {second}" in user.jobmon("status").stdout)
    log = user.work / f"out-{second}.txt"
    eventually(lambda: log.exists() and "\n" in output(user, second))
    assert output(user, second).startswith(f"attempt 1 from {user.work}/ckpt/step_100.pt \n")
    assert [each.number for each in lineage(user).attempts] == [0, 1]
    user.jobmon("restart", "--off", job)
    eventually(lambda: not list(processes_of(user.home)))


@pytest.fixture
def ctx(shell: Shell) -> Context:
    """The home of a user with a job that runs, with restarts."""
    ctx = Context(Home(shell.home), {})
    save(ctx, lineage_of(attempt(0)), job_of_attempt(0, RUNNING))
    return ctx


def test_restarts_can_be_held_released_and_ended(shell: Shell, ctx: Context) -> None:
    private = ctx.lineages.submission("7f3a").path
    assert "is not restarted until `--release`" in shell.jobmon("restart", "--hold", "8123").stdout
    assert ctx.lineages.load("7f3a").is_held
    assert "held" in shell.jobmon("restarts", "8123").stdout
    shell.jobmon("restart", "--release", "8123")
    assert not ctx.lineages.load("7f3a").is_held
    assert private.exists()
    done = shell.jobmon("restart", "--off", "8123")
    assert done.stdout == "job 8123 is not restarted any more; it is watched as before\n"
    assert (ctx.lineages.load("7f3a").ended_why, private.exists()) == (
        "ended by `jobmon restart --off`",
        False,
    )
    assert shell.jobmon("restart", "--off", "8123").returncode == 0
    assert "the lineage has ended" in shell.jobmon("restart", "--hold", "8123").stderr
    assert ctx.store.load("slurm-8123-x").unwatched_s is None


@pytest.mark.usefixtures("ctx")
def test_a_change_of_a_lineage_submits_nothing(shell: Shell) -> None:
    done = shell.jobmon("restart", "--off", "--dry-run", "8123")
    assert (done.returncode, "submit nothing" in done.stderr) == (2, True)
    assert shell.jobmon("restart", "--off", "--hold", "8123").returncode == 2
