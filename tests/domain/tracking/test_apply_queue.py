"""From what Slurm said to a verdict: each test is a small play."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.channels import Route
from jobmon_core.domain.decide import Deliver, Finish
from jobmon_core.domain.delivery.outbox import Tone
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.domain.tracking.model import Source
from jobmon_core.domain.tracking.policy import Policy
from tests.support.play import START_S, Play, record, row, sacct_row


def test_a_completed_job_is_told_once_on_the_success_channel() -> None:
    play = Play().queue(row("12", "RUNNING")).later(30).queue(row("12", "COMPLETED"))
    assert play.asks_record()
    play.record(record("12", "COMPLETED")).later(3)
    assert play.asks_accounting()
    play.accounting(sacct_row("12", "COMPLETED"))
    assert play.job.outcome is Outcome.SUCCESS
    (entry,) = play.job.outbox
    assert entry.message.route is Route.SUCCESS
    assert play.actions == (Deliver(entry.message.id),)
    assert len(play.later(60).job.outbox) == 1


def test_an_unreachable_queue_ends_nothing() -> None:
    play = Play().queue(row("12", "RUNNING"))
    for _ in range(500):
        play.later(60).queue_down()
    assert not play.job.ended
    assert play.job.stale_since_s is not None
    assert play.job.tasks[""].state is JobState.RUNNING


def test_a_reply_ends_the_staleness() -> None:
    play = Play().queue(row("12", "RUNNING")).later(60).queue_down().later(60).queue(row("12", "RUNNING"))
    assert play.job.stale_since_s is None


def test_leaving_the_queue_alone_is_no_end() -> None:
    play = Play().queue(row("12", "RUNNING")).later(30).queue()
    assert not play.job.ended
    assert play.asks_record()


def test_a_job_that_left_the_queue_is_judged_by_accounting() -> None:
    play = Play().queue(row("12", "RUNNING")).later(30).queue().record().later(3)
    play.accounting(sacct_row("12", "FAILED", exit_code=3))
    end = play.end()
    assert (end.outcome, end.source, end.exit_code) == (Outcome.FAILURE, Source.ACCOUNTING, 3)
    assert not end.exit_code_exact


def test_the_true_exit_code_comes_from_slurmctld() -> None:
    play = Play().queue(row("12", "FAILED")).record(record("12", "FAILED", exit_code=137)).later(3)
    play.accounting(sacct_row("12", "FAILED", exit_code=9))
    assert play.end().exit_code == 137
    assert play.end().exit_code_exact


def test_accounting_that_lags_is_asked_again_with_growing_waits() -> None:
    play = Play().queue(row("12", "RUNNING")).later(30).queue().record()
    waits = []
    for _ in range(5):
        before = play.now_s
        while not play.asks_accounting():
            play.later(1)
        waits.append(play.now_s - before)
        play.accounting(sacct_row("12", "RUNNING"))
    assert not play.job.ended
    assert waits == sorted(waits)
    assert waits[0] < waits[-1]


def test_an_accounting_row_that_still_runs_is_no_end() -> None:
    play = Play().queue(row("12", "RUNNING")).later(30).queue().record().later(3)
    play.accounting(sacct_row("12", "RUNNING"))
    assert not play.job.ended


def test_when_all_witnesses_stay_silent_the_outcome_is_unknown_and_says_why() -> None:
    play = Play(Policy(deadline_s=600)).queue(row("12", "RUNNING")).later(30).queue().record()
    for _ in range(30):
        play.later(30).queue().accounting()
    assert play.end().outcome is Outcome.UNKNOWN
    assert "sacct" in play.end().why
    assert play.job.outbox[0].message.route is Route.ERROR


def test_an_accounting_that_is_down_for_an_hour_makes_no_unknown_outcome() -> None:
    play = Play().queue(row("12", "RUNNING")).later(30).queue().record()
    for _ in range(120):
        play.later(30).queue().accounting_down()
    assert not play.job.ended
    play.later(5).accounting(sacct_row("12", "COMPLETED"))
    assert play.job.outcome is Outcome.SUCCESS


def test_without_accounting_the_end_that_squeue_shows_is_enough() -> None:
    play = (
        Play().queue(row("12", "FAILED")).record(record("12", "FAILED", exit_code=2)).later(3).no_accounting()
    )
    assert (play.end().outcome, play.end().exit_code) == (Outcome.FAILURE, 2)


def test_without_accounting_and_record_the_outcome_is_unknown_never_success() -> None:
    play = Play().queue(row("12", "RUNNING")).later(30).queue().record().later(3).no_accounting()
    play.later(30).queue()
    assert play.end().outcome is Outcome.UNKNOWN


def test_an_end_that_squeue_shows_waits_for_accounting_only_for_its_grace() -> None:
    play = Play(Policy(accounting_grace_s=30)).queue(row("12", "TIMEOUT")).record(record("12", "TIMEOUT"))
    play.later(3).accounting()
    assert not play.job.ended
    play.later(28)
    assert play.end().state is JobState.TIMEOUT


def test_who_cancelled_is_learnt_from_accounting() -> None:
    play = Play().queue(row("12", "CANCELLED")).record(record("12", "CANCELLED")).later(3)
    play.accounting(sacct_row("12", "CANCELLED by 1000"))
    assert play.end().cancelled_by == 1000
    assert play.job.outbox[0].message.tone is Tone.CANCELLED


def test_a_node_failure_that_requeues_the_job_is_no_end() -> None:
    play = Play().queue(row("12", "RUNNING")).later(30).queue(row("12", "NODE_FAIL"))
    play.record(record("12", "NODE_FAIL")).later(3).accounting(sacct_row("12", "NODE_FAIL"))
    assert not play.job.ended
    play.later(27).queue(row("12", "PENDING", "BeginTime", submit_s=1_000_050))
    assert not play.job.ended
    assert play.job.tasks[""].restarts == 1
    play.later(30).queue(row("12", "COMPLETED", submit_s=1_000_050)).record(record("12", "COMPLETED")).later(
        3
    )
    play.accounting(sacct_row("12", "NODE_FAIL"), sacct_row("12", "COMPLETED", submit_s=1_000_050))
    assert play.job.outcome is Outcome.SUCCESS
    assert len(play.job.outbox) == 1


def test_a_node_failure_that_lasts_is_an_end() -> None:
    play = Play().queue(row("12", "NODE_FAIL")).record(record("12", "NODE_FAIL")).later(3)
    play.accounting(sacct_row("12", "NODE_FAIL")).later(27).queue(row("12", "NODE_FAIL"))
    assert play.end().outcome is Outcome.FAILURE


def test_an_older_run_in_accounting_proves_nothing_about_the_present_one() -> None:
    play = Play().queue(row("12", "RUNNING", submit_s=1_000_050)).later(30).queue().record().later(3)
    play.accounting(sacct_row("12", "COMPLETED", submit_s=1_000_000))
    assert not play.job.ended


def test_requeued_in_accounting_is_no_end() -> None:
    play = Play().queue(row("12", "RUNNING")).later(30).queue().record().later(3)
    play.accounting(sacct_row("12", "REQUEUED", exit_code=77))
    assert not play.job.ended


def test_an_unknown_state_is_alive_and_no_success() -> None:
    play = Play().queue(row("12", "HIBERNATING"))
    play.later(3000).queue(row("12", "HIBERNATING"))
    assert not play.job.ended
    assert play.job.tasks[""].raw_state == "HIBERNATING"


def test_completing_hides_the_end_and_is_none() -> None:
    assert not Play().queue(row("12", "COMPLETING")).later(600).queue(row("12", "COMPLETING")).job.ended


def test_completed_with_a_bad_exit_code_is_no_success() -> None:
    play = Play().queue(row("12", "COMPLETED")).record(record("12", "COMPLETED", exit_code=1)).later(3)
    play.accounting(sacct_row("12", "COMPLETED", exit_code=1))
    assert play.job.outcome is Outcome.FAILURE


def test_a_job_that_was_over_before_it_was_watched_is_judged_by_accounting() -> None:
    play = Play().queue().record().later(3).accounting(sacct_row("12", "COMPLETED"))
    assert play.job.outcome is Outcome.SUCCESS


def test_a_dependency_that_can_never_be_satisfied_is_told_once_while_the_job_lives() -> None:
    play = Play().queue(row("12", "PENDING", "DependencyNeverSatisfied"))
    play.record(record("12", "PENDING"))
    play.later(60).queue(row("12", "PENDING", "DependencyNeverSatisfied"))
    (entry,) = play.job.outbox
    assert entry.message.tone is Tone.ATTENTION
    assert play.job.outcome is None


def test_a_call_for_attention_waits_for_the_name_that_the_record_tells() -> None:
    play = Play().queue(row("12", "PENDING", "DependencyNeverSatisfied"))
    assert not play.job.outbox
    play.record(record("12", "PENDING"))
    (entry,) = play.job.outbox
    assert entry.message.title.startswith("train (12)")


def test_a_restart_that_no_look_at_the_queue_saw_is_learnt_from_the_record() -> None:
    play = (
        Play().queue(row("12", "COMPLETED")).record(replace(record("12", "COMPLETED"), restarts=2)).later(3)
    )
    play.accounting(sacct_row("12", "COMPLETED"))
    assert any(fact.name == "Restarts" for fact in play.job.outbox[0].message.fields)


def test_a_restart_that_the_record_told_first_is_counted_once() -> None:
    play = Play().queue(row("12", "RUNNING")).later(30).queue(row("12", "COMPLETING"))
    again = replace(record("12", "PENDING"), restarts=1, submit_s=1_000_031)
    play.record(again).later(30).queue(row("12", "PENDING", "BeginTime", submit_s=1_000_031))
    assert play.job.tasks[""].restarts == 1


def test_a_restart_that_is_counted_before_its_submission_is_stamped_is_one() -> None:
    play = Play().queue(row("12", "RUNNING")).later(30).queue(row("12", "COMPLETING"))
    play.record(replace(record("12", "COMPLETING"), restarts=1)).later(30)
    play.queue(row("12", "PENDING", "BeginTime", submit_s=1_000_031))
    play.record(replace(record("12", "PENDING"), restarts=1, submit_s=1_000_031)).later(30)
    assert play.job.tasks[""].restarts == 1


def test_a_job_that_was_requeued_and_ended_unseen_ended_as_accounting_says() -> None:
    play = Play().queue(row("12", "NODE_FAIL"))
    play.record(replace(record("12", "PENDING"), restarts=1)).later(7200)
    play.queue().record().later(600)
    play.accounting(sacct_row("12", "COMPLETED"))
    assert play.end().outcome is Outcome.SUCCESS


def test_a_job_cancelled_before_its_start_never_ran() -> None:
    play = Play().queue(replace(row("12", "PENDING"), nodes="")).later(30)
    play.queue(replace(row("12", "CANCELLED"), nodes="")).record(record("12", "CANCELLED")).later(3)
    play.accounting(replace(sacct_row("12", "CANCELLED by 0"), start_s=1_000_009, end_s=1_000_009))
    assert (play.end().started_s, play.end().elapsed_s) == (None, None)
    assert play.job.outbox[0].message.summary == "It never started."


def test_a_requeued_job_cancelled_before_its_next_start_is_not_said_never_to_have_run() -> None:
    again = 1_000_050
    play = Play().queue(row("12", "RUNNING")).later(30)
    play.queue(replace(row("12", "PENDING", submit_s=again), nodes="")).later(30)
    play.queue(replace(row("12", "CANCELLED", submit_s=again), nodes="")).record(record("12", "CANCELLED"))
    cancelled = sacct_row("12", "CANCELLED by 0", submit_s=again)
    play.later(3).accounting(
        sacct_row("12", "REQUEUED"), replace(cancelled, start_s=again + 9, end_s=again + 9)
    )
    assert play.job.outbox[0].message.summary == "It had not started again."


def test_each_special_exit_asks_for_attention_once() -> None:
    play = Play()
    for run in (1, 2):
        play.later(60).queue(row("12", "SPECIAL_EXIT", "JobHeldUser", submit_s=1_000_000 + run))
        play.record(replace(record("12", "SPECIAL_EXIT"), restarts=run)).later(60)
        play.queue(row("12", "SPECIAL_EXIT", "JobHeldUser", submit_s=1_000_000 + run))
        play.later(60).queue(row("12", "RUNNING", submit_s=1_000_000 + run)).record(record("12", "RUNNING"))
        assert len({entry.message.id for entry in play.job.outbox}) == run
    assert play.job.outcome is None


def test_a_held_job_is_watched_in_silence() -> None:
    play = (
        Play().queue(row("12", "PENDING", "JobHeldUser")).later(60).queue(row("12", "PENDING", "JobHeldUser"))
    )
    assert not play.job.outbox
    assert not play.job.ended


def test_a_suspended_job_is_alive() -> None:
    assert not Play().queue(row("12", "SUSPENDED")).later(9000).queue(row("12", "SUSPENDED")).job.ended


def test_the_monitor_finishes_only_when_nothing_is_owed() -> None:
    play = Play().queue(row("12", "COMPLETED")).record(record("12", "COMPLETED")).later(3)
    play.accounting(sacct_row("12", "COMPLETED"))
    assert Finish() not in play.actions


def test_a_cluster_without_accounting_is_not_asked_every_second() -> None:
    play = Play().queue(row("12", "RUNNING")).later(30).queue().record_down().later(3)
    assert play.asks_accounting()
    play.no_accounting()
    assert not play.later(1).asks_accounting()


def test_an_older_job_of_the_same_id_proves_nothing() -> None:
    play = Play()
    play.job = replace(play.job, not_before_s=START_S - 86_400)
    play.queue().record().later(3).accounting(sacct_row("12", "COMPLETED", submit_s=int(START_S) - 9_000_000))
    assert not play.job.ended
    play.later(10).accounting(sacct_row("12", "FAILED", 2))
    assert play.end().outcome is Outcome.FAILURE


def namesake(play: Play) -> Play:
    """slurmctld came back without its state, and gave the id to a job that was submitted an hour later."""
    again = 1_003_600
    play.later(3600).queue(row("12", "RUNNING", submit_s=again))
    play.later(30).queue(row("12", "COMPLETED", submit_s=again))
    return play.record(replace(record("12", "COMPLETED"), submit_s=again, restarts=0))


def test_a_later_job_of_the_same_id_proves_nothing_about_the_one_that_slurm_lost() -> None:
    play = namesake(Play().queue(row("12", "RUNNING")).record(record("12", "RUNNING")))
    again = 1_003_600
    for _ in range(3):
        play.later(30).queue(row("12", "COMPLETED", submit_s=again)).record(
            replace(record("12", "COMPLETED"), submit_s=again, restarts=0)
        )
        play.accounting(sacct_row("12", "RUNNING"), sacct_row("12", "COMPLETED", submit_s=again))
        assert not play.job.ended
    for _ in range(30):
        play.later(30).queue().accounting(
            sacct_row("12", "RUNNING"), sacct_row("12", "COMPLETED", submit_s=again)
        )
    assert play.end().outcome is Outcome.UNKNOWN
    assert [entry.message.route for entry in play.job.outbox] == [Route.ERROR]


def test_a_later_job_of_the_same_id_is_looked_into_although_it_is_in_the_same_state() -> None:
    play = Play().queue(row("12", "RUNNING")).record(record("12", "RUNNING"))
    assert not play.later(30).queue(row("12", "RUNNING")).asks_record()
    assert play.later(3600).queue(row("12", "RUNNING", submit_s=1_003_600)).asks_record()


def test_the_true_end_of_a_job_whose_id_went_to_another_comes_from_accounting() -> None:
    play = namesake(Play().queue(row("12", "RUNNING")).record(record("12", "RUNNING")))
    play.later(30).queue().record().later(3)
    play.accounting(sacct_row("12", "NODE_FAIL"), sacct_row("12", "COMPLETED", submit_s=1_003_600))
    play.later(60).queue()
    assert (play.end().state, play.end().outcome) == (JobState.NODE_FAIL, Outcome.FAILURE)


def test_a_job_that_slurm_lost_while_accounting_was_down_is_neither_ended_nor_a_success() -> None:
    play = Play().queue(row("12", "RUNNING")).record(record("12", "RUNNING"))
    for _ in range(60):
        play.later(60).queue_down().accounting_down()
    play.later(60).queue().record()
    for _ in range(60):
        play.later(60).queue().accounting_down()
    assert not play.job.ended
    for _ in range(30):
        play.later(60).queue().accounting(sacct_row("12", "RUNNING"))
    assert play.end().outcome is Outcome.UNKNOWN
    assert "still calls it RUNNING" in play.end().why


def test_a_requeue_is_no_other_job_however_often() -> None:
    play = Play().queue(row("12", "RUNNING")).record(replace(record("12", "RUNNING"), restarts=0))
    for run in (1, 2, 3):
        again = 1_000_000 + 1000 * run
        play.later(1000).queue(row("12", "PENDING", "BeginTime", submit_s=again)).later(130)
        play.queue(row("12", "RUNNING", submit_s=again))
        play.record(replace(record("12", "RUNNING"), restarts=run, submit_s=again))
    play.later(30).queue(row("12", "COMPLETED", submit_s=1_003_000))
    play.record(replace(record("12", "COMPLETED"), restarts=3, submit_s=1_003_000)).later(3)
    play.accounting(sacct_row("12", "COMPLETED", submit_s=1_003_000))
    assert play.job.outcome is Outcome.SUCCESS
    assert play.job.tasks[""].restarts == 3


def test_an_end_of_a_run_before_a_requeue_ends_nothing() -> None:
    play = Play().queue(row("12", "RUNNING", submit_s=1_000_050)).later(30)
    play.queue(row("12", "COMPLETED", submit_s=1_000_000)).record(record("12", "RUNNING")).later(60)
    assert not play.job.ended


def test_an_end_in_the_queue_is_undone_by_a_record_that_lives() -> None:
    play = Play().queue(row("12", "FAILED")).record(record("12", "PENDING")).later(100)
    assert not play.job.ended


_WORDS = st.sampled_from(["RUNNING", "PENDING", "COMPLETING", "SUSPENDED", "NODE_FAIL", "REQUEUED", "WHAT"])
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("queue"), _WORDS),
        st.sampled_from(
            [
                ("gone", ""),
                ("down", ""),
                ("record", ""),
                ("record_gone", ""),
                ("ledger_down", ""),
                ("silent", ""),
            ]
        ),
        st.tuples(st.just("ledger"), st.sampled_from(["RUNNING", "REQUEUED", "FAILED", "PENDING"])),
        st.tuples(st.just("later"), st.sampled_from(["1", "30", "700", "90000"])),
    ),
    max_size=25,
)


@given(_STEPS)
def test_no_sequence_of_answers_without_a_completed_makes_a_success(steps: list[tuple[str, str]]) -> None:
    play = Play()
    for what, word in steps:
        match what:
            case "queue":
                play.queue(row("12", word))
            case "gone":
                play.queue()
            case "down":
                play.queue_down()
            case "record":
                play.record(record("12", "RUNNING"))
            case "record_gone":
                play.record()
            case "ledger":
                play.accounting(sacct_row("12", word))
            case "ledger_down":
                play.accounting_down()
            case "silent":
                play.accounting()
            case _:
                play.later(float(word))
    assert play.job.outcome is not Outcome.SUCCESS
    assert all(entry.message.route is Route.ERROR for entry in play.job.outbox)
