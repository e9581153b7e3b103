"""``jobmon group`` in a shell, with jobs of this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from jobmon.cli import main
from jobmon_core.context import Context
from jobmon_core.domain.many.groups.model import Group, Member, MemberMessages, PlannedRun
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.store.home import Home
from jobmon_core.store.monitor_slots import slot_holders
from jobmon_core.store.owner import Owner
from tests.support.job_records import NOW_S, OOM, PENDING, RUNNING, failed, job_of, succeeded
from tests.support.processes import processes_of
from tests.support.shell import Shell
from tests.support.waiting import eventually

SCRIPT = """\
#!/bin/bash
#SBATCH -o out-%j.txt
echo epoch $1
until [ -e go ]; do read -t 0.5 <> <(:); done
[ $1 != 2 ]
"""
RUNS = """\
r8/lr1/epoch0: eval.sh 0
r8/lr1/epoch1: [-J, named, eval.sh, 1]
r8/lr1/epoch2: eval.sh 2
"""


@pytest.fixture
def user(shell: Shell) -> Iterator[Shell]:
    """A user with a script and a file of runs, without agents and messages, whose monitors look often."""
    config = shell.home / "config.json"
    settings = {"poll": {"running_s": 5}, "agent": {"enabled": False}, "backend": "local"}
    config.write_text(json.dumps(settings), encoding="ascii")
    config.chmod(0o600)
    (shell.work / "runs").mkdir()
    (shell.work / "runs" / "eval.sh").write_text(SCRIPT, encoding="ascii")
    (shell.work / "runs" / "runs.yaml").write_text(RUNS, encoding="ascii")
    yield shell
    for folder in (shell.work, shell.work / "runs"):
        (folder / "go").touch()
    eventually(lambda: not list(processes_of(shell.home)))


def group_of(shell: Shell, name: str = "sweep") -> Group:
    return Context.open({"JOBMON_HOME": str(shell.home)}).groups.load(name)


def local_jobs(shell: Shell) -> list[str]:
    return sorted(path.name for path in (shell.state / "local").iterdir() if path.name.isdigit())


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run a verb in this process, which must succeed; return what it prints on stdout."""
    capsys.readouterr()
    assert main(["group", *arguments]) == 0
    return capsys.readouterr().out


def cut_off(member: Member, since_s: float) -> Member:
    return replace(member, submitting_since_s=since_s, submitting_host="gone")


