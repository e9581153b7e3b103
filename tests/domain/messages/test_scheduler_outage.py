"""A scheduler that is away: one warning, one all-clear, and nothing that it did not say."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.channels import Route
from jobmon_core.domain.decide import Finish
from jobmon_core.domain.delivery.outbox import Message, Tone
from jobmon_core.domain.messages.scheduler_outage import OutageNotice, current_outage, may_notify
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.domain.tracking.policy import Policy
from tests.support.play import START_S, Play, record, row, sacct_row

MINUTE_S = 60.0
HALF_HOUR_S = 1800.0
POLICY = Policy()


def running(policy: Policy = POLICY) -> Play:
    play = Play(policy).queue(row("12", "RUNNING")).record(record("12", "RUNNING"))
    play.job = replace(play.job, cluster="big")
    return play


def away(play: Play, minutes: int) -> Play:
    """squeue does not answer for so long, counted from the first time that it did not."""
    play.later(MINUTE_S).queue_down()
    for _ in range(minutes):
        play.later(MINUTE_S).queue_down()
    return play


def told(play: Play) -> list[Message]:
    return [entry.message for entry in play.job.outbox]


def tones(play: Play) -> list[Tone]:
    return [message.tone for message in told(play)]


def delivered(play: Play) -> Play:
    outbox = tuple(replace(entry, delivered_s=play.now_s) for entry in play.job.outbox)
    play.job = replace(play.job, outbox=outbox)
    return play


class TestTheWarning:
    def test_is_given_once_when_the_silence_has_lasted_long_enough(self) -> None:
        play = away(running(), 29)
        assert not told(play)
        assert tones(away(play, 1000)) == [Tone.ATTENTION]

    def test_says_since_when_and_why_in_slurms_own_words_and_what_to_do(self) -> None:
        (warning,) = told(away(running(), 30))
        assert (warning.route, warning.title) == (Route.ERROR, "Slurm (big) does not answer")
        assert warning.evidence == ("connect failure",)
        assert "takes none for ended, and goes on asking" in warning.summary
        assert "Do not submit the jobs again" in warning.advice
        moments = {fact.name: fact.at_s for fact in warning.fields if fact.at_s}
        assert moments == {"No answer since": START_S + 60, "Last answer": START_S}

    def test_names_no_cluster_where_none_is_known(self) -> None:
        (warning,) = told(away(Play(), 30))
        assert warning.title == "Slurm does not answer"

    def test_comes_as_late_as_it_is_configured_to(self) -> None:
        play = away(running(Policy(warn_stale_s=7200)), 119)
        assert not told(play)
        assert tones(away(play, 1)) == [Tone.ATTENTION]

    def test_is_never_given_where_the_time_is_0(self) -> None:
        assert not told(away(running(Policy(warn_stale_s=0)), 5000))

    def test_is_left_to_another_job_that_told_of_this_outage(self) -> None:
        play = running()
        play.notice = OutageNotice("t-13")
        assert not told(away(play, 5000))

    def test_ends_nothing(self) -> None:
        play = away(running(), 3000)
        assert (play.job.ended, play.job.outcome, play.job.tasks[""].raw_state) == (False, None, "RUNNING")

    def test_a_short_silence_is_worth_none_however_often_it_returns(self) -> None:
        play = running()
        for _ in range(50):
            away(play, 20).later(MINUTE_S).queue(row("12", "RUNNING"))
        assert not told(play)


class TestTheAllClear:
    def test_is_given_once_when_slurm_answers_again(self) -> None:
        play = away(running(), 60).later(MINUTE_S).queue(row("12", "RUNNING"))
        for _ in range(10):
            play.later(MINUTE_S).queue(row("12", "RUNNING"))
        assert tones(play) == [Tone.ATTENTION, Tone.RESOLVED]
        relief = told(play)[1]
        assert (relief.route, relief.title) == (Route.ERROR, "Slurm (big) answers again")
        assert "The outage lasted 1h 01m" in relief.summary

    def test_comes_after_the_warning_and_before_the_end_that_is_told_as_usual(self) -> None:
        play = away(running(), 40).later(MINUTE_S).queue(row("12", "FAILED"))
        play.record(record("12", "FAILED", exit_code=3)).later(3).accounting(sacct_row("12", "FAILED", 3))
        assert tones(play) == [Tone.ATTENTION, Tone.RESOLVED, Tone.FAILURE]
        assert play.end().exit_code == 3

    def test_is_waited_for_although_the_job_ended_meanwhile(self) -> None:
        play = running().later(30).queue().record()
        away(play, 31).accounting(sacct_row("12", "FAILED", 3))
        assert play.end().outcome is Outcome.FAILURE
        delivered(play).later(MINUTE_S).queue_down()
        assert Finish() not in play.actions
        play.later(MINUTE_S).answered()
        assert tones(play) == [Tone.ATTENTION, Tone.FAILURE, Tone.RESOLVED]
        assert Finish() in delivered(play).later(1).actions

    def test_is_not_given_where_the_warning_could_not_be_delivered(self) -> None:
        play = away(running(), 30)
        play.job = replace(play.job, outbox=(replace(play.job.outbox[0], given_up="no webhook"),))
        assert tones(play.later(MINUTE_S).queue(row("12", "RUNNING"))) == [Tone.ATTENTION]
        assert play.job.outage_s is None

    def test_is_left_to_the_job_that_took_over_while_this_one_was_not_watched(self) -> None:
        play = away(running(), 30)
        play.notice = OutageNotice("t-13")
        assert tones(play.later(MINUTE_S).queue(row("12", "RUNNING"))) == [Tone.ATTENTION]

    def test_is_given_although_another_job_told_of_an_earlier_outage(self) -> None:
        play = away(running(), 30)
        play.notice = OutageNotice("t-13", over_s=START_S - 90_000)
        assert tones(play.later(MINUTE_S).queue(row("12", "RUNNING"))) == [Tone.ATTENTION, Tone.RESOLVED]

    def test_a_later_outage_is_told_of_again(self) -> None:
        play = away(running(), 60).later(MINUTE_S).queue(row("12", "RUNNING"))
        away(play, 60).later(MINUTE_S).queue(row("12", "RUNNING"))
        assert tones(play) == [Tone.ATTENTION, Tone.RESOLVED] * 2
        assert len({message.id for message in told(play)}) == 4


class TestAccountingThatIsAway:
    def gone(self, minutes: int) -> Play:
        """A job that slurmctld lost, with slurmdbd down."""
        play = running().later(30).queue().record()
        for _ in range(minutes):
            play.later(MINUTE_S).queue().accounting_down()
        return play

    def test_for_an_hour_is_told_of_once_and_ends_nothing(self) -> None:
        play = self.gone(60)
        assert (play.job.ended, tones(play)) == (False, [Tone.ATTENTION])
        assert told(play)[0].evidence == ("no database",)
        play.later(MINUTE_S).accounting(sacct_row("12", "COMPLETED"))
        assert tones(play) == [Tone.ATTENTION, Tone.SUCCESS, Tone.RESOLVED]
        assert [message.route for message in told(play)] == [Route.ERROR, Route.SUCCESS, Route.ERROR]

    def test_is_no_silence_about_a_job_that_squeue_lists(self) -> None:
        assert current_outage(running().later(30).queue(row("12", "RUNNING")).job) is None

    def test_for_good_makes_an_unknown_outcome_and_no_all_clear(self) -> None:
        play = self.gone(1500)
        assert play.end().outcome is Outcome.UNKNOWN
        assert tones(play) == [Tone.ATTENTION, Tone.ATTENTION]
        assert play.job.outage_s is None

    def test_together_with_slurmctld_is_one_outage(self) -> None:
        play = self.gone(40)
        away(play, 60).later(MINUTE_S).queue().accounting_down()
        assert tones(play) == [Tone.ATTENTION]
        play.later(MINUTE_S).accounting(sacct_row("12", "TIMEOUT"))
        assert tones(play) == [Tone.ATTENTION, Tone.RESOLVED, Tone.FAILURE]


class TestWhoMayTell:
    @pytest.mark.parametrize("watches", [True, False])
    def test_the_first(self, watches: bool) -> None:  # noqa: FBT001
        assert may_notify(OutageNotice(), POLICY, START_S, reporter_is_active=watches)

    def test_another_one_where_the_teller_is_watched_no_more(self) -> None:
        assert not may_notify(OutageNotice("t-13"), POLICY, START_S, reporter_is_active=True)
        assert may_notify(OutageNotice("t-13"), POLICY, START_S, reporter_is_active=False)

    def test_nobody_shortly_after_an_all_clear(self) -> None:
        over = OutageNotice("t-13", over_s=START_S)
        assert not may_notify(over, POLICY, START_S + HALF_HOUR_S - 1, reporter_is_active=True)
        assert may_notify(over, POLICY, START_S + HALF_HOUR_S, reporter_is_active=True)

    def test_anybody_where_the_clock_was_set_back_since_then(self) -> None:
        assert may_notify(OutageNotice("t-13", over_s=START_S), POLICY, START_S - 1, reporter_is_active=True)


_STEPS = st.lists(
    st.sampled_from(["up", "down", "gone", "ledger down", "ledger", "record gone"]), max_size=60
)


@given(_STEPS)
def test_warnings_and_all_clears_take_turns_and_nothing_is_called_a_success(steps: list[str]) -> None:
    play = running(Policy(warn_stale_s=300))
    for step in steps:
        play.later(240.0)
        match step:
            case _ if play.job.closed:
                break
            case "up":
                play.queue(row("12", "RUNNING"))
            case "down":
                play.queue_down()
            case "gone":
                play.queue()
            case "record gone":
                play.record()
            case "ledger":
                play.accounting(sacct_row("12", "RUNNING"))
            case _:
                play.accounting_down()
    calls = [message for message in told(play) if "/outage-" in message.id]
    assert [message.tone for message in calls] == [Tone.ATTENTION, Tone.RESOLVED] * (len(calls) // 2) + [
        Tone.ATTENTION
    ] * (len(calls) % 2)
    assert {message.route for message in told(play)} <= {Route.ERROR}
    assert play.job.outcome is not Outcome.SUCCESS
