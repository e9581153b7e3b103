"""What the messages about the stages of a chain say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.channels import Tone
from jobmon_core.domain.delivery.outbox import Message
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.job.job_settings import ChainStage, JobSettings
from jobmon_core.domain.job.tracking.model import End, Source, Task, WatchedJob
from jobmon_core.domain.messages.card import card_of
from jobmon_core.domain.messages.job_ended import job_ended_messages
from jobmon_core.domain.messages.job_stuck import stuck_alerts
from jobmon_core.domain.slurm.states import JobState, Outcome

NOW_S = 1_000.0
STAGES = ("a.sbatch", "--gres=gpu:1 b.sbatch --epochs 3", "c.sbatch")
NEVER = "DependencyNeverSatisfied"


def stage(
    number: int, state: JobState, outcome: Outcome, *, reason: str = "", started: bool = True
) -> WatchedJob:
    """Return a stage of a chain of three, after its end."""
    place = ChainStage(number, 3, STAGES[number - 1], STAGES[number:], "--backend local", "/home/me/my work")
    end = End(
        state, state, outcome, Source.QUEUE, reason=reason, started_s=900 if started else None, ended_s=950
    )
    task = Task("", state, state, end=end)
    return WatchedJob("x-12-y", 12, 1.0, name="train", tasks={"": task}, settings=JobSettings(chain=place))


def message(job: WatchedJob) -> Message:
    (only,) = job_ended_messages(job, NOW_S, per_task=False)
    return only


def test_a_failure_names_the_stages_that_do_not_start_and_the_command_that_goes_on() -> None:
    told = message(stage(1, JobState.FAILED, Outcome.FAILURE))
    assert told.summary == (
        "Stage 1 of 3 of a chain failed, so these 2 stages do not start: "
        "--gres=gpu:1 b.sbatch --epochs 3, c.sbatch."
    )
    assert told.advice.endswith(
        "cd '/home/me/my work' && jobmon chain --backend local a.sbatch "
        "'--gres=gpu:1 b.sbatch --epochs 3' c.sbatch"
    )


SUCCESS = (JobState.COMPLETED, Outcome.SUCCESS)
FAILURE = (JobState.FAILED, Outcome.FAILURE)
CANCELLED = (JobState.CANCELLED, Outcome.CANCELLED)
UNKNOWN = (JobState.UNKNOWN, Outcome.UNKNOWN)


@pytest.mark.parametrize(
    ("job", "summary"),
    [
        (stage(1, *SUCCESS), "Stage 1 of 3 of a chain. Next: --gres=gpu:1 b.sbatch --epochs 3."),
        (stage(3, *SUCCESS), "Stage 3 of 3 of a chain: all stages have succeeded."),
        (stage(3, *FAILURE), "Stage 3 of 3 of a chain. The earlier stages succeeded."),
        (stage(3, *CANCELLED, started=False), "It never started.\nStage 3 of 3 of a chain."),
        (
            stage(2, *CANCELLED),
            "Stage 2 of 3 of a chain was cancelled, so this stage does not start: c.sbatch.",
        ),
        (
            stage(2, *UNKNOWN),
            "Stage 2 of 3 of a chain. Next, if the scheduler records a success: c.sbatch.",
        ),
    ],
)
def test_each_end_says_what_follows(job: WatchedJob, summary: str) -> None:
    assert message(job).summary == summary


def test_a_stage_that_never_starts_is_not_reported_again() -> None:
    removed = stage(2, JobState.CANCELLED, Outcome.CANCELLED, reason=NEVER, started=False)
    assert job_ended_messages(removed, NOW_S, per_task=False) == ()
    first = stage(1, JobState.CANCELLED, Outcome.CANCELLED, reason=NEVER, started=False)
    assert message(first).summary, "no message of another stage has said so"
    by_a_user = stage(2, JobState.CANCELLED, Outcome.CANCELLED, started=False)
    assert message(by_a_user).summary


def test_the_card_of_a_stage_that_never_starts_says_why() -> None:
    removed = stage(2, JobState.CANCELLED, Outcome.CANCELLED, reason=NEVER, started=False)
    shown = card_of(replace(removed, concluded_s=NOW_S), JobProgress(), (), NOW_S)
    assert shown.tone is Tone.CANCELLED
    assert shown.title == "train (12) does not start: an earlier stage of its chain did not succeed"


def test_a_pending_stage_that_slurm_will_remove_causes_no_alert() -> None:
    pending = Task("", JobState.PENDING, JobState.PENDING, f"({NEVER})")
    later = replace(stage(2, JobState.PENDING, Outcome.UNKNOWN), tasks={"": pending}, answered_s=NOW_S + 60.0)
    assert not list(stuck_alerts(later, NOW_S))
    assert list(stuck_alerts(replace(later, settings=None), NOW_S))
