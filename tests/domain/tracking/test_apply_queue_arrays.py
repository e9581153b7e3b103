"""From what Slurm said of arrays and heterogeneous jobs to a verdict: each test is a small play."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.channels import Route
from jobmon_core.domain.delivery.outbox import Tone
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.domain.tracking.model import Source
from jobmon_core.domain.tracking.policy import Policy
from tests.support.play import Play, record, row, sacct_row


def test_an_array_is_told_in_one_digest() -> None:
    play = Play().queue(row("12_[2-3%1]", "PENDING"), row("12_1", "RUNNING")).later(30)
    assert play.job.array_indices == "1-3"
    play.queue(row("12_1", "COMPLETED"), row("12_2", "FAILED"), row("12_3", "FAILED"))
    play.record(record("12_1", "COMPLETED"), record("12_2", "FAILED", 2), record("12_3", "FAILED", 2)).later(
        3
    )
    play.accounting(
        sacct_row("12_1", "COMPLETED"),
        sacct_row("12_2", "FAILED", 2),
        sacct_row("12_3", "FAILED", 2),
    )
    (entry,) = play.job.outbox
    assert entry.message.route is Route.ERROR
    assert "2 failed" in entry.message.title
    assert any("2-3" in fact.value for fact in entry.message.fields)


def test_an_array_can_be_told_task_by_task() -> None:
    play = Play(Policy(array_messages="each")).queue(row("12_1", "FAILED"), row("12_2", "COMPLETED"))
    play.record(record("12_1", "FAILED", 1), record("12_2", "COMPLETED")).later(3)
    play.accounting(sacct_row("12_1", "FAILED", 1), sacct_row("12_2", "COMPLETED"))
    assert sorted(entry.message.route for entry in play.job.outbox) == [Route.ERROR, Route.SUCCESS]


def test_an_array_with_waiting_tasks_has_not_ended() -> None:
    play = (
        Play().queue(row("12_[2]", "PENDING"), row("12_1", "COMPLETED")).record(record("12_1", "COMPLETED"))
    )
    play.later(3).accounting(sacct_row("12_1", "COMPLETED"))
    assert play.job.tasks["1"].end is not None
    assert not play.job.ended
    assert not play.job.outbox


def test_an_array_cancelled_before_any_start_is_cancelled() -> None:
    play = Play().queue(row("12_[1-3%1]", "PENDING")).later(30).queue(row("12", "CANCELLED"))
    play.record(record("12", "CANCELLED")).later(3).accounting(sacct_row("12_[1-3%1]", "CANCELLED by 0"))
    assert {key: play.end(key).outcome for key in "123"} == dict.fromkeys("123", Outcome.CANCELLED)
    assert len(play.job.outbox) == 1


def test_an_array_that_squeue_lists_as_cancelled_by_its_indices_is_cancelled() -> None:
    play = Play().queue(row("12_[1-3%1]", "PENDING")).later(30).queue(row("12_[1-3%1]", "CANCELLED"))
    assert not play.job.pending_indices
    play.record(record("12_[1-3%1]", "CANCELLED")).later(3).no_accounting()
    assert {key: play.end(key).source for key in "123"} == dict.fromkeys("123", Source.RECORD)
    assert play.job.outcome is Outcome.CANCELLED


def test_an_accounting_that_does_not_name_the_cancelled_tasks_yet_is_not_waited_for() -> None:
    play = Play().queue(row("12_[1-3]", "PENDING")).later(30).queue(row("12_[1-3]", "CANCELLED"))
    play.record(record("12_[1-3]", "CANCELLED")).later(3).accounting(sacct_row("12", "CANCELLED by 7"))
    assert {play.end(key).cancelled_by for key in "123"} == {7}


def test_of_a_throttled_array_cancelled_half_way_the_rest_never_started() -> None:
    play = Play().queue(row("12_[2,4%1]", "PENDING"), row("12_1", "RUNNING")).later(30)
    play.queue(row("12_[2,4%1]", "CANCELLED"), row("12_1", "CANCELLED"))
    play.record(record("12_[2,4%1]", "CANCELLED"), record("12_1", "CANCELLED", signal=15)).later(3)
    play.accounting(sacct_row("12_1", "CANCELLED by 0"), sacct_row("12_[2,4%1]", "CANCELLED by 0"))
    assert sorted(play.job.tasks) == ["1", "2", "4"]
    (entry,) = play.job.outbox
    assert "3 cancelled" in entry.message.title


def test_the_watched_task_of_an_array_cancelled_before_any_start_is_cancelled() -> None:
    play = Play(scope="2").queue(row("12_[1-3]", "PENDING")).later(30).queue(row("12_[1-3]", "CANCELLED"))
    play.record(record("12_[1-3]", "CANCELLED")).later(3).no_accounting()
    assert list(play.job.tasks) == ["2"]
    assert (play.end("2").outcome, play.end("2").source) == (Outcome.CANCELLED, Source.RECORD)


def test_a_task_that_its_array_lost_before_its_start_counts_as_cancelled() -> None:
    play = Play(Policy(vanished_s=120)).queue(row("12_[2-3]", "PENDING"), row("12_1", "RUNNING")).later(30)
    for _ in range(8):
        play.queue(row("12_1", "RUNNING"), row("12_2", "RUNNING")).record(record("12_1", "RUNNING"))
        play.accounting(sacct_row("12_1", "RUNNING"), sacct_row("12_2", "RUNNING")).later(30)
    assert play.end("3").outcome is Outcome.CANCELLED
    assert play.end("3").source is Source.ARRAY
    assert play.job.tasks["1"].end is None


def test_a_deadline_shorter_than_the_wait_for_a_lost_task_does_not_make_its_outcome_unknown() -> None:
    play = Play(Policy(vanished_s=120, deadline_s=10)).queue(
        row("12_[2-3]", "PENDING"), row("12_1", "RUNNING")
    )
    play.later(30)
    for _ in range(3):
        play.queue(row("12_[2]", "PENDING"), row("12_1", "RUNNING")).record(record("12_1", "RUNNING"))
        play.accounting(sacct_row("12_1", "RUNNING")).later(30)
    assert play.end("3").outcome is Outcome.CANCELLED


def test_only_the_watched_task_of_an_array_counts() -> None:
    play = Play(scope="2").queue(row("12_[2-3]", "PENDING"), row("12_1", "RUNNING"))
    assert not play.job.ended
    play.later(30).queue(row("12_1", "FAILED"), row("12_2", "COMPLETED"))
    play.record(record("12_1", "FAILED"), record("12_2", "COMPLETED")).later(3).accounting(
        sacct_row("12_2", "COMPLETED")
    )
    assert play.job.outcome is Outcome.SUCCESS
    assert list(play.job.tasks) == ["2"]


def test_many_tasks_that_are_held_for_one_reason_are_told_of_once() -> None:
    held = [row(f"12_{index}", "PENDING", "JobHoldMaxRequeue") for index in range(1, 9)]
    play = Play().queue(*held).record(*(record(f"12_{index}", "PENDING") for index in range(1, 9)))
    assert len(play.job.outbox) == 1


def test_the_digest_shows_the_log_of_a_failed_task_rather_than_of_one_of_many_cancelled() -> None:
    cancelled = [f"12_{index}" for index in range(1, 70)]
    play = Play().queue(*(row(task, "CANCELLED") for task in cancelled), row("12_70", "FAILED"))
    play.record(*(record(task, "CANCELLED") for task in cancelled), record("12_70", "FAILED", 3)).later(3)
    play.accounting(
        *(sacct_row(task, "CANCELLED by 0") for task in cancelled), sacct_row("12_70", "FAILED", 3)
    )
    assert play.job.tasks["70"].diagnosis is not None
    (entry,) = play.job.outbox
    assert entry.message.title.endswith(": 1 failed, 69 cancelled")


def test_both_components_of_a_het_job_must_succeed() -> None:
    play = Play().queue(row("12+0", "COMPLETED"), row("12+1", "FAILED"))
    play.record(record("12+0", "COMPLETED"), record("12+1", "FAILED", 4)).later(3)
    play.accounting(sacct_row("12+0", "COMPLETED"), sacct_row("12+1", "FAILED", 4))
    assert play.job.outcome is Outcome.FAILURE
    assert len(play.job.outbox) == 1


def test_an_array_that_was_over_before_it_was_watched_is_split_into_its_tasks() -> None:
    play = (
        Play()
        .queue()
        .record()
        .later(3)
        .accounting(sacct_row("12_1", "COMPLETED"), sacct_row("12_2", "FAILED", 1))
    )
    play.later(3).accounting(sacct_row("12_1", "COMPLETED"), sacct_row("12_2", "FAILED", 1))
    assert play.end("2").outcome is Outcome.FAILURE
    assert play.job.array_indices == "1-2"


def test_an_array_that_can_never_start_is_told_once_while_it_lives() -> None:
    play = (
        Play()
        .queue(row("12_[1-9]", "PENDING", "DependencyNeverSatisfied"))
        .record(record("12_[1-9]", "PENDING"))
    )
    play.later(60).queue(row("12_[1-9]", "PENDING", "DependencyNeverSatisfied"))
    (entry,) = play.job.outbox
    assert entry.message.tone is Tone.ATTENTION


_PARTS = st.sampled_from(["12", "12_[1-3]", "12_[2-3%1]", "12_[3]", "12_1", "12_2", "12_3"])


_ENDS = st.sampled_from(["PENDING", "RUNNING", "COMPLETING", "CANCELLED", "FAILED", "NODE_FAIL", "REQUEUED"])


_LISTING = st.lists(st.tuples(_PARTS, _ENDS), max_size=4, unique_by=lambda listed: listed[0])


_ANSWERS = st.lists(
    st.tuples(st.sampled_from(["queue", "record", "ledger", "down", "later"]), _LISTING), max_size=20
)


@given(_ANSWERS, st.sampled_from(["", "2"]))
def test_whatever_is_said_of_an_array_it_is_told_once_and_is_no_success_without_a_completed(
    answers: list[tuple[str, list[tuple[str, str]]]], scope: str
) -> None:
    play = Play(scope=scope)
    for what, listing in answers:
        match what:
            case "queue":
                play.queue(*(row(*listed) for listed in listing))
            case "record":
                play.record(*(record(*listed) for listed in listing))
            case "ledger":
                play.accounting(*(sacct_row(*listed) for listed in listing))
            case "down":
                play.queue_down()
            case _:
                play.later(700)
    assert play.job.outcome is not Outcome.SUCCESS
    assert sum(entry.message.id.endswith("/end") for entry in play.job.outbox) <= 1
    assert not play.job.ended or play.job.outbox


def test_a_task_that_ended_before_the_array_was_watched_counts() -> None:
    play = Play().queue(row("12_2", "RUNNING")).later(30).queue(row("12_2", "COMPLETED"))
    play.record(record("12_2", "COMPLETED")).later(3)
    play.accounting(sacct_row("12_1", "FAILED", 7), sacct_row("12_2", "COMPLETED"))
    assert not play.job.outbox
    play.later(30).queue(row("12_2", "COMPLETED")).record(record("12_2", "COMPLETED")).later(3)
    play.accounting(sacct_row("12_1", "FAILED", 7), sacct_row("12_2", "COMPLETED"))
    assert play.job.outcome is Outcome.FAILURE
    assert play.end("1").exit_code == 7


def test_an_array_is_not_told_before_accounting_was_heard() -> None:
    play = (
        Play(Policy(accounting_grace_s=30))
        .queue(row("12_2", "COMPLETED"))
        .record(record("12_2", "COMPLETED"))
    )
    play.later(3).accounting_down().later(100).accounting_down()
    assert not play.job.ended


def test_the_leftover_of_an_array_says_nothing_of_tasks_that_ran_unseen() -> None:
    play = Play().queue(row("12_[1-5%1]", "PENDING", "JobHeldUser")).later(600).queue(row("12", "CANCELLED"))
    told = (
        sacct_row("12_1", "COMPLETED"),
        sacct_row("12_2", "FAILED", 9),
        sacct_row("12_[3-5%1]", "CANCELLED by 0"),
    )
    play.record().later(3).accounting(*told)
    outcomes = [play.end(key).outcome for key in "12345"]
    assert outcomes == [Outcome.SUCCESS, Outcome.FAILURE, *[Outcome.CANCELLED] * 3]


def test_accounting_that_lags_makes_no_cancellation_of_a_task_that_ran_unseen() -> None:
    play = (
        Play().queue(row("12_[2]", "PENDING"), row("12_1", "COMPLETED")).record(record("12_1", "COMPLETED"))
    )
    play.later(3).accounting(sacct_row("12_1", "COMPLETED")).later(60)
    for _ in range(5):
        play.queue().record().accounting(sacct_row("12_1", "COMPLETED")).later(30)
    assert play.job.tasks["2"].end is None
    play.accounting(sacct_row("12_1", "COMPLETED"), sacct_row("12_2", "FAILED", 3, submit_s=1_000_000))
    assert play.end("2").outcome is Outcome.FAILURE


def test_the_watched_task_of_an_array_that_is_cancelled_while_it_waits_is_cancelled() -> None:
    play = Play(scope="3").queue(row("12_[2-3]", "PENDING"), row("12_1", "RUNNING")).later(60)
    for _ in range(25):
        play.queue(row("12_[2]", "PENDING"), row("12_1", "RUNNING")).record(record("12_1", "RUNNING"))
        play.accounting(sacct_row("12_1", "RUNNING")).later(30)
    assert (play.end("3").outcome, play.end("3").source) == (Outcome.CANCELLED, Source.ARRAY)
