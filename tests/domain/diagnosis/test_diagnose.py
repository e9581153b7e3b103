from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.diagnosis.diagnose import diagnose
from jobmon_core.domain.diagnosis.error_episodes import LogAnalysis
from jobmon_core.domain.diagnosis.log_lines import Line, LogExcerpt, LogLines
from jobmon_core.domain.diagnosis.model import Diagnosis, SlurmEvidence
from jobmon_core.domain.diagnosis.patterns import Match, Pattern, Role, Severity
from jobmon_core.domain.slurm.states import JobState

FAILED = SlurmEvidence(state=JobState.FAILED, exit_code=1)
GIB = 1024**3


def rule(
    name: str, precedence: int = 50, role: Role = Role.ROOT, severity: Severity = Severity.ERROR
) -> Pattern:
    return Pattern(
        name, f"title of {name}", severity, role, (name,), f"Cause of {name}.", "Do this.", precedence, (), ()
    )


RULES = {
    "wrapper.launcher": rule("wrapper.launcher", 0, Role.SYMPTOM),
    "noticed": rule("noticed", 0, Role.CONTEXT, Severity.WARNING),
    "cuda_oom": rule("cuda_oom", 78),
    "python": rule("python", 44),
    "segfault": rule("segfault", 45),
    "python.variant": rule("python.variant", 44),
    "python_exception_other": rule("python_exception_other", 44),
    "python_exception_other.variant": rule("python_exception_other.variant", 44),
    "nccl_timeout": rule("nccl_timeout", 20),
    "slurm_timeout": rule("slurm_timeout", 12),
    "noise": rule("noise", 15),
    "finished": rule("finished", 0, Role.SUCCESS, Severity.WARNING),
}


def judge(evidence: SlurmEvidence, *texts: str) -> Diagnosis:
    """Diagnose a log in which each line shows the failures that it names, separated by blanks."""
    found = [
        Match(RULES[word], position)
        for position, text in enumerate(texts)
        for word in text.split()
        if word in RULES
    ]
    return diagnose(evidence, LogAnalysis(found, LogLines([LogExcerpt("job.err", texts)])))


def test_the_highest_precedence_wins_wherever_it_stands() -> None:
    found = judge(FAILED, "nccl_timeout", "python", "cuda_oom")
    assert found.cause == "cuda_oom"
    assert found.symptoms == ("nccl_timeout", "python")


def test_of_equal_precedence_the_earliest_wins() -> None:
    assert judge(FAILED, "x", "python first", "python.variant").evidence[-1].text == "python first"


def test_a_collective_timeout_is_the_cause_only_where_nothing_else_failed() -> None:
    assert judge(FAILED, "nccl_timeout").cause == "nccl_timeout"
    assert judge(FAILED, "python", "nccl_timeout").cause == "python"


def test_a_wrapper_is_never_the_cause() -> None:
    found = judge(FAILED, "wrapper.launcher")
    assert found.cause is None
    assert found.symptoms == ("wrapper.launcher",)


def test_a_line_belongs_to_the_first_rule_that_matches_it() -> None:
    assert judge(FAILED, "wrapper.launcher python").cause is None


def test_a_variant_is_named_by_its_own_id_and_counts_to_its_label() -> None:
    found = judge(FAILED, "python.variant")
    assert (found.cause, found.label) == ("python.variant", "python")


def test_a_python_error_beats_the_later_line_of_the_time_limit() -> None:
    found = judge(FAILED, "python", "slurm_timeout")
    assert found.cause == "python"
    assert found.symptoms == ("slurm_timeout",)


def test_a_job_that_completed_has_no_cause_and_lists_only_warnings() -> None:
    found = judge(
        SlurmEvidence(state=JobState.COMPLETED, exit_code=0), "python", "noticed", "wrapper.launcher"
    )
    assert (found.cause, found.symptoms, found.evidence) == (None, ("noticed",), ())


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
def test_slurms_plain_verdict_is_the_cause(state: JobState, cause: str) -> None:
    found = judge(SlurmEvidence(state=state), "epoch 1")
    assert found.cause == cause
    assert found.advice


def test_a_cancellation_names_who_did_it_where_that_is_known() -> None:
    found = judge(SlurmEvidence(state=JobState.CANCELLED, canceller="ada"), "epoch 1")
    assert (found.cause, found.title) == ("slurm_cancelled", "Cancelled by ada")
    assert "ada" in found.explanation


def test_a_peak_that_sampling_missed_is_not_held_against_the_request() -> None:
    sampled = SlurmEvidence(state=JobState.OUT_OF_MEMORY, max_rss_bytes=2**20, requested_bytes=2**30)
    assert judge(sampled, "epoch 1").explanation.endswith("It had requested 1.0 GiB.")


