"""Restarts on the real Slurm: the next attempt is submitted once, with what the first one was given."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.job.restart.model import Lineage, Verdict
from jobmon_core.domain.slurm.states import Outcome
from tests.support.checkpoint_layouts import hf_trainer
from tests.support.failing_job import kill
from tests.support.files import contents
from tests.support.messages import read
from tests.support.user import User
from tests.support.waiting import eventually

TRAIN = """\
echo "$JOBMON_ATTEMPT|$JOBMON_RESUME_STEP|$JOBMON_RESTART_REASON|$SETTING|$(umask)|$*" >> trace
[ "$JOBMON_ATTEMPT" = 0 ] || { until [ -e go ]; do sleep 0.5; done; exit 0; }
mkdir -p out; cp -r saved/checkpoint-4200 out/; exit 75
"""
RESUME = ("--resume-arg", "--resume {path}", "--checkpoint-dir", "out")


@pytest.fixture
def trainer(user: User) -> User:
    """A user with a script that asks for another attempt, and resumes in that."""
    hf_trainer(user.work / "saved", 4200)
    user.script(TRAIN, "-J train", name="train.sh")
    delayed(user, 1)
    return user


def delayed(user: User, delay_s: int) -> None:
    """Write the job configuration beside the script."""
    text = f"restart:\n  delay: [{delay_s}, {delay_s}]\n"
    (user.work / "jobmon.yaml").write_text(text, encoding="ascii")


def lineage(user: User) -> Lineage:
    """Return the only lineage."""
    lineages = Context.open(user.environment).lineages
    (lineage_id,) = lineages.ids()
    return lineages.load(lineage_id)


def private_files(user: User) -> list[Path]:
    return list((user.home / "state" / "lineages").glob("*.private.json"))


def jobs(user: User) -> list[str]:
    """Return the ids of all jobs of this user's folder that accounting knows."""
    rows = user.slurm("sacct", "-X", "-n", "-P", "-S", "now-1hours", "-o", "JobID,WorkDir").splitlines()
    return [row.partition("|")[0] for row in rows if row.partition("|")[2] == str(user.work)]


def second_job(user: User) -> int:
    """Wait for the next attempt; return its job id."""
    eventually(lambda: len(lineage(user).attempts) == 2)
    return int(lineage(user).attempts[1].job)


def finished(user: User) -> None:
    """Let the second attempt succeed, and check that it was the only one and that nothing private stays."""
    second = second_job(user)
    (user.work / "go").touch()
    assert user.told(second).outcome is Outcome.SUCCESS
    assert lineage(user).ended_why
    assert private_files(user) == []
    eventually(lambda: len(jobs(user)) >= 2)
    assert jobs(user) == [each.job for each in lineage(user).attempts]


def test_an_attempt_resumes_with_what_the_first_one_was_given(trainer: User) -> None:
    setting = "a,b 'c' $(x)"
    words = ("submit", "--restart", *RESUME, "train.sh", "--epochs", "3 0")
    done = trainer.run("bash", "-c", 'umask 027; exec jobmon "$@"', "-", *words, SETTING=setting)
    assert "restarts are on" in done.stderr, done
    first = int(done.stdout.rpartition(" ")[2])
    assert [path.stat().st_mode & 0o777 for path in private_files(trainer)] == [0o600]
    trainer.script("echo edited >> trace", name="train.sh")
    second = second_job(trainer)
    listing = ("sacct", "-X", "-n", "-P", "-j", str(second), "-o", "SubmitLine")
    eventually(lambda: f"--dependency=afterany:{first} --no-requeue" in trainer.slurm(*listing))
    finished(trainer)
    checkpoint = trainer.work / "out" / "checkpoint-4200"
    assert (trainer.work / "trace").read_text().splitlines() == [
        f"0|||{setting}|0027|--epochs 3 0",
        f"1|4200|again_on_exit|{setting}|0027|--epochs 3 0 --resume {checkpoint}",
    ]
    told = [read(each) for each in trainer.discord.received()]
    # the decision may be a second old when the message is written
    assert any(re.search("Restart: attempt 1 starts in [01]s from step 4,200", each) for each in told), told
    assert any("Finished with attempt 1." in each for each in told), told
    assert [path for path, content in contents(trainer.home).items() if setting.encode() in content] == []


