from __future__ import annotations

import re
from dataclasses import replace

import pytest

from jobmon_core.domain.logs.diagnosis.exit_causes import (
    YOU,
    advice_without_slurm,
    implied_cause,
    stated_cause,
)
from jobmon_core.domain.logs.diagnosis.model import SlurmEvidence
from jobmon_core.domain.slurm.states import JobState
from tests.support.diagnosing import FAILED, GIB, PROGRESS, diagnosed


@pytest.mark.parametrize(
    ("state", "cause"),
    [
        (JobState.OUT_OF_MEMORY, "host_oom_kill"),
        (JobState.TIMEOUT, "slurm_timeout"),
        (JobState.CANCELLED, "slurm_cancelled"),
        (JobState.NODE_FAIL, "node_fail"),
        (JobState.BOOT_FAIL, "node_fail"),
        (JobState.PREEMPTED, "slurm_preempted"),
        (JobState.DEADLINE, "slurm_timeout.deadline"),
    ],
)
def test_a_definite_state_from_slurm_is_the_cause(state: JobState, cause: str) -> None:
    found = diagnosed(SlurmEvidence(state=state), "epoch 1")
    assert found.cause == cause
    assert found.advice


def test_a_cancellation_names_the_user_who_cancelled() -> None:
    found = diagnosed(SlurmEvidence(state=JobState.CANCELLED, canceller="ada"), "epoch 1")
    assert (found.cause, found.title) == ("slurm_cancelled", "Cancelled by ada")
    assert found.advice == "If you did not expect this, ask ada why."


def test_slurm_cancels_a_job_whose_dependency_can_never_be_satisfied() -> None:
    evidence = SlurmEvidence(state=JobState.CANCELLED, reason="DependencyNeverSatisfied")
    found = diagnosed(evidence, "")
    assert (found.cause, found.title) == (
        "slurm_cancelled",
        "Cancelled by Slurm: its dependency can never be satisfied",
    )
    assert "scancel" not in found.explanation
    assert diagnosed(replace(evidence, canceller="ada"), "").title == "Cancelled by ada"


def test_a_job_that_waited_for_a_failure_was_not_needed() -> None:
    evidence = SlurmEvidence(
        state=JobState.CANCELLED, reason="DependencyNeverSatisfied", dependency="afternotok:7_*(failed)"
    )
    cause = stated_cause(evidence)
    assert cause is not None
    assert "not needed" in cause.title
    assert cause.advice == ""


def test_nobody_is_asked_why_they_cancelled_their_own_job() -> None:
    found = diagnosed(SlurmEvidence(state=JobState.CANCELLED, canceller=YOU), "epoch 1")
    assert (found.cause, found.title, found.advice) == ("slurm_cancelled", "Cancelled by you", "")


def test_a_sampled_peak_far_below_the_request_is_not_shown() -> None:
    sampled = SlurmEvidence(state=JobState.OUT_OF_MEMORY, max_rss_bytes=2**20, requested_bytes=2**30)
    assert diagnosed(sampled, "epoch 1").explanation.endswith("It had requested 1.0 GiB.")


HUNG = SlurmEvidence(state=JobState.TIMEOUT, step_cpu_s=4, elapsed_s=7200, limit_s=7200, silent_s=3000)


def test_idle_steps_and_a_silent_log_are_a_probable_hang() -> None:
    found = diagnosed(HUNG)
    assert (found.cause, found.label) == ("slurm_timeout.hang", "slurm_timeout")
    assert "The limit was 2h. CPU time of its steps: 4s. It printed nothing" in found.explanation
    assert found.confidence == diagnosed(FAILED, "noise").confidence < diagnosed(PLAIN_LIMIT).confidence


PLAIN_LIMIT = replace(HUNG, step_cpu_s=None)


@pytest.mark.parametrize(
    "evidence",
    [
        PLAIN_LIMIT,  # sacct's CPU time of a killed batch step lacks its children
        replace(HUNG, step_cpu_s=0.003),  # that of a step too, if it runs a shell
        replace(HUNG, step_cpu_s=7000),
        replace(HUNG, silent_s=None),
        replace(HUNG, silent_s=700),  # it printed something in the last tenth of its run
        replace(HUNG, elapsed_s=50, silent_s=50, step_cpu_s=1),
    ],
)
def test_one_sign_alone_is_no_hang(evidence: SlurmEvidence) -> None:
    assert diagnosed(evidence).cause == "slurm_timeout"


def test_out_of_memory_shows_the_peak_and_the_requested_memory() -> None:
    evidence = SlurmEvidence(state=JobState.OUT_OF_MEMORY, max_rss_bytes=31 * GIB, requested_bytes=32 * GIB)
    assert "requested 32.0 GiB, and used 31.0 GiB when" in diagnosed(evidence).explanation


def test_a_node_failure_names_the_nodes() -> None:
    assert "n[1-2]" in diagnosed(SlurmEvidence(state=JobState.NODE_FAIL, nodes="n[1-2]")).explanation