@pytest.mark.parametrize("state", [JobState.OUT_OF_MEMORY, JobState.NODE_FAIL, JobState.PREEMPTED])
def test_what_the_system_did_to_a_job_is_not_explained_by_its_log(state: JobState) -> None:
    assert judge(SlurmEvidence(state=state), "python").cause != "python"


@pytest.mark.parametrize("state", [JobState.TIMEOUT, JobState.CANCELLED])
def test_an_earlier_failure_explains_a_job_that_then_hung(state: JobState) -> None:
    found = judge(SlurmEvidence(state=state), "python", "  indented", "slurm_timeout")
    assert found.cause == "python"
    assert "The job" in found.explanation


def test_a_failure_that_the_job_survived_does_not_explain_its_time_limit() -> None:
    progress = [f"epoch {n}" for n in range(100)]
    assert judge(SlurmEvidence(state=JobState.TIMEOUT), "python", *progress).cause == "slurm_timeout"


def test_noise_does_not_explain_a_time_limit() -> None:
    assert judge(SlurmEvidence(state=JobState.TIMEOUT), "noise").cause == "slurm_timeout"


def test_a_time_limit_with_hardly_any_cpu_time_is_called_a_hang() -> None:
    hung = SlurmEvidence(state=JobState.TIMEOUT, cpu_s=4, elapsed_s=7200, limit_s=7200)
    worked = SlurmEvidence(state=JobState.TIMEOUT, cpu_s=7000, elapsed_s=7200, limit_s=7200)
    found = judge(hung)
    assert (found.cause, found.label) == ("slurm_timeout.hang", "slurm_timeout")
    assert "The limit was 02:00:00. CPU time used: 4 s." in found.explanation
    assert judge(worked).cause == "slurm_timeout"


def test_out_of_memory_tells_the_peak_and_the_request() -> None:
    evidence = SlurmEvidence(state=JobState.OUT_OF_MEMORY, max_rss_bytes=31 * GIB, requested_bytes=32 * GIB)
    assert "31.0 GiB of the requested 32.0 GiB" in judge(evidence).explanation


def test_a_node_failure_names_the_nodes() -> None:
    assert "n[1-2]" in judge(SlurmEvidence(state=JobState.NODE_FAIL, nodes="n[1-2]")).explanation


def test_a_launch_that_failed_for_want_of_the_output_folder_says_so() -> None:
    found = judge(SlurmEvidence(state=JobState.FAILED, exit_code=0, signal=53))
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
def test_an_exit_status_speaks_where_the_log_is_silent(code: int, signal: int | None, cause: str) -> None:
    silent = SlurmEvidence(state=JobState.FAILED, exit_code=code, signal=signal)
    assert judge(silent, "epoch 1").cause == cause
    assert judge(silent, "cuda_oom").cause == ("cuda_oom" if signal != 125 else "host_oom_kill")


def test_a_kill_near_the_memory_limit_is_an_out_of_memory_kill() -> None:
    evidence = SlurmEvidence(
        state=JobState.FAILED, signal=9, max_rss_bytes=30 * GIB, requested_bytes=32 * GIB
    )
    assert judge(evidence).cause == "host_oom_kill"


def test_where_nothing_is_certain_nothing_is_claimed_and_the_last_lines_are_shown() -> None:
    found = judge(FAILED, *(f"line {n}" for n in range(20)), "", "the end")
    assert found.cause is None
    assert "exit code 1 (general error), and nothing in the log explains it" in found.explanation
    assert found.evidence[-1].text == "the end"
    assert found.log_path == "job.err"


def test_without_any_log_the_explanation_does_not_promise_lines() -> None:
    found = judge(FAILED)
    assert "there is no log" in found.explanation
    assert found.evidence == ()


TRACEBACK = (
    "Traceback (most recent call last):",
    '  File "/home/u/train.py", line 12, in <module>',
    "    main()",
    '  File "/home/u/model.py", line 7, in main',
    "    x = layer(y)",
    "        ^^^^^^^^",
    '  File "/env/lib/python3.11/site-packages/torch/nn/modules/module.py", line 1553, in _call',
    "    return forward_call(*args)",
    "python",
)
PROGRESS = tuple(f"epoch {n}" for n in range(41))
UNKNOWN = SlurmEvidence()


@pytest.mark.parametrize("log", [("epoch 1",), ("noticed",), ("python", *PROGRESS), ("python", "finished")])
def test_a_log_whose_failures_were_survived_is_clean_where_only_the_log_can_tell(
    log: tuple[str, ...],
) -> None:
    found = judge(UNKNOWN, *log)
    assert (found.cause, found.label, found.fingerprint) == (None, "clean", "")


def test_a_failure_is_not_survived_where_a_wrapper_reports_it_at_the_end() -> None:
    assert judge(UNKNOWN, "python", *PROGRESS, "wrapper.launcher").cause == "python"


