"""Which evidence proves an end, and which outcome follows from it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.job.tracking.model import Source
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.slurm.rows import Usage
from jobmon_core.domain.slurm.states import JobState, Outcome
from tests.support.play import Play, record, row, sacct_row


def test_leaving_the_queue_is_not_an_end() -> None:
    play = Play().queue(row("12", "RUNNING")).later(30).queue()
    assert not play.job.ended
    assert play.asks_record()


def test_accounting_proves_the_end_of_a_job_that_left_the_queue() -> None:
    play = Play().queue(row("12", "RUNNING")).later(30).queue().record().later(3)
    play.accounting(sacct_row("12", "FAILED", exit_code=3))
    end = play.end()
    assert (end.outcome, end.source, end.exit_code) == (Outcome.FAILURE, Source.ACCOUNTING, 3)
    assert not end.exit_code_exact


def test_the_exit_code_of_a_sacct_that_prints_true_ones_is_exact() -> None:
    play = Play().queue(row("12", "RUNNING")).later(30).queue().record().later(3)
    play.accounting(replace(sacct_row("12", "FAILED", exit_code=9), exit_code_exact=True))
    assert (play.end().exit_code, play.end().exit_code_exact) == (9, True)


@pytest.mark.parametrize("state", ["NODE_FAIL", "DEADLINE", "BOOT_FAIL"])
def test_where_slurm_itself_ended_the_job_there_is_no_exit_code(state: str) -> None:
    from_scontrol = Play(Policy(running_s=0)).queue(row("12", state)).record(record("12", state, signal=1))
    from_scontrol.later(3).accounting(sacct_row("12", state, exit_code=1))
    from_sacct = Play(Policy(running_s=0)).queue(row("12", state)).record().later(3)
    from_sacct.accounting(sacct_row("12", state, exit_code=1))
    for play in (from_scontrol, from_sacct):
        assert (play.end().exit_code, play.end().signal) == (None, None)
        fields = [field.name for field in play.job.outbox[0].message.fields]
        assert "Exit code" not in fields


def test_a_hangup_of_a_job_that_failed_by_itself_is_its_signal() -> None:
    play = Play().queue(row("12", "FAILED")).record(record("12", "FAILED", signal=1)).later(3)
    play.accounting(sacct_row("12", "FAILED"))
    assert play.end().signal == 1


def test_the_exact_exit_code_comes_from_slurmctld() -> None:
    play = Play().queue(row("12", "FAILED")).record(record("12", "FAILED", exit_code=137)).later(3)
    play.accounting(sacct_row("12", "FAILED", exit_code=9))
    assert play.end().exit_code == 137
    assert play.end().exit_code_exact


@pytest.mark.parametrize(("state", "exit_code"), [("RUNNING", 0), ("REQUEUED", 77)])
def test_an_accounting_row_that_is_running_or_requeued_is_not_an_end(state: str, exit_code: int) -> None:
    play = Play().queue(row("12", "RUNNING")).later(30).queue().record().later(3)
    play.accounting(sacct_row("12", state, exit_code))
    assert not play.job.ended


def test_without_any_evidence_the_outcome_is_unknown_and_says_why() -> None:
    play = Play(Policy(deadline_s=600)).queue(row("12", "RUNNING")).later(30).queue().record()
    for _ in range(30):
        play.later(30).queue().accounting()
    assert play.end().outcome is Outcome.UNKNOWN
    assert "sacct" in play.end().why
    assert play.job.outbox[0].message.route is Route.ERROR


def test_an_accounting_outage_of_an_hour_does_not_make_the_outcome_unknown() -> None:
    play = Play().queue(row("12", "RUNNING")).later(30).queue().record()
    for _ in range(120):
        play.later(30).queue().accounting_down()
    assert not play.job.ended
    play.later(5).accounting(sacct_row("12", "COMPLETED"))
    assert play.job.outcome is Outcome.SUCCESS


def test_on_a_cluster_without_accounting_the_end_in_squeue_is_enough() -> None:
    play = Play().queue(row("12", "FAILED")).record(record("12", "FAILED", 2)).later(3).no_accounting()
    assert (play.end().outcome, play.end().exit_code) == (Outcome.FAILURE, 2)


def test_without_accounting_and_record_the_outcome_is_unknown() -> None:
    play = Play().queue(row("12", "RUNNING")).later(30).queue().record().later(3).no_accounting()
    play.later(30).queue()
    assert play.end().outcome is Outcome.UNKNOWN


def test_an_end_in_squeue_waits_for_accounting_only_for_the_grace() -> None:
    play = Play(Policy(accounting_grace_s=30)).queue(row("12", "TIMEOUT")).record(record("12", "TIMEOUT"))
    play.later(3).accounting()
    assert not play.job.ended
    play.later(28)
    assert play.end().state is JobState.TIMEOUT


def test_times_of_a_run_that_accounting_had_not_seen_end_are_not_known() -> None:
    """Its row is of a running job, so they went on counting until it was printed."""
    play = Play(Policy(accounting_grace_s=15)).queue(row("12", "COMPLETED")).record(record("12", "COMPLETED"))
    running = replace(sacct_row("12", "RUNNING"), usage=Usage(run_s=900, cpu_s=0.0, cpus=8, gpus=2))
    while not play.job.ended:
        play.later(5).accounting(running)
    assert play.end().usage == Usage(cpus=8, gpus=2)


def test_an_end_without_accounting_says_which_details_are_not_known() -> None:
    start = "accounting (sacct) gave no record of this job in time, so these stay unknown: "
    running = row("12", "RUNNING")
    play = (
        Play(Policy(running_s=0, accounting_grace_s=30)).queue(running).later(30).queue(row("12", "TIMEOUT"))
    )
    play.record().later(3).accounting().later(40)
    assert play.end().why == f"{start}exit code, exact end, peak memory, CPU time"
    recorded = replace(
        record("12", "CANCELLED"), start_s=int(play.now_s), end_s=int(play.now_s) + 9, nodes="n1"
    )
    play = Play(Policy(running_s=0, accounting_grace_s=30)).queue(running).later(30)
    play.queue(row("12", "CANCELLED")).record(recorded).later(3).accounting().later(60)
    assert play.end().why == f"{start}peak memory, CPU time, who cancelled it"
    never = replace(recorded, start_s=recorded.end_s, nodes="")
    play = Play(Policy(running_s=0, accounting_grace_s=30))
    play.queue(replace(row("12", "PENDING"), nodes="")).later(30)
    play.queue(replace(row("12", "CANCELLED"), nodes="")).record(never).later(3).accounting().later(60)
    assert play.end().why == f"{start}who cancelled it"


def test_an_end_noticed_late_in_a_shared_answer_waits_for_accounting_all_the_same() -> None:
    play = Play(Policy(accounting_grace_s=30)).queue(row("12", "RUNNING")).later(60)
    play.queue(row("12", "FAILED"), asked_ago_s=29)
    assert play.asks_record()
    assert play.asks_accounting()
    ended = replace(record("12", "FAILED", 3), end_s=int(play.now_s) - 59)
    play.record(ended).accounting().later(14)
    assert not play.job.ended
    play.accounting(sacct_row("12", "FAILED", 3))
    assert (play.end().exit_code, play.end().why) == (3, "")


def test_accounting_tells_who_cancelled() -> None:
    play = Play().queue(row("12", "CANCELLED")).record(record("12", "CANCELLED")).later(3)
    play.accounting(sacct_row("12", "CANCELLED by 1000"))
    assert play.end().cancelled_by == 1000
    assert play.job.outbox[0].message.tone is Tone.CANCELLED


def test_a_node_failure_that_requeues_the_job_is_not_an_end() -> None:
    play = Play().queue(row("12", "RUNNING")).later(30).queue(row("12", "NODE_FAIL"))
    play.record(record("12", "NODE_FAIL")).later(3).accounting(sacct_row("12", "NODE_FAIL"))
    assert not play.job.ended
    play.later(27).queue(row("12", "PENDING", "BeginTime", submit_s=1_000_050))
    assert not play.job.ended
    assert play.job.tasks[""].restarts == 1
    play.later(30).queue(row("12", "COMPLETED", submit_s=1_000_050))
    play.record(record("12", "COMPLETED")).later(3)
    play.accounting(sacct_row("12", "NODE_FAIL"), sacct_row("12", "COMPLETED", submit_s=1_000_050))
    assert play.job.outcome is Outcome.SUCCESS
    assert len(play.job.outbox) == 1


def test_a_node_failure_that_lasts_is_an_end() -> None:
    play = Play().ends(("12", "NODE_FAIL", 0)).later(27).queue(row("12", "NODE_FAIL"))
    assert play.end().outcome is Outcome.FAILURE


def test_completed_with_a_nonzero_exit_code_is_a_failure() -> None:
    assert Play().ends(("12", "COMPLETED", 1)).job.outcome is Outcome.FAILURE


def test_accounting_proves_the_end_of_a_job_that_ended_before_the_watch_began() -> None:
    play = Play().queue().record().later(3).accounting(sacct_row("12", "COMPLETED"))
    assert play.job.outcome is Outcome.SUCCESS


def test_a_job_lost_by_slurm_while_accounting_is_down_has_not_ended() -> None:
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
    assert "still shows it as RUNNING" in play.end().why


def test_a_record_that_is_alive_overrules_the_end_in_squeue() -> None:
    play = Play().queue(row("12", "FAILED")).record(record("12", "PENDING")).later(100)
    assert not play.job.ended


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


def test_the_pending_tasks_of_a_cancelled_throttled_array_are_cancelled() -> None:
    play = Play().queue(row("12_[2,4%1]", "PENDING"), row("12_1", "RUNNING")).later(30)
    play.queue(row("12_[2,4%1]", "CANCELLED"), row("12_1", "CANCELLED"))
    play.record(record("12_[2,4%1]", "CANCELLED"), record("12_1", "CANCELLED", signal=15)).later(3)
    play.accounting(sacct_row("12_1", "CANCELLED by 0"), sacct_row("12_[2,4%1]", "CANCELLED by 0"))
    assert sorted(play.job.tasks) == ["1", "2", "4"]
    (entry,) = play.job.outbox
    assert "3 cancelled" in entry.message.title


def test_the_watched_task_of_an_array_cancelled_before_any_start_is_cancelled() -> None:
    play = (
        Play(watched_part="2").queue(row("12_[1-3]", "PENDING")).later(30).queue(row("12_[1-3]", "CANCELLED"))
    )
    play.record(record("12_[1-3]", "CANCELLED")).later(3).no_accounting()
    assert list(play.job.tasks) == ["2"]
    assert (play.end("2").outcome, play.end("2").source) == (Outcome.CANCELLED, Source.RECORD)


def test_a_pending_task_that_its_array_no_longer_lists_counts_as_cancelled() -> None:
    play = Play(Policy(vanished_s=120)).queue(row("12_[2-3]", "PENDING"), row("12_1", "RUNNING")).later(30)
    for _ in range(8):
        play.queue(row("12_1", "RUNNING"), row("12_2", "RUNNING")).record(record("12_1", "RUNNING"))
        play.accounting(sacct_row("12_1", "RUNNING"), sacct_row("12_2", "RUNNING")).later(30)
    assert play.end("3").outcome is Outcome.CANCELLED
    assert play.end("3").source is Source.ARRAY
    assert play.job.tasks["1"].end is None


def test_tasks_cancelled_before_the_first_query_are_counted() -> None:
    play = Play(Policy(vanished_s=120), submitted_indices="1-4%1")
    for _ in range(6):  # as recorded of an array whose tasks 3 and 4 were cancelled at once
        play.queue(row("12_1", "RUNNING"), row("12_[2%1]", "PENDING")).record(record("12_1", "RUNNING"))
        play.accounting(sacct_row("12_1", "RUNNING")).later(30)
    play.ends(("12_1", "COMPLETED", 0), ("12_2", "COMPLETED", 0))
    assert {key: play.end(key).outcome for key in "34"} == dict.fromkeys("34", Outcome.CANCELLED)
    (entry,) = play.job.outbox
    assert entry.message.title == "train (12): 2 cancelled, 2 completed"


def test_the_submitted_indices_count_only_once_squeue_lists_some_of_them() -> None:
    play = Play(submitted_indices="1-3").queue()  # a reply older than the job
    assert list(play.job.tasks) == [""]
    play.later(30).queue(row("12_[1-3]", "PENDING"))
    assert (play.job.array_indices, play.job.ended) == ("1-3", False)
    other = Play(submitted_indices="1-3").queue(row("12_[1-9]", "PENDING"))
    assert other.job.array_indices == "1-9"


def test_a_short_deadline_does_not_make_a_vanished_task_unknown() -> None:
    play = Play(Policy(vanished_s=120, deadline_s=10)).queue(
        row("12_[2-3]", "PENDING"), row("12_1", "RUNNING")
    )
    play.later(30)
    for _ in range(3):
        play.queue(row("12_[2]", "PENDING"), row("12_1", "RUNNING")).record(record("12_1", "RUNNING"))
        play.accounting(sacct_row("12_1", "RUNNING")).later(30)
    assert play.end("3").outcome is Outcome.CANCELLED


def test_both_components_of_a_het_job_must_succeed() -> None:
    play = Play().ends(("12+0", "COMPLETED", 0), ("12+1", "FAILED", 4))
    assert play.job.outcome is Outcome.FAILURE
    assert len(play.job.outbox) == 1


def test_an_array_does_not_end_before_accounting_answered() -> None:
    play = (
        Play(Policy(accounting_grace_s=30))
        .queue(row("12_2", "COMPLETED"))
        .record(record("12_2", "COMPLETED"))
    )
    play.later(3).accounting_down().later(100).accounting_down()
    assert not play.job.ended


def test_a_cancelled_array_row_says_nothing_about_tasks_that_ran_unseen() -> None:
    play = Play().queue(row("12_[1-5%1]", "PENDING", "JobHeldUser")).later(600).queue(row("12", "CANCELLED"))
    rows = (
        sacct_row("12_1", "COMPLETED"),
        sacct_row("12_2", "FAILED", 9),
        sacct_row("12_[3-5%1]", "CANCELLED by 0"),
    )
    play.record().later(3).accounting(*rows)
    outcomes = [play.end(key).outcome for key in "12345"]
    assert outcomes == [Outcome.SUCCESS, Outcome.FAILURE, *[Outcome.CANCELLED] * 3]


def test_lagging_accounting_does_not_cancel_a_task_that_ran_unseen() -> None:
    play = (
        Play().queue(row("12_[2]", "PENDING"), row("12_1", "COMPLETED")).record(record("12_1", "COMPLETED"))
    )
    play.later(3).accounting(sacct_row("12_1", "COMPLETED")).later(60)
    for _ in range(5):
        play.queue().record().accounting(sacct_row("12_1", "COMPLETED")).later(30)
    assert play.job.tasks["2"].end is None
    play.accounting(sacct_row("12_1", "COMPLETED"), sacct_row("12_2", "FAILED", 3, submit_s=1_000_000))
    assert play.end("2").outcome is Outcome.FAILURE


def test_the_watched_task_of_an_array_cancelled_while_pending_is_cancelled() -> None:
    play = Play(watched_part="3").queue(row("12_[2-3]", "PENDING"), row("12_1", "RUNNING")).later(60)
    for _ in range(25):
        play.queue(row("12_[2]", "PENDING"), row("12_1", "RUNNING")).record(record("12_1", "RUNNING"))
        play.accounting(sacct_row("12_1", "RUNNING")).later(30)
    assert (play.end("3").outcome, play.end("3").source) == (Outcome.CANCELLED, Source.ARRAY)
