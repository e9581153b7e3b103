"""What the user orders on the real Slurm: a drill, and to cancel an attempt that stalls."""

from __future__ import annotations

import sys

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.job.restart.model import Lineage, Verdict
from jobmon_core.domain.slurm.states import Outcome
from tests.support.messages import read
from tests.support.user import User
from tests.support.waiting import eventually

TRAINER = """
import os, pathlib, sys, time, zipfile
folder, resume = pathlib.Path("saves"), os.environ.get("JOBMON_RESUME_FROM", "")
folder.mkdir(exist_ok=True)
first = int(resume.rpartition("_")[2].partition(".")[0]) + 1 if resume else 1
with open("starts", "a") as file:
    file.write(f"{os.environ['JOBMON_ATTEMPT']} {first}\\n")
for step in range(first, int(sys.argv[1]) + 1):
    time.sleep(0.1)
    print(f"step {step}/{sys.argv[1]} loss {2 / step:.4f}", flush=True)
    if step % 20 == 0:
        with zipfile.ZipFile("part", "w") as file:
            file.writestr("archive/data.pkl", "x" * 20_000)
        os.rename("part", folder / f"step_{step}.pt")
    while step == int(sys.argv[2]) and not resume:
        time.sleep(1)
"""
CONFIG = """
paths: {checkpoint_dir: saves}
monitoring: {check_interval: 5, stall_timeout: 10}
restart: {mode: on, delay: [1, 1], stop_on_stall: 60}
"""


@pytest.fixture
def trainer(user: User) -> User:
    """A user with a training that may hang, and a job configuration that turns restarts on."""
    (user.work / "train.py").write_text(TRAINER, encoding="ascii")
    (user.work / "jobmon.yaml").write_text(CONFIG, encoding="ascii")
    return user


def submit(user: User, total: int, hangs_at: int = 0) -> int:
    """Submit a training of ``total`` steps, whose first attempt hangs at one."""
    words = f"{sys.executable} -u train.py {total} {hangs_at}"
    return user.submit(user.script(words, "-J train", name="train.sh"))


def lineage(user: User) -> Lineage:
    """Return the only lineage."""
    lineages = Context.open(user.environment).lineages
    (lineage_id,) = lineages.ids()
    return lineages.load(lineage_id)


def starts(user: User) -> list[str]:
    """Return the attempt, and the first step, of each start of the training."""
    return (user.work / "starts").read_text().splitlines()


def test_a_drill_cancels_the_first_attempt_and_proves_that_the_second_goes_on(trainer: User) -> None:
    job_id = submit(trainer, 2000)
    asked = trainer.jobmon("restart", "--drill", str(job_id))
    assert asked.returncode == 2
    assert "add --yes" in asked.stderr
    done = trainer.jobmon("restart", "--drill", "--at", "60", "--yes", str(job_id))
    first, second = lineage(trainer).attempts
    assert done.returncode == 0, done
    assert f"so job {job_id} is cancelled; attempt 1 follows" in done.stderr
    assert f"attempt 1 (job {second.job}) resumed" in done.stderr
    assert first.decision
    assert first.decision.rule == "drill"
    assert second.resume
    assert (second.resume.step or 0) >= 60
    assert starts(trainer) == ["0 1", f"1 {(second.resume.step or 0) + 1}"]
    refused = trainer.jobmon("restart", "--drill", "--yes", second.job)
    assert (refused.returncode, "it needs the first attempt" in refused.stderr) == (1, True)
    trainer.slurm("scancel", second.job)
    assert trainer.told(int(second.job)).outcome is Outcome.CANCELLED
    assert lineage(trainer).ended_why  # a cancellation that is no drill


def test_an_attempt_that_stalls_is_cancelled_on_the_users_order_and_restarted(trainer: User) -> None:
    submit(trainer, 100, hangs_at=50)
    eventually(lambda: len(lineage(trainer).attempts) == 2)
    first, second = lineage(trainer).attempts
    assert first.decision
    assert (first.decision.verdict, first.decision.rule) == (Verdict.RESTART, "stall_cancelled")
    assert trainer.told(int(second.job)).outcome is Outcome.SUCCESS
    assert starts(trainer) == ["0 1", "1 41"]
    told = [read(each) for each in trainer.discord.received()]
    assert any("no progress for longer than the 1m that you allow" in each for each in told), told
    assert any("jobmon cancelled it" in each for each in told), told
