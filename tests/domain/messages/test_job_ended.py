"""The final message about a job or an array."""

from __future__ import annotations

from dataclasses import replace

from jobmon_core.domain.channels import Route
from jobmon_core.domain.slurm.rows import Usage
from jobmon_core.domain.tracking.policy import Policy
from tests.support.play import Play, record, row, sacct_row


def test_a_job_cancelled_before_its_start_never_started() -> None:
    play = Play().queue(replace(row("12", "PENDING"), nodes="")).later(30)
    play.queue(replace(row("12", "CANCELLED"), nodes="")).record(record("12", "CANCELLED")).later(3)
    play.accounting(replace(sacct_row("12", "CANCELLED by 0"), start_s=1_000_009, end_s=1_000_009))
    assert (play.end().started_s, play.end().elapsed_s) == (None, None)
    assert play.job.outbox[0].message.summary == "It never started."


def test_a_requeued_job_cancelled_before_its_next_start_did_not_start_again() -> None:
    requeued_s = 1_000_050
    play = Play().queue(row("12", "RUNNING")).later(30)
    play.queue(replace(row("12", "PENDING", submit_s=requeued_s), nodes="")).later(30)
    play.queue(replace(row("12", "CANCELLED", submit_s=requeued_s), nodes="")).record(
        record("12", "CANCELLED")
    )
    cancelled = sacct_row("12", "CANCELLED by 0", submit_s=requeued_s)
    play.later(3).accounting(
        sacct_row("12", "REQUEUED"), replace(cancelled, start_s=requeued_s + 9, end_s=requeued_s + 9)
    )
    assert play.job.outbox[0].message.summary == "It was requeued but did not start again."


def test_an_array_causes_one_digest() -> None:
    play = Play().queue(row("12_[2-3%1]", "PENDING"), row("12_1", "RUNNING")).later(30)
    assert play.job.array_indices == "1-3"
    play.ends(("12_1", "COMPLETED", 0), ("12_2", "FAILED", 2), ("12_3", "FAILED", 2))
    (entry,) = play.job.outbox
    assert entry.message.route is Route.ERROR
    assert entry.message.title == "train (12): 2 failed, 1 completed"
    assert any("2-3" in field.value for field in entry.message.fields)


def test_a_job_that_ran_out_of_memory_shows_its_last_sample_and_its_limit() -> None:
    play = Play().queue(row("12", "OUT_OF_MEMORY")).record(record("12", "OUT_OF_MEMORY")).later(3)
    play.accounting(replace(sacct_row("12", "OUT_OF_MEMORY"), usage=Usage(3 * 2**30, 4 * 2**30)))
    memory = next(field for field in play.job.outbox[0].message.fields if field.name == "Peak memory")
    assert memory.value == "3.0 GiB of 4.0 GiB when last sampled; the actual peak was higher"


def test_an_exit_code_from_sacct_alone_names_both_possible_codes() -> None:
    play = Play().queue(row("12", "RUNNING")).later(30).queue().record().later(3)
    play.accounting(sacct_row("12", "FAILED", 9))
    exit_code = next(field for field in play.job.outbox[0].message.fields if field.name == "Exit code")
    assert exit_code.value.startswith("9, or 137 ")


def test_an_array_causes_one_message_per_task_if_configured() -> None:
    play = Play(Policy(array_messages="each")).ends(("12_1", "FAILED", 1), ("12_2", "COMPLETED", 0))
    assert sorted(entry.message.route for entry in play.job.outbox) == [Route.ERROR, Route.SUCCESS]


def test_the_digest_shows_a_failed_task_rather_than_one_of_many_cancelled_tasks() -> None:
    cancelled = [(f"12_{index}", "CANCELLED", 0) for index in range(1, 70)]
    play = Play().ends(*cancelled, ("12_70", "FAILED", 3))
    assert play.job.tasks["70"].diagnosis is not None
    (entry,) = play.job.outbox
    assert entry.message.title.endswith(": 1 failed, 69 cancelled")