def test_a_file_of_runs_is_submitted_once_and_failed_runs_again(
    user: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    done = user.jobmon("group", "submit", "sweep", "runs/runs.yaml", "--messages", "none", "--interval", "5s")
    assert done.returncode == 0, done
    assert done.stdout.splitlines() == [
        f"r8/lr1/epoch{number}: submitted as job {number + 1}" for number in range(3)
    ]
    assert (user.work / "runs" / "runs.yaml").read_text(encoding="ascii") == RUNS
    assert group_of(user).settings.messages is MemberMessages.NONE
    assert len(slot_holders(Home(user.home).slots)) == 1

    # what a command leaves that is killed before sbatch is started, and after, before the job id is saved
    ctx = Context.open({"JOBMON_HOME": str(user.home)})
    with ctx.groups.locked("sweep") as group:
        members = {
            "r8/lr1/epoch2": cut_off(replace(group.members["r8/lr1/epoch2"], state_id=""), group.created_s),
            "r8/lr1/epoch3": cut_off(Member(planned=PlannedRun("eval.sh", ("3",))), group.created_s),
        }
        ctx.groups.save(group.with_members(members))
    with (user.work / "runs" / "runs.yaml").open("a", encoding="ascii") as file:
        file.write("r8/lr1/epoch3: eval.sh 3\n")
    done = user.jobmon("group", "submit", "sweep", "runs/runs.yaml")
    assert done.stdout.splitlines()[2:] == [
        "r8/lr1/epoch2: was submitted by a command that was cut off, as job 3",
        "r8/lr1/epoch3: submitted as job 4",
    ]
    assert local_jobs(user) == ["1", "2", "3", "4"]

    assert main(["group", "wait", "sweep", "--for", "0s"]) == 3
    (user.work / "runs" / "go").touch()
    waited = user.jobmon("wait", "sweep")
    assert waited.returncode == 1
    assert waited.stdout == "4 jobs: 1 failed, 3 completed; 3 r8/lr1/epoch2: exit code 1\n"
    done = user.jobmon("group", "resubmit-failed", "sweep", "--yes", "--time=5")
    assert done.stdout == "r8/lr1/epoch2: submitted as job 5\n"
    assert user.jobmon("group", "wait", "sweep").returncode == 1
    jobs = json.loads(printed(capsys, "status", "sweep", "--json"))["runs"]
    assert [(each["run"], each["job_id"], each["outcome"]) for each in jobs] == [
        ("r8/lr1/epoch0", "1", "success"),
        ("r8/lr1/epoch1", "2", "success"),
        ("r8/lr1/epoch2", "5", "failure"),
        ("r8/lr1/epoch3", "4", "success"),
    ]
    log = printed(capsys, "log", "sweep")
    assert log.index("STATE_CHANGE: r8/lr1/epoch0") < log.index("ALL_COMPLETE")


def test_jobs_are_added_by_submit_by_id_and_by_name_and_cancelled_after_a_question(user: Shell) -> None:
    assert user.jobmon("group", "add", "evals", "--interval", "5s").returncode == 0
    first = user.jobmon("submit", "--group", "evals", "-J", "eval-a", "runs/eval.sh", "1")
    assert (first.returncode, first.stdout) == (0, "Submitted batch job 1\n")
    assert "job 1 is the run eval-a of group evals" in first.stderr
    user.jobmon("submit", "-J", "eval-b", "runs/eval.sh", "1")
    user.jobmon("submit", "-J", "train", "runs/eval.sh", "1")
    assert user.jobmon("group", "add", "evals", "--name", "eval*").stdout.splitlines() == [
        "1 eval-a: is in the group already",
        "2 eval-b: added",
    ]
    assert user.jobmon("group", "add", "evals", "3", "--as", "x/train").stdout == "3 x/train: added\n"
    code, screen = user.talk(["group", "cancel", "evals"], ("[y/N] ", "n\n"))
    assert (code, "nothing was changed" in screen) == (1, True)
    done = user.jobmon("group", "cancel", "evals", "--yes")
    assert done.stdout == "group evals: 3 jobs cancelled\n"
    waited = user.jobmon("group", "wait", "evals")
    assert (waited.returncode, waited.stdout) == (1, "3 jobs: 3 cancelled\n")


def test_the_status_of_a_group_fits_80_columns(shell: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    ctx = Context.open({"JOBMON_HOME": str(shell.home)})
    jobs = [
        replace(job_of(succeeded(), job_id=8123, name="eval", concluded_s=NOW_S), partition="gpu"),
        replace(job_of(failed(diagnosis=OOM), job_id=8124, concluded_s=NOW_S), partition="gpu"),
        replace(job_of(replace(RUNNING, nodes="n[17-18]"), job_id=8125), partition="gpu"),
        job_of(PENDING, job_id=8126),
    ]
    for job in jobs:
        ctx.store.save(job)
        ctx.home.monitors.mkdir(exist_ok=True)
        ctx.owner_record(job.id).write(Owner.this_process())
    members = {f"r8_lr1e-5/capitalization/epoch{n}": Member(job.id) for n, job in enumerate(jobs)}
    members["later"] = Member(planned=PlannedRun("e.sh"))
    members["forgotten"] = Member("slurm-9-x", outcome=Outcome.FAILURE, cause="exit code 9")
    ctx.groups.create(Group("sweep", NOW_S, members=members))
    code, screen = shell.talk(["group", "status", "sweep"], NO_COLOR="1")
    lines = screen.splitlines()
    assert code == 0
    assert max(map(len, lines)) <= 80
    assert lines[0].split() == [
        *("RUN", "JOB", "PARTITION", "NODES", "STATE", "ELAPSED/LIMIT", "OUTCOME/CAUSE")
    ]
    assert lines[1].startswith("…"), lines
    assert "epoch0  8123" in lines[1]
    assert "n[17" in lines[3]
    text = " ".join(" ".join(lines[7:]).split())
    assert text.startswith("6 runs: 2 failed, 1 running, 1 pending, 1 not submitted, 1 completed; created at")
    assert "jobmon group resubmit-failed sweep" in text
    assert "repeat `jobmon group submit sweep FILE`" in text
    listed = json.loads(printed(capsys, "list", "--json"))
    assert [(each["group"], each["total"], each["counts"]["failed"]) for each in listed] == [("sweep", 6, 2)]
    assert "removed; its 6 jobs remain" in printed(capsys, "forget", "sweep")
    assert json.loads(printed(capsys, "list", "--json")) == []


def test_runs_whose_state_files_are_gone_are_named_before_none_is_found(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    members = {"lost": Member("slurm-9-x", outcome=Outcome.FAILURE), "unknown": Member("slurm-8-x")}
    Context.open({"JOBMON_HOME": str(shell.home)}).groups.create(Group("sweep", NOW_S, members=members))
    assert main(["group", "resubmit-failed", "sweep", "--yes"]) == 1
    said = capsys.readouterr().err
    assert "lost: left out: " in said
    assert "unknown: left out: " in said
    assert "no other run of group sweep has failed" in said
    assert main(["group", "cancel", "sweep", "--yes"]) == 1
    said = capsys.readouterr().err
    assert "lost: " not in said
    assert "unknown: left out: " in said
    assert "group sweep has no other job that has not ended; nothing was changed" in said


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["submit", "1st", "runs.yaml"], 78, "runs.yaml"),
        (["status", "none"], 1, "no group is named none"),
        (["wait", "none"], 1, "no group is named none"),
        (["add", "latest"], 78, "group name 'latest'"),
        (["add", "evals", "--as", "x"], 2, "--as names one job"),
        (["cancel", "evals"], 2, "add --yes"),
        (["add", "evals", "--interval", "1s"], 2, "5s or longer"),
        (["add", "evals", "--then", "a 'b"], 2, "not a command"),
        ([], 2, "VERB"),
    ],
)
def test_wrong_input_is_named(
    arguments: list[str], code: int, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["group", *arguments]) == code
    assert text in capsys.readouterr().err
