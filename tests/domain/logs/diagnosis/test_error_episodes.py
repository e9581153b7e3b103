from __future__ import annotations

import pytest

from jobmon_core.domain.logs.diagnosis.model import SlurmEvidence
from jobmon_core.domain.slurm.states import JobState
from tests.support.diagnosing import FAILED, PROGRESS, TRACEBACK, UNKNOWN, diagnosed


def test_a_recovered_failure_does_not_explain_a_time_limit() -> None:
    progress = [f"epoch {n}" for n in range(100)]
    assert diagnosed(SlurmEvidence(state=JobState.TIMEOUT), "python", *progress).cause == "slurm_timeout"


@pytest.mark.parametrize("log", [("epoch 1",), ("noticed",), ("python", *PROGRESS), ("python", "finished")])
def test_without_a_state_from_slurm_a_log_with_recovered_failures_is_clean(
    log: tuple[str, ...],
) -> None:
    found = diagnosed(UNKNOWN, *log)
    assert (found.cause, found.label, found.fingerprint) == (None, "clean", "")


def test_a_failure_that_a_wrapper_reports_at_the_end_is_the_cause() -> None:
    assert diagnosed(UNKNOWN, "python", *PROGRESS, "wrapper.launcher").cause == "python"


def test_a_log_with_only_a_wrapper_has_an_unknown_cause_and_is_not_clean() -> None:
    found = diagnosed(UNKNOWN, "wrapper.launcher")
    assert (found.cause, found.label) == (None, None)


def test_a_wrapper_long_before_the_end_leaves_the_log_clean() -> None:
    assert diagnosed(UNKNOWN, "wrapper.launcher", *PROGRESS).label == "clean"
    assert diagnosed(UNKNOWN, "wrapper.launcher", "epoch 1").label is None


def test_a_recovered_failure_is_not_the_cause_of_a_later_one() -> None:
    found = diagnosed(FAILED, "cuda_oom", *PROGRESS, "python")
    assert (found.cause, found.symptoms) == ("python", ("cuda_oom",))


def test_an_exception_raised_in_the_handler_of_a_generic_one_is_the_cause() -> None:
    chain = ("During handling of the above exception, another exception occurred:", "")
    lookup = (*TRACEBACK[:-1], "python_exception_other")
    found = diagnosed(FAILED, *lookup, "", *chain, *TRACEBACK[:-1], "python_exception_other.variant")
    assert found.cause == "python_exception_other.variant"
    assert diagnosed(FAILED, *TRACEBACK, "", *chain, *TRACEBACK[:-1], "python.variant").cause == "python"


def test_the_first_of_two_directly_chained_exceptions_is_the_cause() -> None:
    chain = ("The above exception was the direct cause of the following exception:", "")
    found = diagnosed(FAILED, *TRACEBACK, "", *chain, *TRACEBACK[:-1], "python.variant")
    assert found.cause == "python"


UNCAUGHT = (*TRACEBACK[:-1], "cuda_oom")
RUNS = ("Job started on gpu07", "epoch 1")
MANY_STEPS = [f"epoch {n} loss {1 / n:.3f}" for n in range(1, 81)]


@pytest.mark.parametrize("state", [JobState.UNKNOWN, JobState.FAILED, JobState.CANCELLED, JobState.COMPLETED])
@pytest.mark.parametrize("later", [(*RUNS, "epoch 2"), MANY_STEPS], ids=["banner", "output"])
def test_the_crash_of_an_earlier_run_does_not_explain_a_later_one(
    state: JobState, later: tuple[str, ...]
) -> None:
    found = diagnosed(SlurmEvidence(state=state), *RUNS, *UNCAUGHT, *later)
    assert "cuda_oom" not in (found.cause, found.label)


def test_a_crash_still_counts_if_its_launcher_reports_it_or_other_ranks_print_on() -> None:
    assert diagnosed(FAILED, *RUNS, *UNCAUGHT, "wrapper.launcher", "cleaning up").cause == "cuda_oom"
    ranks = [f"[rank1]: epoch {n}" for n in range(100)]
    assert diagnosed(FAILED, *UNCAUGHT, *ranks).cause == "cuda_oom"