@pytest.mark.parametrize("export", ["NONE", "SETTING"])
def test_the_variables_get_through_whatever_is_exported(trainer: User, export: str) -> None:
    where = ("--checkpoint-dir", "out")
    trainer.submit("--restart", *where, f"--export={export}", "train.sh", SETTING="x")
    finished(trainer)
    given = "" if export == "NONE" else "x"
    lines = [line.split("|")[:4] for line in (trainer.work / "trace").read_text().splitlines()]
    assert lines == [["0", "", "", given], ["1", "4200", "again_on_exit", given]]


def test_observed_restarts_are_only_told(trainer: User) -> None:
    job_id = trainer.submit("--restart=observe", *RESUME, "train.sh")
    assert trainer.told(job_id).outcome is Outcome.FAILURE
    (told,) = trainer.discord.received()
    assert "Observed only: jobmon would have started attempt 1 from step 4,200" in read(told)
    assert private_files(trainer) == []
    assert jobs(trainer) == [str(job_id)]


def test_a_request_to_requeue_makes_jobmon_only_observe(trainer: User) -> None:
    done = trainer.jobmon("submit", "--restart", "--requeue", "train.sh")
    assert "--requeue: Slurm itself starts the job again" in done.stderr
    assert private_files(trainer) == []
    trainer.told(int(done.stdout.rpartition(" ")[2]))


def test_a_cancelled_job_is_never_restarted(trainer: User) -> None:
    job_id = trainer.submit("--restart", "--wrap", "sleep 300")
    trainer.watched_as(job_id, "RUNNING")
    trainer.slurm("scancel", str(job_id))
    assert trainer.told(job_id).outcome is Outcome.CANCELLED
    assert lineage(trainer).ended_why
    assert private_files(trainer) == []
    assert jobs(trainer) == [str(job_id)]


def test_a_sentinel_submits_the_attempt_if_every_monitor_is_dead(trainer: User) -> None:
    script = "until [ -e end ]; do sleep 0.5; done\n" + TRAIN
    trainer.script(script, "-J train", name="train.sh")
    job_id = trainer.submit("--sentinel", "--restart", *RESUME, "train.sh")
    trainer.watched_as(job_id, "RUNNING")
    kill(trainer, job_id)
    (trainer.work / "end").touch()
    second = second_job(trainer)
    (trainer.work / "go").touch()
    assert trainer.told(second).outcome is Outcome.SUCCESS
    trainer.slurm("scancel", f"--name=jobmon-sentinel-{second}")


def test_a_local_job_is_restarted_on_this_machine(trainer: User) -> None:
    trainer.submit("--backend", "local", "--restart", *RESUME, "train.sh", SETTING="x")
    trainer.script("echo edited >> trace", name="train.sh")
    second = second_job(trainer)
    (trainer.work / "go").touch()
    assert trainer.told(second).outcome is Outcome.SUCCESS
    lines = (trainer.work / "trace").read_text().splitlines()
    assert lines == [
        "0|||x|0022|",
        f"1|4200|again_on_exit|x|0022|--resume {trainer.work}/out/checkpoint-4200",
    ]
    assert private_files(trainer) == []


def test_a_monitor_killed_between_decision_and_submission_loses_no_attempt(trainer: User) -> None:
    delayed(trainer, 15)
    job_id = trainer.submit("--restart", *RESUME, "train.sh")
    eventually(lambda: trainer.job(job_id).restart_due_s is not None)
    kill(trainer, job_id)
    assert len(lineage(trainer).attempts) == 1
    assert trainer.jobmon("recover").returncode == 0
    finished(trainer)


def wrapped(user: User, lines: str) -> dict[str, str]:
    """Return an environment in which sbatch does something else for a further attempt, the first time."""
    folder = user.work / "bin"
    folder.mkdir()
    real = user.slurm("which", "sbatch").strip()
    program = folder / "sbatch"
    condition = f'if [[ "$*" == *afterany* ]] && mkdir {folder}/done 2>/dev/null; then'
    program.write_text(f'#!/bin/bash\nreal={real}\n{condition}\n{lines}\nfi\nexec $real "$@"\n')
    program.chmod(0o755)
    return {"PATH": f"{folder}:{user.environment['PATH']}"}