def test_a_program_that_exits_with_128_and_53_did_start() -> None:
    assert implied_cause(SlurmEvidence(state=JobState.FAILED, exit_code=181)) is None


def test_a_missing_output_folder_is_the_cause_of_signal_53() -> None:
    found = diagnosed(SlurmEvidence(state=JobState.FAILED, exit_code=0, signal=53))
    assert found.cause == "file_not_found.output_folder"
    assert "mkdir" in found.advice


@pytest.mark.parametrize(
    ("code", "signal", "cause"),
    [
        (126, 0, "permission_denied"),
        (127, 0, "module_env"),
        (132, 0, "segfault.illegal_instruction"),
        (134, 0, "segfault.aborted"),
        (0, 6, "segfault.aborted"),
        (0, 7, "bus_error_shm"),
        (0, 8, "segfault.arithmetic"),
        (0, 9, "host_oom_kill.killed"),
        (137, 0, "host_oom_kill.killed"),
        (139, 0, "segfault"),
        (0, 15, "slurm_cancelled.terminated"),
        (143, None, "slurm_cancelled.terminated"),
        (0, 125, "host_oom_kill"),
    ],
)
def test_the_exit_status_implies_the_cause_if_the_log_shows_none(
    code: int, signal: int | None, cause: str
) -> None:
    silent = SlurmEvidence(state=JobState.FAILED, exit_code=code, signal=signal)
    assert diagnosed(silent, "epoch 1").cause == cause
    assert diagnosed(silent, "cuda_oom").cause == ("cuda_oom" if signal != 125 else "host_oom_kill")


def test_an_exit_code_that_the_last_lines_confirm_is_certain() -> None:
    missing = SlurmEvidence(state=JobState.FAILED, exit_code=127)
    assert diagnosed(missing, "epoch 1", "module_env").confidence == 0.9
    assert diagnosed(missing, "module_env", *(f"epoch {number}" for number in range(9))).confidence == 0.5
    assert diagnosed(missing, "epoch 1").confidence == 0.5


def test_a_kill_near_the_memory_limit_is_out_of_memory() -> None:
    evidence = SlurmEvidence(
        state=JobState.FAILED, signal=9, max_rss_bytes=30 * GIB, requested_bytes=32 * GIB
    )
    assert diagnosed(evidence).cause == "host_oom_kill"


@pytest.mark.parametrize("log", [("noise",), ("python", *PROGRESS)])
def test_a_fatal_signal_outweighs_a_failure_that_programs_often_survive(log: tuple[str, ...]) -> None:
    assert diagnosed(SlurmEvidence(state=JobState.FAILED, exit_code=139), *log).cause == "segfault"
    assert diagnosed(SlurmEvidence(state=JobState.FAILED, exit_code=139), "python").cause == "python"


@pytest.mark.parametrize(
    "evidence",
    [
        *(SlurmEvidence(state, is_local=True) for state in (JobState.TIMEOUT, JobState.NODE_FAIL)),
        SlurmEvidence(JobState.CANCELLED, canceller="you", is_local=True),
        SlurmEvidence(JobState.CANCELLED, canceller="ada", is_local=True),
        SlurmEvidence(JobState.FAILED, signal=9, is_local=True),
        SlurmEvidence(JobState.FAILED, signal=15, is_local=True),
    ],
)
def test_the_cause_of_a_job_without_slurm_names_nothing_of_slurm(evidence: SlurmEvidence) -> None:
    cause = stated_cause(evidence) or implied_cause(evidence)
    assert cause is not None
    texts = f"{cause.title} {cause.explanation} {cause.advice}"
    assert not re.search("slurm|sacct|scancel|seff|SBATCH|sinfo|node", texts, re.IGNORECASE)


def test_advice_for_a_job_without_slurm_names_none_of_its_commands() -> None:
    advice = (
        "Request more memory (`#SBATCH --mem=64G`; `sacct -j JOBID` shows the peak), or use less (a batch)."
    )
    assert advice_without_slurm(advice) == "Request more memory, or use less (a batch)."


def test_a_code_from_which_sacct_may_have_subtracted_128_implies_no_cause() -> None:
    for code, other in ((127, "255"), (9, "137 (128 + 9: killed by SIGKILL)")):
        evidence = SlurmEvidence(state=JobState.FAILED, exit_code=code, exit_code_exact=False)
        assert implied_cause(evidence) is None
        found = diagnosed(evidence)
        assert found.cause is None
        assert f"exit code {code}" in found.explanation
        assert f", or {other}: sacct does not distinguish them" in found.explanation
    exact = SlurmEvidence(state=JobState.FAILED, exit_code=127)
    assert implied_cause(exact) is not None
    killed = SlurmEvidence(state=JobState.FAILED, exit_code=0, signal=9, exit_code_exact=False)
    assert implied_cause(killed) is not None