def test_after_the_report_of_the_launcher_a_new_run_may_follow() -> None:
    found = diagnosed(FAILED, *RUNS, *UNCAUGHT, "wrapper.launcher", *MANY_STEPS)
    assert found.cause is None


def test_a_failure_after_a_requeue_is_not_one_after_the_end() -> None:
    found = diagnosed(FAILED, *RUNS, "slurm_cancelled", *RUNS, *TRACEBACK)
    assert found.cause == "python"


def test_a_completed_job_whose_log_ends_in_a_crash_has_a_cause() -> None:
    completed = SlurmEvidence(state=JobState.COMPLETED, exit_code=0)
    found = diagnosed(completed, "epoch 1", *TRACEBACK, "leaving the script")
    assert found.cause == "python"
    assert found.explanation.endswith(" Slurm reports success all the same.")
    assert "set -euo pipefail" in found.advice


def test_slurm_is_not_named_as_the_source_about_a_job_that_it_never_saw() -> None:
    completed = SlurmEvidence(state=JobState.COMPLETED, exit_code=0, is_local=True)
    found = diagnosed(completed, "epoch 1", *TRACEBACK, "leaving the script")
    assert found.explanation.endswith(" Its exit code was 0 all the same.")
    failed = diagnosed(SlurmEvidence(state=JobState.FAILED, exit_code=3, is_local=True), "epoch 1")
    assert "Slurm" not in f"{failed.title} {failed.explanation} {failed.note}"


@pytest.mark.parametrize(
    "log",
    [
        ("python", "epoch 2"),  # printed by a program that caught it
        (*TRACEBACK, *[f"epoch {n}" for n in range(10)]),
        (*TRACEBACK, "finished"),
        ("Exception ignored in: <generator>", *TRACEBACK),
    ],
)
def test_a_failure_that_the_program_survived_leaves_a_completed_job_completed(log: tuple[str, ...]) -> None:
    assert diagnosed(SlurmEvidence(state=JobState.COMPLETED, exit_code=0), *log).cause is None


def test_the_last_run_of_a_program_that_failed_twice_shows_the_cause() -> None:
    assert diagnosed(FAILED, *TRACEBACK[:-1], "cuda_oom", *TRACEBACK).cause == "python"


def test_processes_that_fail_at_the_same_time_are_not_consecutive_runs() -> None:
    found = diagnosed(FAILED, *TRACEBACK[:-1], "cuda_oom", *TRACEBACK, "wrapper.launcher")
    assert found.cause == "cuda_oom"


def test_another_program_that_fails_later_does_not_hide_the_first_failure() -> None:
    other = [line.replace("/home/u/train.py", "/home/u/score.py") for line in TRACEBACK]
    assert diagnosed(FAILED, *TRACEBACK[:-1], "cuda_oom", *other).cause == "cuda_oom"


@pytest.mark.parametrize("state", [JobState.UNKNOWN, JobState.CANCELLED])
def test_failures_after_slurm_ended_the_job_are_consequences(state: JobState) -> None:
    found = diagnosed(SlurmEvidence(state=state), "slurm_cancelled", "python", "killed", "cuda_oom")
    assert found.label == "slurm_cancelled"


def test_a_kernel_message_counts_even_after_slurm_ended_the_job() -> None:
    assert diagnosed(UNKNOWN, "slurm_cancelled", "host_oom_kill").cause == "host_oom_kill"


@pytest.mark.parametrize("end", [TRACEBACK, ("killed",)])
@pytest.mark.parametrize("after", [("finished",), (*PROGRESS, "noise"), (*PROGRESS, "nccl_timeout")])
def test_a_failure_that_ended_a_process_is_never_recovered_from(
    end: tuple[str, ...], after: tuple[str, ...]
) -> None:
    assert diagnosed(UNKNOWN, *end, *after).cause == end[-1]


def test_output_of_other_ranks_is_not_a_recovery_of_the_failed_rank() -> None:
    others = [f"[rank1]: step {n}" for n in range(100)]
    assert diagnosed(FAILED, "[rank3]: python", *others, "[rank1]: nccl_timeout").cause == "python"