def test_a_submission_that_was_cut_off_is_found_and_not_repeated(trainer: User) -> None:
    environment = wrapped(trainer, '$real "$@" >/dev/null; kill -9 $PPID; exit 1')
    trainer.submit("--restart", *RESUME, "train.sh", **environment)
    finished(trainer)
    assert (trainer.work / "bin" / "done").exists()


def test_a_submission_that_never_reached_slurm_is_made_again(trainer: User) -> None:
    environment = wrapped(trainer, "kill -9 $PPID; exit 1")
    trainer.submit("--restart", *RESUME, "train.sh", **environment)
    finished(trainer)
    assert (trainer.work / "bin" / "done").exists()


def test_with_faulty_settings_nothing_is_submitted_that_would_be_restarted_without_them(
    trainer: User,
) -> None:
    (trainer.work / "jobmon.yaml").write_text("restart: {never_on_exit: [75], grow: {mem: 2}}\n")
    done = trainer.jobmon("submit", "--restart", "train.sh")
    assert (done.returncode, done.stdout) == (78, "")
    assert "restart.grow.mem: unknown key" in done.stderr
    assert jobs(trainer) == []


def test_an_sbatch_that_outlives_what_called_it_is_waited_for(trainer: User) -> None:
    environment = wrapped(trainer, "kill -9 $PPID; sleep 25")
    trainer.submit("--restart", *RESUME, "train.sh", **environment)
    finished(trainer)
    assert (trainer.work / "bin" / "done").exists()


def test_a_wrapper_whose_sbatch_was_killed_refuses_nothing(trainer: User) -> None:
    environment = wrapped(trainer, '$real "$@" >/dev/null; exit 137')
    trainer.submit("--restart", *RESUME, "train.sh", **environment)
    finished(trainer)
    assert (trainer.work / "bin" / "done").exists()


def test_a_refused_submission_is_left_to_the_user_with_the_words_of_sbatch(trainer: User) -> None:
    environment = wrapped(trainer, 'exec $real -p nowhere "${@:1:$#-1}" -p nowhere "${@: -1}"')
    job_id = trainer.submit("--restart", "--checkpoint-dir", "out", "train.sh", **environment)
    trainer.told(job_id)
    (attempt,) = lineage(trainer).attempts
    assert attempt.decision is not None
    assert (attempt.decision.verdict, attempt.decision.rule) == (Verdict.ASK, "refused")
    _, refused = trainer.discord.received()
    assert "is not restarted" in read(refused)
    assert "invalid partition specified: nowhere" in read(refused)
    assert private_files(trainer) != []  # `jobmon restart` submits it again
    assert jobs(trainer) == [str(job_id)]


def test_jobmon_cancel_ends_the_lineage(trainer: User) -> None:
    delayed(trainer, 60)
    job_id = trainer.submit("--restart", *RESUME, "train.sh")
    eventually(lambda: trainer.job(job_id).restart_due_s is not None)
    assert trainer.jobmon("cancel", str(job_id)).returncode == 0
    assert lineage(trainer).ended_why == "ended by `jobmon cancel`"
    assert private_files(trainer) == []


def test_an_archive_holds_nothing_of_the_private_file(trainer: User) -> None:
    delayed(trainer, 60)
    job_id = trainer.submit("--restart", *RESUME, "train.sh", SETTING="s3cret-value")
    eventually(lambda: trainer.job(job_id).restart_due_s is not None)
    assert json.loads(private_files(trainer)[0].read_text())["environment"]["SETTING"] == "s3cret-value"
    assert trainer.jobmon("archive", str(job_id), "kept").returncode == 0
    for path in (trainer.work / "kept").rglob("*"):
        assert not path.is_file() or b"s3cret-value" not in path.read_bytes(), path
    trainer.jobmon("cancel", str(job_id))
