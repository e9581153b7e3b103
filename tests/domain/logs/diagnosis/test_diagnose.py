from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.logs.diagnosis.model import SlurmEvidence
from jobmon_core.domain.slurm.states import JobState
from tests.support.diagnosing import FAILED, PATTERNS, PROGRESS, TRACEBACK, UNKNOWN, diagnosed


def test_the_highest_precedence_wins_at_any_position() -> None:
    found = diagnosed(FAILED, "nccl_timeout", "python", "cuda_oom")
    assert found.cause == "cuda_oom"
    assert found.symptoms == ("nccl_timeout", "python")


def test_the_earliest_of_equal_precedence_wins() -> None:
    assert diagnosed(FAILED, "x", "python first", "python.variant").evidence[-1].text == "python first"


def test_a_collective_timeout_is_the_cause_only_if_nothing_else_failed() -> None:
    assert diagnosed(FAILED, "nccl_timeout").cause == "nccl_timeout"
    assert diagnosed(FAILED, "python", "nccl_timeout").cause == "python"


def test_a_wrapper_is_never_the_cause() -> None:
    found = diagnosed(FAILED, "wrapper.launcher")
    assert found.cause is None
    assert found.symptoms == ("wrapper.launcher",)


def test_a_line_counts_for_the_first_pattern_that_matches_it() -> None:
    assert diagnosed(FAILED, "wrapper.launcher python").cause is None


def test_a_variant_has_its_own_id_and_the_label_before_the_dot() -> None:
    found = diagnosed(FAILED, "python.variant")
    assert (found.cause, found.label) == ("python.variant", "python")


def test_a_python_error_beats_a_later_time_limit_message() -> None:
    found = diagnosed(FAILED, "python", "slurm_timeout")
    assert found.cause == "python"
    assert found.symptoms == ("slurm_timeout",)


def test_a_completed_job_has_no_cause_and_lists_only_warnings() -> None:
    completed = SlurmEvidence(state=JobState.COMPLETED, exit_code=0)
    found = diagnosed(completed, "python", "noticed", "wrapper.launcher", "accuracy 0.9")
    assert (found.cause, found.symptoms, found.evidence) == (None, ("noticed",), ())


def test_of_an_unknown_end_the_last_lines_of_the_log_may_report_success() -> None:
    early = ("finished", *(f"epoch {number}" for number in range(60)))
    assert diagnosed(UNKNOWN, "epoch 1", "finished").explanation == (
        "The log shows no failure, and its last lines report success."
    )
    assert diagnosed(UNKNOWN, *early).explanation == "The log shows no failure."


def test_a_completed_job_with_a_nonzero_exit_code_has_failed() -> None:
    evidence = SlurmEvidence(state=JobState.COMPLETED, exit_code=3)
    assert diagnosed(evidence, "python").cause == "python"
    assert "COMPLETED, exit code 3" in diagnosed(evidence, "epoch 1").explanation


@pytest.mark.parametrize("state", [JobState.OUT_OF_MEMORY, JobState.NODE_FAIL, JobState.PREEMPTED])
def test_no_failure_in_the_log_explains_an_end_by_the_system(state: JobState) -> None:
    assert diagnosed(SlurmEvidence(state=state), "python").cause != "python"


@pytest.mark.parametrize("state", [JobState.TIMEOUT, JobState.CANCELLED])
def test_an_earlier_failure_explains_why_a_job_hung(state: JobState) -> None:
    found = diagnosed(SlurmEvidence(state=state), "python", "  indented", "slurm_timeout")
    assert found.cause == "python"
    assert "The job" in found.explanation


def test_noise_does_not_explain_a_time_limit() -> None:
    assert diagnosed(SlurmEvidence(state=JobState.TIMEOUT), "noise").cause == "slurm_timeout"


def test_an_unknown_cause_shows_the_last_lines() -> None:
    found = diagnosed(FAILED, *(f"line {n}" for n in range(20)), "", "the end")
    assert found.cause is None
    assert "exit code 1, and nothing in the log explains it" in found.explanation
    assert found.evidence[-1].text == "the end"
    assert found.log_path == "job.err"


def test_without_a_log_the_explanation_does_not_mention_lines() -> None:
    found = diagnosed(FAILED)
    assert "there is no log" in found.explanation
    assert found.evidence == ()


def test_in_a_failed_job_a_recovered_failure_is_the_cause_with_lower_confidence() -> None:
    sure, doubtful = diagnosed(FAILED, "python"), diagnosed(FAILED, "python", *PROGRESS)
    assert (sure.cause, doubtful.cause) == ("python", "python")
    assert doubtful.confidence < sure.confidence


def test_a_frequent_consequence_has_lower_confidence_than_an_own_failure() -> None:
    assert diagnosed(FAILED, "noise").confidence < diagnosed(FAILED, "python").confidence


def test_the_fingerprint_is_equal_across_ranks_and_differs_between_failures() -> None:
    first, second = diagnosed(FAILED, "[rank0]: python 7"), diagnosed(FAILED, "[rank5]: python 8")
    assert first.fingerprint == second.fingerprint
    assert first.fingerprint != diagnosed(FAILED, "cuda_oom 7").fingerprint


@given(
    st.builds(
        SlurmEvidence,
        state=st.sampled_from(JobState),
        exit_code=st.none() | st.integers(0, 255),
        signal=st.none() | st.integers(0, 255),
        step_cpu_s=st.none() | st.floats(0, 1e9),
        elapsed_s=st.none() | st.floats(0, 1e9),
        limit_s=st.none() | st.floats(0, 1e9),
        max_rss_bytes=st.none() | st.integers(0, 2**50),
        requested_bytes=st.none() | st.integers(0, 2**50),
    ),
    st.lists(st.sampled_from([*PATTERNS, *TRACEBACK, ""])),
)
def test_every_end_gets_a_title_and_an_explanation(evidence: SlurmEvidence, log: list[str]) -> None:
    found = diagnosed(evidence, *log)
    assert found.title
    assert found.explanation
    assert found.label != "wrapper"
    assert 0 <= found.confidence <= 1
    assert bool(found.fingerprint) == bool(found.cause)


def test_a_command_without_a_script_gets_no_advice_about_its_script() -> None:
    with_script, without = (
        diagnosed(SlurmEvidence(state=JobState.FAILED, exit_code=5, has_script=has_script))
        for has_script in (True, False)
    )
    assert "#SBATCH" in with_script.advice
    assert "script" not in without.advice
    assert "srun --output" in without.advice
