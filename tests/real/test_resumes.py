"""Whether the next attempt resumed, on the real Slurm: what its log shows ends the lineage if not."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.context import Context
from jobmon_core.domain.job.restart.model import Lineage
from jobmon_core.domain.slurm.states import Outcome
from tests.support.checkpoint_layouts import hf_trainer
from tests.support.files import write_whole
from tests.support.messages import read, title
from tests.support.user import User
from tests.support.waiting import eventually

TRAIN = """\
count() {{ for step in $(seq $1 10 $2); do echo "step $step/10000 loss 0.5"; done; }}
if [ "$JOBMON_ATTEMPT" = 0 ]; then
    count 10 4380; until [ -e end ]; do sleep 0.2; done
    mkdir -p out; cp -r saved/* out/; rm out/checkpoint-4300/trainer_state.json; exit 75
fi
count {first} {last}; until [ -e go ]; do sleep 0.5; done; exit $(cat go)
"""
BEYOND = 999_999_999_999  # a run that resumed there would do nothing, and succeed


@pytest.fixture
def trainer(user: User) -> User:
    """A user whose first attempt saves steps 4100 and 4200, half of 4300, and one that does not exist."""
    for step in (4100, 4200, 4300, BEYOND):
        hf_trainer(user.work / "saved", step)
    text = "restart:\n  delay: [1, 1]\n  set_aside: true\npaths:\n  checkpoint_dir: out\n"
    (user.work / "jobmon.yaml").write_text(text, encoding="ascii")
    return user


def lineage(user: User) -> Lineage:
    """Return the only lineage."""
    lineages = Context.open(user.environment).lineages
    (lineage_id,) = lineages.ids()
    return lineages.load(lineage_id)


def second_job(user: User, first: int, last: int) -> int:
    """Submit a job whose second attempt counts these steps; return the job id of that attempt."""
    user.script(TRAIN.format(first=first, last=last), "-J train", name="train.sh")
    first_job = user.job(user.submit("--restart", "train.sh"))
    progress = Context.open(user.environment).progress_file(first_job.id)
    eventually(lambda: bool(progress.read().tasks))
    (user.work / "end").touch()
    eventually(lambda: len(lineage(user).attempts) == 2)
    return int(lineage(user).attempts[1].job)


def titles(user: User) -> list[str]:
    return [title(each) for each in user.discord.received()]


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_resume_is_told_and_the_incomplete_checkpoint_lies_aside(trainer: User) -> None:
    second = second_job(trainer, 4210, 4400)
    said = f"train ({second}): Attempt 1 resumed at step 4,200; 180 steps repeated"
    eventually(lambda: any(each.endswith(said) for each in titles(trainer)))
    assert names(trainer.work / "out") == {
        "checkpoint-4100",
        "checkpoint-4200",
        "checkpoint-4300.incomplete-0",
        f"checkpoint-{BEYOND}",
    }
    write_whole(trainer.work / "go", "0")
    assert trainer.told(second).outcome is Outcome.SUCCESS
    first, resumed = lineage(trainer).attempts
    assert (first.first_step, first.last_step) == (10, 4380)
    assert (resumed.first_step, resumed.last_step) == (4210, 4400)


def test_a_start_from_scratch_is_critical_and_ends_the_lineage(trainer: User) -> None:
    second = second_job(trainer, 10, 200)
    text = "Attempt 1 started from scratch at step 10, although it was to resume from step 4,200"
    eventually(lambda: any(each.endswith(f"train ({second}): {text}") for each in titles(trainer)))
    assert lineage(trainer).ended_why == text
    write_whole(trainer.work / "go", "75")
    assert trainer.told(second).outcome is Outcome.FAILURE
    assert text in read(trainer.discord.received()[-1])
    assert len(lineage(trainer).attempts) == 2


def test_a_start_from_scratch_that_only_the_end_shows_is_told_once(trainer: User) -> None:
    second = second_job(trainer, 10, 50)  # too few steps to judge before the end
    write_whole(trainer.work / "go", "0")
    assert trainer.told(second).outcome is Outcome.SUCCESS
    text = "Attempt 1 started from scratch at step 10, although it was to resume from step 4,200"
    assert [each for each in titles(trainer) if "scratch" in each] == [f"❌ train ({second}): {text}"]
    assert len(lineage(trainer).attempts) == 2
