"""When the monitor decides about a restart, what its message says of that, and when the attempt is due."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.decide import Deliver, Step, decide, wake_s
from jobmon_core.domain.job.job_settings import AttemptPlace, JobSettings
from jobmon_core.domain.job.restart.model import Decision, PickedCheckpoint, Verdict
from jobmon_core.domain.job.tracking.clock_skew import clamp_to_now
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.job.tracking.reopen import reopened
from tests.support.play import START_S, Play

POLICY = Policy(cards=False)
SETTINGS = JobSettings(attempt=AttemptPlace("1f2e"))
DUE_S = START_S + 100.0
RESTART = Decision(
    Verdict.RESTART,
    "node",
    "A node failed.",
    START_S,
    used=1,
    allowed=5,
    checkpoint=PickedCheckpoint("/c/step_4200.pt", 4200),
    not_before_s=DUE_S,
)


def ended(settings: JobSettings | None = SETTINGS) -> Play:
    """Return a job that has failed and is diagnosed."""
    play = Play(POLICY)
    play.job = replace(play.job, settings=settings)
    return play.ends(("12", "FAILED", 75))


def decided(decision: Decision) -> Play:
    play = ended()
    play.job = replace(play.job, decision=decision)
    return play.later(0)


def delivered(play: Play) -> Play:
    play.job = replace(play.job, outbox=tuple(replace(each, delivered_s=1.0) for each in play.job.outbox))
    return play.later(0)


def test_an_attempt_is_decided_about_before_its_message_exists() -> None:
    play = ended()
    assert play.actions == (Step.DECIDE_RESTART,)
    assert play.job.outbox == ()


def test_a_job_of_no_lineage_is_reported_as_ever() -> None:
    play = ended(JobSettings())
    assert [type(action) for action in play.actions] == [Deliver]
    assert play.job.restart_due_s is None


def test_the_attempt_is_due_at_its_time_and_the_job_is_not_finished_until_then() -> None:
    play = delivered(decided(RESTART))
    assert not any(play.actions)
    assert not play.job.finished
    assert wake_s(play.job, POLICY, play.now_s, play.now_s) == DUE_S
    play.later(DUE_S - play.now_s)
    assert play.actions == (Step.RESTART,)
    play.job = replace(play.job, restart_due_s=None)
    assert play.later(0).actions == (Step.FINISH,)


def test_a_channel_that_is_down_does_not_delay_the_attempt() -> None:
    play = decided(RESTART).later(DUE_S - START_S)
    assert Step.RESTART in play.actions
    assert any(isinstance(action, Deliver) for action in play.actions)


@pytest.mark.parametrize(
    ("decision", "sentence"),
    [
        (RESTART, "Restart: attempt 1 starts in 1m 37s from step 4,200 (A node failed; 1 of 5)."),
        (replace(RESTART, checkpoint=None), "Restart: attempt 1 starts in 1m 37s from the start (A node"),
        (
            replace(RESTART, is_observed=True),
            "Observed only: jobmon would have started attempt 1 from step 4,200 (A node failed).",
        ),
        (replace(RESTART, verdict=Verdict.STOP), "No restart: A node failed."),
        (
            replace(RESTART, verdict=Verdict.ASK),
            "No restart without you: A node failed. `jobmon restart 12` starts it again.",
        ),
    ],
)
def test_the_final_message_says_the_decision_in_one_sentence(decision: Decision, sentence: str) -> None:
    (entry,) = decided(decision).job.outbox
    assert sentence in entry.message.summary


@pytest.mark.parametrize(
    "decision",
    [
        replace(RESTART, is_observed=True),
        *(replace(RESTART, verdict=each) for each in (Verdict.STOP, Verdict.ASK, Verdict.FINISHED)),
    ],
)
def test_nothing_but_a_restart_that_is_on_makes_an_attempt_due(decision: Decision) -> None:
    play = delivered(decided(decision))
    assert play.job.restart_due_s is None
    assert play.actions == (Step.FINISH,)


def test_a_job_that_is_not_watched_any_more_is_not_restarted() -> None:
    job = replace(delivered(decided(RESTART)).job, unwatched_s=DUE_S)
    assert decide(job, POLICY, DUE_S + 1)[1] == (Step.FINISH,)


def test_an_attempt_that_runs_again_is_decided_about_anew() -> None:
    job = reopened(delivered(decided(RESTART)).job)
    assert (job.decision, job.restart_due_s) == (None, None)


def test_a_clock_that_is_set_back_delays_an_attempt_no_longer_than_was_decided() -> None:
    now_s = START_S - 86_400
    job = clamp_to_now(delivered(decided(RESTART)).job, now_s)
    assert job.restart_due_s == now_s + DUE_S - START_S
