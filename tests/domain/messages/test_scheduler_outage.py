"""A scheduler outage: one message when it has lasted long, one when it is over, and no invented end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.decide import Step
from jobmon_core.domain.delivery.outbox import Message
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.messages.scheduler_outage import OutageNotice, current_outage, may_notify
from jobmon_core.domain.slurm.states import Outcome
from tests.support.play import START_S, Play, record, row, sacct_row

MINUTE_S = 60.0
HALF_HOUR_S = 1800.0
POLICY = Policy()


def running(policy: Policy = POLICY) -> Play:
    play = Play(policy).queue(row("12", "RUNNING")).record(record("12", "RUNNING"))
    play.job = replace(play.job, cluster="big")
    return play


def outage(play: Play, minutes: int) -> Play:
    """Let squeue fail for so many minutes, counted from its first failure."""
    play.later(MINUTE_S).queue_down()
    for _ in range(minutes):
        play.later(MINUTE_S).queue_down()
    return play


def messages(play: Play) -> list[Message]:
    return [entry.message for entry in play.job.outbox]


def tones(play: Play) -> list[Tone]:
    return [message.tone for message in messages(play)]


def delivered(play: Play) -> Play:
    outbox = tuple(replace(entry, delivered_s=play.now_s) for entry in play.job.outbox)
    play.job = replace(play.job, outbox=outbox)
    return play


class TestOutageMessage:
    def test_is_sent_once_when_the_outage_has_lasted_long_enough(self) -> None:
        play = outage(running(), 29)
        assert not messages(play)
        assert tones(outage(play, 1000)) == [Tone.ATTENTION]

    def test_says_since_when_and_what_to_do_and_quotes_the_error(self) -> None:
        (message,) = messages(outage(running(), 30))
        assert (message.route, message.title) == (Route.ERROR, "Slurm (big) is not responding")
        assert message.evidence == ("connect failure",)
        assert "considers none finished and keeps retrying" in message.summary
        assert "Do not submit the jobs again" in message.advice
        times = {field.name: field.at_s for field in message.fields if field.at_s}
        assert times == {"No response since": START_S + 60, "Last response": START_S}

    def test_names_no_cluster_if_none_is_known(self) -> None:
        (message,) = messages(outage(Play(), 30))
        assert message.title == "Slurm is not responding"

    def test_comes_after_the_configured_time(self) -> None:
        play = outage(running(Policy(warn_stale_s=7200)), 119)
        assert not messages(play)
        assert tones(outage(play, 1)) == [Tone.ATTENTION]

    def test_is_never_sent_if_the_configured_time_is_0(self) -> None:
        assert not messages(outage(running(Policy(warn_stale_s=0)), 5000))

    def test_is_not_sent_if_another_job_reported_this_outage(self) -> None:
        play = running()
        play.notice = OutageNotice("t-13")
        assert not messages(outage(play, 5000))

    def test_ends_no_job(self) -> None:
        play = outage(running(), 3000)
        assert (play.job.ended, play.job.outcome, play.job.tasks[""].raw_state) == (False, None, "RUNNING")

    def test_is_not_sent_about_short_outages_however_many(self) -> None:
        play = running()
        for _ in range(50):
            outage(play, 20).later(MINUTE_S).queue(row("12", "RUNNING"))
        assert not messages(play)


class TestRecoveryMessage:
    def test_is_sent_once_when_slurm_responds_again(self) -> None:
        play = outage(running(), 60).later(MINUTE_S).queue(row("12", "RUNNING"))
        for _ in range(10):
            play.later(MINUTE_S).queue(row("12", "RUNNING"))
        assert tones(play) == [Tone.ATTENTION, Tone.RESOLVED]
        recovery = messages(play)[1]
        assert (recovery.route, recovery.title) == (Route.ERROR, "Slurm (big) is responding again")
        assert "The outage lasted 1h 01m" in recovery.summary

    def test_comes_after_the_outage_message_and_before_the_final_message(self) -> None:
        play = outage(running(), 40).later(MINUTE_S).ends(("12", "FAILED", 3))
        assert tones(play) == [Tone.ATTENTION, Tone.RESOLVED, Tone.FAILURE]
        assert play.end().exit_code == 3

    def test_is_awaited_although_the_job_ended_in_the_meantime(self) -> None:
        play = running().later(30).queue().record()
        outage(play, 31).accounting(sacct_row("12", "FAILED", 3))
        assert play.end().outcome is Outcome.FAILURE
        delivered(play).later(MINUTE_S).queue_down()
        assert Step.FINISH not in play.actions
        play.later(MINUTE_S).answered()
        assert tones(play) == [Tone.ATTENTION, Tone.FAILURE, Tone.RESOLVED]
        assert Step.FINISH in delivered(play).later(1).actions

    def test_is_not_sent_if_the_outage_message_could_not_be_delivered(self) -> None:
        play = outage(running(), 30)
        play.job = replace(play.job, outbox=(replace(play.job.outbox[0], given_up="no webhook"),))
        assert tones(play.later(MINUTE_S).queue(row("12", "RUNNING"))) == [Tone.ATTENTION]
        assert play.job.outage_s is None

    def test_is_left_to_the_job_that_took_over_as_reporter(self) -> None:
        play = outage(running(), 30)
        play.notice = OutageNotice("t-13")
        assert tones(play.later(MINUTE_S).queue(row("12", "RUNNING"))) == [Tone.ATTENTION]

    def test_is_sent_although_another_job_reported_an_earlier_outage(self) -> None:
        play = outage(running(), 30)
        play.notice = OutageNotice("t-13", over_s=START_S - 90_000)
        assert tones(play.later(MINUTE_S).queue(row("12", "RUNNING"))) == [Tone.ATTENTION, Tone.RESOLVED]

    def test_is_sent_again_after_a_later_outage(self) -> None:
        play = outage(running(), 60).later(MINUTE_S).queue(row("12", "RUNNING"))
        outage(play, 60).later(MINUTE_S).queue(row("12", "RUNNING"))
        assert tones(play) == [Tone.ATTENTION, Tone.RESOLVED] * 2
        assert len({message.id for message in messages(play)}) == 4


class TestAccountingOutage:
    def lost_job(self, minutes: int) -> Play:
        """Return a job that slurmctld lost, after slurmdbd was down for so long."""
        play = running().later(30).queue().record()
        for _ in range(minutes):
            play.later(MINUTE_S).queue().accounting_down()
        return play

    def test_of_an_hour_causes_one_message_and_no_end(self) -> None:
        play = self.lost_job(60)
        assert (play.job.ended, tones(play)) == (False, [Tone.ATTENTION])
        assert messages(play)[0].evidence == ("no database",)
        play.later(MINUTE_S).accounting(sacct_row("12", "COMPLETED"))
        assert tones(play) == [Tone.ATTENTION, Tone.RESOLVED, Tone.SUCCESS]
        assert [message.route for message in messages(play)] == [Route.ERROR, Route.ERROR, Route.SUCCESS]

    def test_is_not_reported_as_an_outage_of_slurm_while_squeue_responds(self) -> None:
        play = self.lost_job(60).later(MINUTE_S).accounting(sacct_row("12", "COMPLETED"))
        warning, recovery, _ = messages(play)
        assert warning.title == "Slurm (big): accounting (sacct) is not responding"
        assert "jobmon cannot tell yet how jobs that left the queue ended" in warning.summary
        assert "no news of your jobs" not in warning.summary
        times = {field.name: field.at_s for field in warning.fields if field.at_s}
        # the first failed query of sacct, and the latest response of squeue
        assert times == {"No response since": START_S + 90, "Last response of squeue": START_S + 1830}
        assert recovery.title == "Slurm (big): accounting (sacct) is responding again"
        assert "The outage lasted 1h" in recovery.summary

    def test_begins_with_the_first_failed_query_of_sacct(self) -> None:
        play = (
            running()
            .later(30)
            .queue()
            .record()
            .later(MINUTE_S)
            .accounting()
            .later(MINUTE_S)
            .accounting_down()
        )
        outage = current_outage(play.later(MINUTE_S).accounting_down().job)
        assert outage is not None
        assert (outage.since_s, outage.only_accounting) == (START_S + 150, True)

    def test_does_not_matter_to_a_job_that_squeue_lists(self) -> None:
        assert current_outage(running().later(30).queue(row("12", "RUNNING")).job) is None

    def test_without_an_end_causes_an_unknown_outcome_and_no_recovery_message(self) -> None:
        play = self.lost_job(1500)
        assert play.end().outcome is Outcome.UNKNOWN
        assert tones(play) == [Tone.ATTENTION, Tone.ATTENTION]
        assert play.job.outage_s is None

    def test_together_with_a_slurmctld_outage_is_one_outage(self) -> None:
        play = self.lost_job(40)
        outage(play, 60).later(MINUTE_S).queue().accounting_down()
        assert tones(play) == [Tone.ATTENTION]
        play.later(MINUTE_S).accounting(sacct_row("12", "TIMEOUT"))
        assert tones(play) == [Tone.ATTENTION, Tone.RESOLVED, Tone.FAILURE]


class TestMayNotify:
    @pytest.mark.parametrize("is_active", [True, False])
    def test_the_first_job(self, is_active: bool) -> None:  # noqa: FBT001
        assert may_notify(OutageNotice(), POLICY, START_S, reporter_is_active=is_active)

    def test_another_job_if_the_reporter_is_no_longer_active(self) -> None:
        assert not may_notify(OutageNotice("t-13"), POLICY, START_S, reporter_is_active=True)
        assert may_notify(OutageNotice("t-13"), POLICY, START_S, reporter_is_active=False)

    def test_no_job_shortly_after_a_recovery(self) -> None:
        over = OutageNotice("t-13", over_s=START_S)
        assert not may_notify(over, POLICY, START_S + HALF_HOUR_S - 1, reporter_is_active=True)
        assert may_notify(over, POLICY, START_S + HALF_HOUR_S, reporter_is_active=True)

    def test_any_job_if_the_clock_was_set_back_after_the_recovery(self) -> None:
        assert may_notify(OutageNotice("t-13", over_s=START_S), POLICY, START_S - 1, reporter_is_active=True)


_STEPS = st.sampled_from(  # a method of Play and its argument
    [
        ("queue", row("12", "RUNNING")),
        ("queue",),
        ("queue_down",),
        ("record",),
        ("accounting", sacct_row("12", "RUNNING")),
        ("accounting_down",),
    ]
)


@given(st.lists(_STEPS, max_size=60))
def test_outage_and_recovery_messages_alternate_and_no_outcome_is_a_success(
    steps: list[tuple[Any, ...]],
) -> None:
    play = running(Policy(warn_stale_s=300))
    for method, *arguments in steps:
        play.later(240.0)
        if play.job.closed:
            break
        getattr(play, method)(*arguments)
    outage_messages = [message for message in messages(play) if "/outage-" in message.id]
    assert [message.tone for message in outage_messages] == [
        Tone.RESOLVED if index % 2 else Tone.ATTENTION for index in range(len(outage_messages))
    ]
    assert {message.route for message in messages(play)} <= {Route.ERROR}
    assert play.job.outcome is not Outcome.SUCCESS