def test_a_wrapper_alone_leaves_the_cause_unknown_and_the_log_is_not_called_clean() -> None:
    found = judge(UNKNOWN, "wrapper.launcher")
    assert (found.cause, found.label) == (None, None)


def test_a_wrapper_that_reports_a_failure_long_before_the_end_leaves_the_log_clean() -> None:
    assert judge(UNKNOWN, "wrapper.launcher", *PROGRESS).label == "clean"
    assert judge(UNKNOWN, "wrapper.launcher", "epoch 1").label is None


def test_a_failure_after_which_the_program_went_on_is_not_the_cause_of_a_later_one() -> None:
    found = judge(FAILED, "cuda_oom", *PROGRESS, "python")
    assert (found.cause, found.symptoms) == ("python", ("cuda_oom",))


def test_where_slurm_says_that_the_job_failed_the_only_failure_in_its_log_is_the_cause_with_less_trust() -> (
    None
):
    sure, doubtful = judge(FAILED, "python"), judge(FAILED, "python", *PROGRESS)
    assert (sure.cause, doubtful.cause) == ("python", "python")
    assert doubtful.confidence < sure.confidence


def test_what_is_often_a_consequence_is_trusted_less_than_a_failure_of_its_own() -> None:
    assert judge(FAILED, "noise").confidence < judge(FAILED, "python").confidence


def test_the_fingerprint_is_the_same_on_another_rank_and_another_for_another_failure() -> None:
    first, second = judge(FAILED, "[rank0]: python 7"), judge(FAILED, "[rank5]: python 8")
    assert first.fingerprint == second.fingerprint
    assert first.fingerprint != judge(FAILED, "cuda_oom 7").fingerprint


def test_what_was_raised_while_a_mere_lookup_was_handled_is_the_cause() -> None:
    chain = ("During handling of the above exception, another exception occurred:", "")
    lookup = (*TRACEBACK[:-1], "python_exception_other")
    found = judge(FAILED, *lookup, "", *chain, *TRACEBACK[:-1], "python_exception_other.variant")
    assert found.cause == "python_exception_other.variant"
    assert judge(FAILED, *TRACEBACK, "", *chain, *TRACEBACK[:-1], "python.variant").cause == "python"


def test_of_an_exception_raised_from_another_the_first_is_the_cause() -> None:
    chain = ("The above exception was the direct cause of the following exception:", "")
    found = judge(FAILED, *TRACEBACK, "", *chain, *TRACEBACK[:-1], "python.variant")
    assert found.cause == "python"


def test_the_evidence_of_a_fatal_error_is_the_users_own_frame_of_its_dump() -> None:
    found = judge(
        FAILED,
        "Fatal Python error: segfault",
        "",
        "Current thread 0x00007f0000001740 (most recent call first):",
        '  File "/env/lib/python3.11/site-packages/fast/core.py", line 7 in read',
        '  File "/home/u/train.py", line 3 in <module>',
        "Extension modules: fast (total: 1)",
    )
    assert texts(found.evidence) == [
        'File "/home/u/train.py", line 3 in <module>',
        "Fatal Python error: segfault",
    ]


def test_a_program_that_failed_twice_in_a_row_is_judged_by_its_last_run() -> None:
    assert judge(FAILED, *TRACEBACK[:-1], "cuda_oom", *TRACEBACK).cause == "python"


def test_processes_that_fail_side_by_side_are_not_taken_for_runs_one_after_the_other() -> None:
    found = judge(FAILED, *TRACEBACK[:-1], "cuda_oom", *TRACEBACK, "wrapper.launcher")
    assert found.cause == "cuda_oom"


def test_another_program_that_fails_later_does_not_hide_the_first() -> None:
    other = [line.replace("/home/u/train.py", "/home/u/score.py") for line in TRACEBACK]
    assert judge(FAILED, *TRACEBACK[:-1], "cuda_oom", *other).cause == "cuda_oom"


def final(name: str, precedence: int = 50) -> Pattern:
    return replace(rule(name, precedence), is_final=True)


RULES |= {
    "slurm_cancelled": final("slurm_cancelled", 10),
    "host_oom_kill": final("host_oom_kill", 95),
    "killed": final("killed"),
}


@pytest.mark.parametrize("state", [JobState.UNKNOWN, JobState.CANCELLED])
def test_what_follows_the_schedulers_end_is_its_consequence(state: JobState) -> None:
    found = judge(SlurmEvidence(state=state), "slurm_cancelled", "python", "killed", "cuda_oom")
    assert found.label == "slurm_cancelled"


def test_the_kernels_word_counts_after_the_schedulers_end_too() -> None:
    assert judge(UNKNOWN, "slurm_cancelled", "host_oom_kill").cause == "host_oom_kill"