def test_the_first_process_that_ended_is_the_cause() -> None:
    found = diagnosed(
        FAILED, *TRACEBACK, *(line.replace("train.py", "score.py") for line in TRACEBACK[:-1]), "cuda_oom"
    )
    assert found.cause == "python"


def test_a_log_that_ends_within_a_traceback_is_not_clean() -> None:
    assert diagnosed(UNKNOWN, "epoch 1", *TRACEBACK[:-1]).label is None


@pytest.mark.parametrize(
    "above",
    [
        "Exception ignored in: <function F.__del__>",
        "Error in atexit._run_exitfuncs:",
        "--- Logging error ---",
    ],
)
def test_an_exception_that_python_ignored_is_not_the_cause(above: str) -> None:
    assert diagnosed(FAILED, above, *TRACEBACK).cause is None


def test_an_exception_of_a_file_that_python_ignored_at_its_start_is_not_the_cause() -> None:
    ignored = ("Error processing line 1 of /env/a.pth:", "", *(f"  {line}" for line in TRACEBACK), "")
    assert diagnosed(UNKNOWN, *ignored, "Remainder of file ignored").label == "clean"


def test_an_exception_that_hydra_reports_ended_its_application() -> None:
    hydra = ("Error executing job with overrides: ['a=1']", TRACEBACK[0], *TRACEBACK[3:])
    found = diagnosed(FAILED, *hydra, "wrapper.launcher", *TRACEBACK[:-1], "cuda_oom")
    assert found.cause == "python"


def test_many_successes_and_failures_are_analysed_in_linear_time() -> None:
    found = diagnosed(UNKNOWN, *["finished"] * 9000, *["python"] * 10_000)
    assert found.cause == "python"


PREPARED = "module_env.activation"


@pytest.mark.parametrize("after", [PROGRESS[:3], ("epoch 1", "finished")])
def test_a_log_whose_program_ran_although_its_preparation_failed_is_clean(after: tuple[str, ...]) -> None:
    assert diagnosed(UNKNOWN, PREPARED, *after).label == "clean"


def test_a_failed_preparation_after_which_little_was_printed_is_the_cause() -> None:
    assert diagnosed(UNKNOWN, PREPARED, *PROGRESS[:2]).cause == PREPARED


def test_a_failed_preparation_explains_a_later_failure() -> None:
    assert diagnosed(FAILED, PREPARED, *PROGRESS[:5], "wrapper.launcher").cause == PREPARED


def test_a_failed_preparation_explains_only_what_a_program_lacks() -> None:
    lines = PROGRESS[:6]
    assert diagnosed(FAILED, PREPARED, *lines, "nccl_timeout", "wrapper.launcher").cause == "nccl_timeout"
    assert diagnosed(FAILED, PREPARED, *lines, "import_error", "wrapper.launcher").cause == PREPARED


@pytest.mark.parametrize("complaint", [PREPARED, "module_env", "file_not_found.command"])
def test_a_job_that_lived_until_slurm_ended_it_did_not_end_by_its_preparation(complaint: str) -> None:
    assert diagnosed(UNKNOWN, complaint, "slurm_cancelled").cause == "slurm_cancelled"
    assert diagnosed(UNKNOWN, complaint, "python", "slurm_cancelled").cause == "python"


def test_a_failed_preparation_is_not_said_to_have_made_a_job_hang() -> None:
    assert diagnosed(SlurmEvidence(state=JobState.TIMEOUT), PREPARED).cause == "slurm_timeout"


def test_an_uncaught_exception_of_a_tool_that_prepares_the_job_does_not_end_it() -> None:
    removed = "python_exception_other.removed_platform"
    assert diagnosed(UNKNOWN, *TRACEBACK[:-1], removed, *PROGRESS[:3]).label == "clean"
    assert diagnosed(UNKNOWN, *TRACEBACK[:-1], removed).cause == removed


