"""The final message about a job or an array."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.delivery.outbox import Field, Message
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.logs.diagnosis.model import INCOMPLETE, Cost, Diagnosis, Line, MeasuredUse
from jobmon_core.domain.messages.job_ended import job_ended_messages
from jobmon_core.domain.slurm.rows import Usage
from tests.support.play import Play, record, row, sacct_row


def test_a_job_cancelled_before_its_start_never_started() -> None:
    play = Play().queue(replace(row("12", "PENDING"), nodes="")).later(30)
    play.queue(replace(row("12", "CANCELLED"), nodes="")).record(record("12", "CANCELLED")).later(3)
    play.accounting(replace(sacct_row("12", "CANCELLED by 0"), start_s=1_000_009, end_s=1_000_009))
    assert (play.end().started_s, play.end().elapsed_s) == (None, None)
    assert play.job.outbox[0].message.summary == "It never started."


def test_the_state_of_a_cancelled_job_names_no_uid() -> None:
    held = replace(record("12", "CANCELLED"), reason="JobHeldUser")
    play = Play().queue(row("12", "PENDING")).later(30).queue(row("12", "CANCELLED")).record(held).later(3)
    play.accounting(sacct_row("12", "CANCELLED by 0"))
    assert ("State", "CANCELLED (JobHeldUser)") in [
        (field.name, field.value) for field in play.job.outbox[0].message.fields
    ]


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
    assert entry.message.summary == (
        "• FAILED, exit code 2: 2 tasks (2-3)\n3 tasks in total. Details: jobmon show 12"
    )


def test_a_message_says_how_long_the_job_waited_and_was_held_if_that_is_worth_a_word() -> None:
    def waited(*eligible_and_start_s: int) -> list[str]:
        eligible_s, start_s = (1_000_000 + each for each in eligible_and_start_s)
        ended_row = replace(sacct_row("12", "COMPLETED"), eligible_s=eligible_s, start_s=start_s)
        play = Play().queue(row("12", "COMPLETED")).record(record("12", "COMPLETED")).later(3)
        play.accounting(replace(ended_row, end_s=start_s + 60))
        return [field.value for field in play.job.outbox[0].message.fields if field.name == "Waited"]

    assert waited(0, 7800) == ["2h 10m"]
    assert waited(5400, 7800) == ["2h 10m (1h 30m held)"]
    assert waited(0, 59) == []


def test_a_signal_is_not_called_an_exit_code() -> None:
    play = Play().queue(row("12", "FAILED")).record(replace(record("12", "FAILED"), signal=15)).later(3)
    play.accounting(replace(sacct_row("12", "FAILED"), signal=15))
    fields = {field.name: field.value for field in play.job.outbox[0].message.fields}
    assert fields["Signal"] == "15 (SIGTERM: terminated)"
    assert "Exit code" not in fields
    play = Play().queue(row("12", "CANCELLED")).record(replace(record("12", "CANCELLED"), signal=15)).later(3)
    play.accounting(replace(sacct_row("12", "CANCELLED"), signal=15))
    assert not {"Signal", "Exit code"} & {field.name for field in play.job.outbox[0].message.fields}


def test_a_job_that_ran_out_of_memory_shows_its_last_sample_and_its_limit() -> None:
    play = Play().queue(row("12", "OUT_OF_MEMORY")).record(record("12", "OUT_OF_MEMORY")).later(3)
    play.accounting(replace(sacct_row("12", "OUT_OF_MEMORY"), usage=Usage(3 * 2**30, 4 * 2**30)))
    memory = next(field for field in play.job.outbox[0].message.fields if field.name == "Peak RAM")
    assert memory.value == "over 4.0 GiB (3.0 GiB when last sampled)"


_MIB = 2**20


@pytest.mark.parametrize(
    ("sampled", "measured", "cause", "shown"),
    [
        (18, 28, None, "28.0 MiB of 60.0 MiB"),
        (28, 18, None, "28.0 MiB of 60.0 MiB"),
        (None, 28, None, "28.0 MiB of 60.0 MiB"),
        (3, None, "host_oom_kill", "over 60.0 MiB (3.0 MiB when last sampled)"),
        (3, 28, "host_oom_kill", "over 60.0 MiB (28.0 MiB when last sampled)"),
        (3, None, "host_oom_kill.killed", "3.0 MiB of 60.0 MiB"),
    ],
)
def test_the_peak_of_the_memory_is_the_highest_that_any_source_measured(
    sampled: int | None, measured: int | None, cause: str | None, shown: str
) -> None:
    job = Play().ends(("12", "FAILED", 1)).job
    task = job.tasks[""]
    assert task.end
    usage = Usage(sampled and sampled * _MIB, 60 * _MIB)
    use = MeasuredUse(node_peak_bytes=measured * _MIB) if measured else None
    found = Diagnosis(cause, "Out of memory", "", "", is_proved=True, measured=use)
    task = replace(task, end=replace(task.end, usage=usage), diagnosis=None).diagnosed(found)
    (message,) = job_ended_messages(replace(job, tasks={"": task}), 0, per_task=False)
    assert next(field.value for field in message.fields if field.name == "Peak RAM") == shown
    efficiency = next((field.value for field in message.fields if field.name == "Efficiency"), "")
    assert cause != "host_oom_kill" or "memory over 60.0 MiB" in efficiency or not efficiency


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


def ended(state: str, diagnosis: Diagnosis, exit_code: int = 0) -> Message:
    """Return the message about a job that ran for a minute and has this diagnosis."""
    job = Play().ends(("12", state, exit_code)).job
    task = replace(job.tasks[""], diagnosis=diagnosis)
    (message,) = job_ended_messages(replace(job, tasks={"": task}), 0, per_task=False)
    return message


_KEY_ERROR = Diagnosis(
    "python_exception_other.key_error",
    "A key is missing",
    "The program looked up a key that does not exist.",
    "Print the keys.",
    (Line("/w/train.err", 7, "KeyError: 'model_config'"),),
    log_path="/w/train.err",
    is_proved=True,
    what_failed="KeyError: 'model_config'",
)


def test_the_title_has_the_run_time_and_the_words_of_the_log_and_the_cause_their_class() -> None:
    message = ended("FAILED", _KEY_ERROR, 1)
    assert message.title == "train (12) failed after 1m: KeyError: 'model_config'"
    assert message.headline == "KeyError: 'model_config'"
    assert message.cause == "A key is missing. The program looked up a key that does not exist."


def test_without_words_of_the_log_the_class_is_the_title_and_not_repeated() -> None:
    message = ended("FAILED", replace(_KEY_ERROR, what_failed=""), 1)
    assert message.title.endswith(": A key is missing")
    assert message.cause.startswith("The program looked up")


def test_no_field_repeats_the_title_or_the_exit_code() -> None:
    assert [field.name for field in ended("FAILED", _KEY_ERROR, 1).fields] == [
        "Exit code", "Wall time", "Where", "Ended",
    ]  # fmt: skip


def test_what_else_the_log_shows_is_one_line() -> None:
    others = tuple(f"Problem {number}" for number in range(1, 6))
    assert ended("FAILED", replace(_KEY_ERROR, also_seen=others[:2]), 1).also_seen == "Problem 1; Problem 2"
    assert ended("FAILED", replace(_KEY_ERROR, also_seen=others), 1).also_seen.endswith("3; and 2 more")


def test_a_success_shows_the_result_and_the_log_and_no_cause() -> None:
    line = Line("/w/train.out", 30, "epoch 30 loss 0.02")
    completed = Diagnosis(None, "Completed", "The job completed.", "", (line,), log_path="/w/train.out")
    message = ended("COMPLETED", completed)
    assert message.title == "train (12) completed in 1m"
    assert (message.evidence, message.log_path) == (("epoch 30 loss 0.02",), "/w/train.out")
    assert (message.headline, message.cause, message.advice) == ("", "", "")
    assert [field.name for field in message.fields] == ["Wall time", "Where", "Ended"]


def test_a_group_of_an_array_is_named_by_the_log_if_all_its_tasks_say_the_same() -> None:
    job = Play().ends(*((f"12_{index}", "FAILED", 1) for index in range(1, 91))).job

    def digest(*facts: str) -> str:
        tasks = {
            key: replace(task, diagnosis=replace(_KEY_ERROR, what_failed=facts[int(key) % len(facts)]))
            for key, task in job.tasks.items()
            if int(key) % 2
        }
        (message,) = job_ended_messages(replace(job, tasks=tasks), 0, per_task=False)
        return message.summary

    assert digest("KeyError: 'a'").startswith("• KeyError: 'a': 45 tasks (1,3,5,")
    assert ",…)\n45 tasks in total. Details: jobmon show 12" in digest("KeyError: 'a'")
    assert digest("KeyError: 'a'", "?", "KeyError: 'b'").startswith("• A key is missing: 45 tasks")


def test_a_success_whose_log_ends_in_a_failure_says_so_first_and_is_amber() -> None:
    message = ended("COMPLETED", _KEY_ERROR)
    assert message.title == (
        "train (12) completed in 1m with exit code 0, but its log ends in KeyError: 'model_config'"
    )
    assert (message.route, message.tone) == (Route.SUCCESS, Tone.ATTENTION)
    assert message.cause.startswith("A key is missing.")
    assert message.advice == "Print the keys."


def test_an_array_that_completed_shows_the_tasks_whose_logs_end_in_a_failure() -> None:
    job = Play().ends(*((f"12_{index}", "COMPLETED", 0) for index in range(1, 4))).job
    task = replace(job.tasks["2"], diagnosis=_KEY_ERROR)
    (message,) = job_ended_messages(replace(job, tasks={**job.tasks, "2": task}), 0, per_task=False)
    assert message.title == "train (12): 3 completed, 1 of the completed ones doubtful"
    assert message.summary.startswith(
        "• KeyError: 'model_config', but exit code 0: 1 task (2)\n3 tasks in total"
    )
    assert (message.route, message.tone) == (Route.SUCCESS, Tone.ATTENTION)
    assert message.cause.startswith("12_2: A key is missing.")


def test_a_success_whose_log_ends_in_a_failure_goes_to_the_configured_route() -> None:
    job = Play().ends(("12", "COMPLETED", 0)).job
    doubtful = replace(job, tasks={"": replace(job.tasks[""], diagnosis=_KEY_ERROR)})
    for each, route in ((doubtful, Route.ERROR), (job, Route.SUCCESS)):
        (message,) = job_ended_messages(each, 0, per_task=False, doubtful_route=Route.ERROR)
        assert message.route is route


def test_a_message_says_how_far_the_job_came() -> None:
    reached = replace(_KEY_ERROR, work="reached step 4,200 of 10,000 (42%)")
    done = Diagnosis(None, "Completed", "", "", work="100,000 items, 245.8 items/s on average")
    for message, text in (
        (ended("FAILED", reached, 1), "Reached step 4,200 of 10,000 (42%)"),
        (ended("COMPLETED", done), "100,000 items, 245.8 items/s on average"),
    ):
        assert [field.value for field in message.fields if field.name == "Work"] == [text]


def test_a_message_about_a_run_whose_course_is_known_names_the_command_that_draws_it() -> None:
    known, unknown = ended("FAILED", replace(_KEY_ERROR, has_course=True), 1), ended("FAILED", _KEY_ERROR, 1)
    assert Field("Report", "jobmon report 12 --html report.html") in known.fields
    assert "Report" not in [field.name for field in unknown.fields]


def test_a_success_that_is_not_complete_is_amber_and_says_what_is_missing() -> None:
    found = Diagnosis(
        INCOMPLETE, "Incomplete", "Why.", "Check.", what_failed="Processed only 67,300 of 100,000 items"
    )
    message = ended("COMPLETED", found)
    assert message.title == (
        "train (12) completed in 1m with exit code 0, but processed only 67,300 of 100,000 items"
    )
    assert (message.route, message.tone) == (Route.SUCCESS, Tone.ATTENTION)


def test_a_long_run_says_what_it_used_and_what_would_have_been_enough() -> None:
    usage = Usage(3 * 2**30, 32 * 2**30, cpu_s=7000.0, cpus=4, run_s=7200, nodes=1, gpus=2)
    ended = replace(sacct_row("12", "COMPLETED"), usage=usage)
    play = Play().queue(row("12", "COMPLETED")).record(record("12", "COMPLETED")).later(3).accounting(ended)
    fields = {field.name: field.value for field in play.job.outbox[0].message.fields}
    assert fields["Efficiency"] == (
        "CPU 24% of 4, 4.0 GPU hours; `--mem 4G` and 2 CPUs of 4 would have been enough"
    )
    short = replace(ended, usage=replace(usage, run_s=60))
    play = Play().queue(row("12", "COMPLETED")).record(record("12", "COMPLETED")).later(3).accounting(short)
    assert "Efficiency" not in {field.name for field in play.job.outbox[0].message.fields}


def test_the_cost_is_one_field_and_that_of_an_array_the_sum() -> None:
    message = ended("FAILED", replace(_KEY_ERROR, cost=Cost(1234.5, "EUR")), 1)
    assert [field.value for field in message.fields if field.name == "Cost"] == ["1,234.50 EUR"]
    assert "Cost" not in [field.name for field in ended("FAILED", _KEY_ERROR, 1).fields]
    job = Play().queue(row("12_1", "RUNNING"), row("12_2", "RUNNING")).later(30)
    job.ends(("12_1", "COMPLETED", 0), ("12_2", "FAILED", 2))

    def costs(*of_tasks: Cost | None) -> list[str]:
        tasks = {
            key: replace(task, diagnosis=replace(_KEY_ERROR, cost=cost))
            for (key, task), cost in zip(job.job.tasks.items(), of_tasks, strict=True)
        }
        (message,) = job_ended_messages(replace(job.job, tasks=tasks), 0, per_task=False)
        return [field.value for field in message.fields if field.name == "Cost"]

    assert costs(Cost(1.0, "EUR"), Cost(2.0, "EUR")) == ["3.00 EUR"]
    assert costs(Cost(1.0, "EUR"), Cost(2.0, "USD")) == costs(Cost(1.0, "EUR"), None) == []