@pytest.mark.parametrize("end", [TRACEBACK, ("killed",)])
@pytest.mark.parametrize("after", [("finished",), (*PROGRESS, "noise"), (*PROGRESS, "nccl_timeout")])
def test_an_end_of_a_process_is_not_survived_whatever_is_printed_after_it(
    end: tuple[str, ...], after: tuple[str, ...]
) -> None:
    assert judge(UNKNOWN, *end, *after).cause == end[-1]


def test_what_other_ranks_print_is_no_progress_of_the_one_that_failed() -> None:
    others = [f"[rank1]: step {n}" for n in range(100)]
    assert judge(FAILED, "[rank3]: python", *others, "[rank1]: nccl_timeout").cause == "python"


def test_of_processes_that_end_one_after_the_other_the_first_is_the_cause() -> None:
    found = judge(
        FAILED, *TRACEBACK, *(line.replace("train.py", "score.py") for line in TRACEBACK[:-1]), "cuda_oom"
    )
    assert found.cause == "python"


def test_an_exception_is_known_by_its_traceback_whatever_its_name() -> None:
    found = judge(UNKNOWN, *TRACEBACK[:-1], "mypkg.core.Boom: header")
    assert (found.label, found.evidence[-1].text) == ("python_exception_other", "mypkg.core.Boom: header")


def test_a_log_that_ends_within_a_traceback_is_not_called_clean() -> None:
    assert judge(UNKNOWN, "epoch 1", *TRACEBACK[:-1]).label is None


@pytest.mark.parametrize(
    "above", ["Exception ignored in: <function F.__del__>", "Error in atexit._run_exitfuncs:"]
)
def test_an_exception_that_python_passed_over_is_no_cause(above: str) -> None:
    assert judge(FAILED, above, *TRACEBACK).cause is None


@pytest.mark.parametrize("log", [("noise",), ("python", *PROGRESS)])
def test_a_deadly_signal_outweighs_what_is_often_survived(log: tuple[str, ...]) -> None:
    assert judge(SlurmEvidence(state=JobState.FAILED, exit_code=139), *log).cause == "segfault"
    assert judge(SlurmEvidence(state=JobState.FAILED, exit_code=139), "python").cause == "python"


def test_many_successes_and_failures_cost_no_more_than_their_number() -> None:
    found = judge(UNKNOWN, *["finished"] * 9000, *["python"] * 10_000)
    assert found.cause == "python"


def test_code_that_a_traceback_quotes_proves_nothing() -> None:
    assert judge(FAILED, *TRACEBACK[:4], "    cuda_oom", "python").symptoms == ()


def texts(found: Sequence[Line]) -> list[str]:
    return [line.text.strip() for line in found]


def test_the_evidence_of_a_traceback_is_the_users_own_line_and_the_exception() -> None:
    assert texts(judge(FAILED, *TRACEBACK).evidence) == [
        'File "/home/u/model.py", line 7, in main',
        "x = layer(y)",
        "python",
    ]


def test_a_traceback_through_libraries_alone_shows_its_last_frame() -> None:
    found = judge(FAILED, TRACEBACK[0], *TRACEBACK[6:])
    assert texts(found.evidence)[1:] == ["return forward_call(*args)", "python"]


def test_the_tracebacks_of_ranks_that_print_at_once_are_not_mixed() -> None:
    ranks = [f"{rank}: {line.replace('u/', f'u{rank}/')}" for line in TRACEBACK for rank in (0, 1)]
    assert texts(judge(FAILED, *ranks).evidence)[0] == '0:   File "/home/u0/model.py", line 7, in main'


def test_an_exception_without_a_traceback_stands_alone() -> None:
    assert texts(judge(FAILED, "hello", "python").evidence) == ["python"]


@given(
    st.builds(
        SlurmEvidence,
        state=st.sampled_from(JobState),
        exit_code=st.none() | st.integers(0, 255),
        signal=st.none() | st.integers(0, 255),
        cpu_s=st.none() | st.floats(0, 1e9),
        elapsed_s=st.none() | st.floats(0, 1e9),
        limit_s=st.none() | st.floats(0, 1e9),
        max_rss_bytes=st.none() | st.integers(0, 2**50),
        requested_bytes=st.none() | st.integers(0, 2**50),
    ),
    st.lists(st.sampled_from([*RULES, *TRACEBACK, ""])),
)
def test_every_end_gets_a_title_and_an_explanation(evidence: SlurmEvidence, log: list[str]) -> None:
    found = judge(evidence, *log)
    assert found.title
    assert found.explanation
    assert found.label != "wrapper"
    assert 0 <= found.confidence <= 1
    assert bool(found.fingerprint) == bool(found.cause)