@pytest.mark.parametrize("module", ["/usr/lib/python3.10/os.py", "<frozen os>"])
def test_a_key_that_os_environ_does_not_have_is_an_unset_variable(module: str) -> None:
    frame = f'  File "{module}", line 679, in __getitem__'
    key_error = "KeyError: 'DATA' python_exception_other.key_error"
    lookup = (*TRACEBACK[:6], frame, "    raise KeyError(key) from None", key_error)
    found = diagnosed(FAILED, *lookup)
    assert (found.cause, found.evidence[-1].text) == ("config_error.unset_variable", key_error)
    assert diagnosed(FAILED, *TRACEBACK[:-1], key_error).cause == "python_exception_other.key_error"


def test_code_is_recognised_below_the_lines_of_another_rank() -> None:
    code = "    import cuda_oom"
    ranks = (*TRACEBACK[:2], TRACEBACK[1], code, "python", code, "python")
    assert diagnosed(FAILED, *ranks).cause == "python"


CONNECTION = (
    '  File "/usr/lib/python3.11/multiprocessing/connection.py", line 388, in _recv',
    "    chunk = read(handle)",
)


def test_a_lost_connection_to_a_process_that_ended_is_not_the_cause() -> None:
    lost = (*TRACEBACK[:-1], *CONNECTION, "python_exception_other")
    assert diagnosed(FAILED, *lost, "nccl_timeout", *TRACEBACK).cause == "python"
    assert diagnosed(FAILED, *lost).cause == "python_exception_other"
    raised = (*TRACEBACK[:-1], "python_exception_other")
    assert diagnosed(FAILED, *raised, "nccl_timeout", *TRACEBACK).cause == "python_exception_other"


def test_failed_communication_shows_that_several_processes_wrote_the_log() -> None:
    """Otherwise the second of two tracebacks of the same program would be that of a later run."""
    assert diagnosed(UNKNOWN, *TRACEBACK, *TRACEBACK[:-1], "cuda_oom").cause == "cuda_oom"
    assert diagnosed(UNKNOWN, *TRACEBACK, *TRACEBACK[:-1], "cuda_oom", "nccl_timeout").cause == "python"


SYNTAX = "config_error.shell_syntax"


@pytest.mark.parametrize("complaint", [PREPARED, "module_env", "file_not_found.command"])
def test_a_failed_command_that_the_script_survived_is_not_what_a_syntax_error_did(complaint: str) -> None:
    assert diagnosed(FAILED, complaint, "training", SYNTAX).cause == SYNTAX
    assert diagnosed(FAILED, SYNTAX, complaint).cause in (SYNTAX, PREPARED)


def test_a_syntax_error_that_the_job_survived_leaves_an_earlier_failure_the_cause() -> None:
    after = [f"step {n}" for n in range(6)]
    assert diagnosed(FAILED, PREPARED, SYNTAX, *after).cause == PREPARED


def test_a_syntax_error_does_not_hide_the_failure_of_a_program() -> None:
    assert diagnosed(FAILED, "python", SYNTAX).cause == "python"


LOST = (*TRACEBACK[:-1], "network_error")


def test_a_connection_lost_after_another_process_died_is_not_of_a_later_run() -> None:
    died = (*TRACEBACK[:-1], "cuda_oom")
    assert diagnosed(FAILED, *died, *LOST, *LOST).cause == "cuda_oom"
    assert diagnosed(UNKNOWN, *died, *LOST).cause == "cuda_oom"


def test_a_connection_lost_after_a_new_start_is_the_cause() -> None:
    first = ("Job id 41", "epoch 1", *TRACEBACK[:-1], "cuda_oom")
    assert diagnosed(FAILED, *first, "Job id 42", "epoch 1", *LOST).cause == "network_error"


@pytest.mark.parametrize("warning", ["WARNING cuda_oom", "[WARN] cuda_oom", "warning: cuda_oom"])
def test_a_warning_is_not_the_cause_of_a_later_uncaught_exception(warning: str) -> None:
    found = diagnosed(FAILED, warning, *TRACEBACK)
    assert (found.cause, found.symptoms) == ("python", ("cuda_oom",))
    assert diagnosed(FAILED, warning).cause == "cuda_oom"
    assert diagnosed(FAILED, "cuda_oom", *TRACEBACK).cause == "cuda_oom"


def test_a_warning_about_a_certain_cause_counts() -> None:
    assert diagnosed(FAILED, "WARNING host_oom_kill", *TRACEBACK).cause == "host_oom_kill"
