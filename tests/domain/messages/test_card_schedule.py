from __future__ import annotations

from dataclasses import replace

from jobmon_core.domain.decide import Deliver, Step, decide, wake_s
from jobmon_core.domain.delivery.card import CardPhase, JobCard
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.messages.card_schedule import (
    card_due_s,
    closed_card,
    current_card,
    postponed_card,
    settle_card,
)
from tests.support.job_records import ENTRY, NOW_S, PENDING, job_of, succeeded
from tests.support.live_jobs import running_task

POLICY = Policy()
POSTED = JobCard("1", "hook", CardPhase.RUNNING, next_s=NOW_S + 600)
RUNNING = replace(job_of(running_task()), workdir="/w")
ENDED = job_of(succeeded(), concluded_s=NOW_S)


def with_card(job: WatchedJob, card: JobCard = POSTED) -> WatchedJob:
    return replace(job, card=card)


def intervals(job: WatchedJob, *ages_s: float) -> list[float]:
    return [current_card(job, NOW_S + age_s).next_s - (NOW_S + age_s) for age_s in ages_s]


def test_a_job_has_a_card_once_it_was_watched_for_a_minute() -> None:
    assert card_due_s(RUNNING, POLICY) == NOW_S + 60
    assert decide(RUNNING, POLICY, NOW_S + 59)[1] == ()
    assert decide(RUNNING, POLICY, NOW_S + 60)[1] == (Step.UPDATE_CARD,)


def test_a_job_that_ended_before_has_none() -> None:
    assert card_due_s(job_of(succeeded()), POLICY) is None
    assert card_due_s(ENDED, POLICY) is None
    assert ENDED.finished


def test_the_intervals_grow_with_the_time_in_the_phase() -> None:
    started = job_of(replace(running_task(), start_s=int(NOW_S)))
    assert intervals(started, 0, 600, 1200, 6000, 86_400) == [60, 60, 120, 600, 600]
    assert intervals(job_of(PENDING), 0, 3000, 86_400) == [60, 300, 600]


def test_a_change_of_the_phase_is_shown_at_once() -> None:
    assert card_due_s(with_card(RUNNING), POLICY) == NOW_S + 600
    assert card_due_s(with_card(job_of(PENDING)), POLICY) == 0.0
    assert card_due_s(with_card(ENDED), POLICY) == 0.0


def test_a_failed_attempt_to_show_a_change_is_repeated_after_its_wait() -> None:
    job = with_card(ENDED)
    job = with_card(job, postponed_card(job, NOW_S + 30))
    assert card_due_s(job, POLICY) == NOW_S + 30


def test_messages_go_first() -> None:
    job = replace(with_card(ENDED), outbox=(ENTRY,))
    assert decide(job, POLICY, NOW_S)[1] == (Deliver("m"),)
    retried = replace(job, outbox=(replace(ENTRY, channel="error", next_try_s=NOW_S + 60),))
    assert decide(retried, POLICY, NOW_S)[1] == (Step.UPDATE_CARD,)


def test_the_monitor_stays_until_the_card_shows_the_end() -> None:
    job = with_card(ENDED)
    assert not job.finished
    assert decide(job, POLICY, NOW_S)[1] == (Step.UPDATE_CARD,)
    shown = with_card(job, current_card(job, NOW_S))
    assert shown.finished
    assert decide(shown, POLICY, NOW_S)[1] == (Step.FINISH,)


def test_the_monitor_does_not_stay_for_long() -> None:
    job = with_card(ENDED, replace(POSTED, phase=CardPhase.OVER, next_s=NOW_S + 60))
    assert decide(job, POLICY, NOW_S)[1] == ()
    assert wake_s(job, POLICY, NOW_S, NOW_S) == NOW_S + 60
    late, actions = decide(job, POLICY, NOW_S + 600)
    assert actions == (Step.FINISH,)
    assert late.card.problem == "the channel did not accept the final edit"


def test_a_job_whose_monitoring_is_stopped_gets_one_last_edit() -> None:
    job = replace(with_card(RUNNING), unwatched_s=NOW_S)
    assert decide(job, POLICY, NOW_S)[1] == (Step.UPDATE_CARD,)
    for card in (current_card(job, NOW_S), postponed_card(job, NOW_S + 60)):
        assert decide(with_card(job, card), POLICY, NOW_S)[1] == (Step.FINISH,)
    assert decide(replace(RUNNING, unwatched_s=NOW_S), POLICY, NOW_S)[1] == (Step.FINISH,)


def test_a_closed_card_is_never_due() -> None:
    assert card_due_s(with_card(RUNNING, closed_card(JobCard(), "deleted")), POLICY) is None


def test_no_card_is_due_if_they_are_turned_off() -> None:
    off = Policy(cards=False)
    assert card_due_s(RUNNING, off) is None
    assert wake_s(RUNNING, off, NOW_S + 6000, NOW_S + 6000) > NOW_S + 6000
    assert settle_card(with_card(ENDED), off, NOW_S).finished
