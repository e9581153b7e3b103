"""The evidence shown is the line that a careful engineer would quote.

The logs in ``logs`` were written for these tests, after what the software prints: its source and its
documentation. No log of anybody's was copied; users, paths, hosts and figures are made up.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from jobmon_core.analysis.explain import explain, explain_files
from jobmon_core.domain.logs.diagnosis.model import Diagnosis, SlurmEvidence
from jobmon_core.domain.logs.diagnosis.patterns import CLEAN, LABELS
from jobmon_core.domain.slurm.states import JobState

LOGS = Path(__file__).with_name("logs")
LEAST_CASES = 40
LEAST_LINES, MOST_LINES = 8, 80
UNKNOWN = SlurmEvidence()


class Case(NamedTuple):
    """A log that shows a failure."""

    log: str  # the file that holds the line
    label: str
    quote: str  # the line, or so much of it that no other line has it
    slurm: SlurmEvidence = UNKNOWN
    other: str = ""  # the log of the other stream, where the job has two


CASES = (
    # --- of many ranks, the one that died first is neither the first nor the last that speaks
    Case(
        "oom_on_rank_3_between_aborted_peers",
        "cuda_oom",
        "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.96 GiB.",
    ),
    Case(
        "zero_division_on_task_5_behind_watchdogs",
        "python_exception_other",
        "5: ZeroDivisionError: float division by zero",
    ),
    Case(
        "assertion_on_mpi_rank_2",
        "assertion_error",
        "[1,2]<stderr>:AssertionError: 147450 cells owned, mesh has 147456",
    ),
    Case(
        "ray_worker_misses_its_shard",
        "file_not_found",
        "FileNotFoundError: [Errno 2] No such file or directory: '/local/nvme0/shards/part-00311.tar'",
    ),
    Case(
        "lost_gloo_connections_after_one_rank_died",
        "file_not_found",
        "FileNotFoundError: [Errno 2] No such file or directory: '/data/kelp/tiles-2.npy'",
    ),
    Case(
        "watchdogs_of_all_ranks_but_a_silent_one",
        "nccl_timeout",
        "[rank3]:[E308 03:12:55.100240116 ProcessGroupNCCL.cpp:629] [Rank 3] Watchdog caught collective",
    ),
    Case(
        "ecc_error_under_a_childfailed_table",
        "gpu_hardware",
        "[rank6]: RuntimeError: CUDA error: uncorrectable ECC error encountered",
    ),
    Case(
        "illegal_access_before_stack_dumps",
        "cuda_illegal_access",
        "[rank1]: RuntimeError: CUDA error: an illegal memory access was encountered",
    ),
    Case(
        "jax_task_2_dies_before_the_service",
        "shape_mismatch",
        "2: TypeError: dot_general requires contracting dimensions to have the same shape",
    ),
    Case(
        "checkpoint_cut_short",
        "checkpoint_corrupt",
        "[rank1]: RuntimeError: PytorchStreamReader failed reading zip archive: failed finding",
    ),
    Case(
        "vllm_worker_short_of_memory_under_engine_core",
        "cuda_oom",
        "ValueError: Free memory on device (9.21/79.25 GiB) on startup is less than desired GPU memory",
    ),
    Case(
        "inspect_ai_evaluation_interrupted",
        "python_exception_other",
        "KeyError: 'missing_field_x'",
        SlurmEvidence(state=JobState.COMPLETED, exit_code=0),  # `inspect eval` ends with 0 all the same
    ),
    # --- chains and groups of exceptions: the one that names the reason
    Case(
        "library_missing_behind_a_lazy_import",
        "import_error",
        "ImportError: libcudart.so.11.0: cannot open shared object file: No such file or directory",
    ),
    Case(
        "dataloader_worker_gone_behind_an_empty_queue",
        "dataloader_worker_killed",
        "RuntimeError: DataLoader worker (pid(s) 30771, 30772) exited unexpectedly",
    ),
    Case(
        "disk_full_after_an_oom_that_was_survived",
        "disk_full",
        "OSError: [Errno 28] No space left on device",
    ),
    Case(
        "rendezvous_whose_wrapper_names_no_reason",
        "rendezvous_error",
        "torch.distributed.DistNetworkError: The client socket has timed out after 60000ms",
    ),
    Case(
        "compiler_error_under_two_wrappers",
        "compile_error",
        '/home/gm/kern/fused_norm.cu(41): error: identifier "blockReduceSum" is undefined',
    ),
    Case(
        "fortran_interface_before_use",
        "compile_error",
        "Error: USE statement at (1) cannot follow INTERFACE statement at (2)",
    ),
    Case(
        "theano_warning_before_a_missing_file",
        "file_not_found",
        "OSError: File /scratch/ivo/cells/D1.h5 does not exist",
    ),
    Case(
        "bad_json_behind_a_cache_miss",
        "python_exception_other",
        "json.decoder.JSONDecodeError: Expecting ',' delimiter: line 88 column 3 (char 2310)",
    ),
    Case(
        "permission_denied_inside_an_exception_group",
        "permission_denied",
        "PermissionError: [Errno 13] Permission denied: '/project/shared/mirror/b/0001.bin'",
    ),
    # --- the scheduler's last words: a cause, or only what followed
    Case(
        "oom_kill_after_a_dataloader_message",
        "host_oom_kill",
        "slurmstepd: error: Detected 1 oom_kill event in StepId=7712345.batch.",
    ),
    Case(
        "deepspeed_launcher_reports_a_kill",
        "host_oom_kill",
        "exits with return code = -9",
    ),
    Case(
        "time_limit_amid_progress_bars",
        "slurm_timeout",
        "slurmstepd: error: *** STEP 8812345.0 ON gpu-a07 CANCELLED AT 2025-03-09T20:00:12 DUE TO TIME LIMIT",
    ),
    Case(
        "scancel_and_its_signal_exception",
        "slurm_cancelled",
        "slurmstepd: error: *** JOB 551207 ON c12-3 CANCELLED AT 2025-10-10T13:00:41 ***",
        SlurmEvidence(state=JobState.CANCELLED, signal=15),
    ),
    Case(
        "preempted_after_it_saved",
        "slurm_preempted",
        "slurmstepd: error: *** JOB 991230 ON gpu017 CANCELLED AT 2025-06-01T10:11:12 DUE TO PREEMPTION ***",
    ),
    Case(
        "node_failure_under_mpirun",
        "node_fail",
        "slurmstepd: error: *** JOB 4410021 ON n0412 CANCELLED AT 2025-05-02T03:04:05 DUE TO NODE FAILURE",
    ),
    Case(
        "device_error_that_hung_to_the_time_limit.err",
        "dtype_device_mismatch",
        "RuntimeError: Expected all tensors on the same device, but found at least two devices",
        SlurmEvidence(state=JobState.TIMEOUT),
        other="device_error_that_hung_to_the_time_limit.out",
    ),
    Case(
        "optimizer_mismatch_before_the_step_is_cancelled",
        "checkpoint_mismatch",
        "2: ValueError: loaded state dict contains a parameter group that doesn't match",
    ),
    Case(
        "step_larger_than_its_job",
        "srun_error",
        "srun: error: Unable to create step for job 55120: More processors requested than permitted",
    ),
    # --- accelerators and what runs on them
    Case(
        "xla_oom_after_harmless_allocator_warnings",
        "cuda_oom",
        "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate",
    ),
    Case(
        "device_assert_with_its_advice",
        "cuda_device_assert",
        "block: [203,0,0], thread: [64,0,0] Assertion `srcIndex < srcSelectDimSize` failed.",
    ),
    Case(
        "driver_too_old",
        "cuda_driver_mismatch",
        "RuntimeError: The NVIDIA driver on your system is too old (found version 11040).",
    ),
    Case(
        "nccl_tests_cannot_reach_a_peer",
        "nccl_error",
        "gpu-3: Test NCCL failure common.cu:1005 'unhandled system error",
    ),
    # --- the environment: programs, modules, libraries, ports, networks
    Case(
        "conda_not_initialised",
        "module_env",
        "CondaError: Run 'conda init' before 'conda activate'",
    ),
    Case(
        "glibc_too_old_for_a_wheel",
        "module_env",
        "ImportError: /lib64/libm.so.6: version `GLIBC_2.29' not found",
    ),
    Case(
        "lightning_error_after_a_module_was_unknown",
        "python_exception_other",
        "AttributeError: 'LitBirds' object has no attribute 'train_accuracy'",
    ),
    Case(
        "port_taken_in_colour",
        "port_in_use",
        "[Errno 98] error while attempting to bind on address ('0.0.0.0', 8000): address already in use",
    ),
    Case(
        "wandb_never_answers",
        "network_error",
        "wandb.errors.errors.CommError: Run initialization has timed out after 90.0 sec.",
    ),
    Case(
        "hub_down_after_a_retry_that_helped",
        "network_error",
        "prepare.py: no tokenizer: We couldn't connect to 'https://huggingface.co' to load the files",
        SlurmEvidence(state=JobState.FAILED, exit_code=1),
    ),
    Case(
        "gated_model",
        "auth_error",
        "OSError: You are trying to access a gated repo.",
    ),
    # --- programs that end by themselves, in logs that are hard to read
    Case(
        "memory_error_with_a_clock_before_each_line",
        "python_memory_error",
        "_ArrayMemoryError: Unable to allocate 119. GiB for an array with shape (126400, 126400)",
    ),
    Case(
        "segfault_of_a_fortran_rank",
        "segfault",
        "Program received signal SIGSEGV: Segmentation fault - invalid memory reference.",
    ),
    Case(
        "bus_error_and_the_result_it_left_out",
        "bus_error_shm",
        "slurm_script: line 27: 20331 Bus error",
    ),
    Case(
        "shapes_before_a_flushed_buffer",
        "shape_mismatch",
        "RuntimeError: mat1 and mat2 shapes cannot be multiplied (17x1300 and 1280x20)",
    ),
    Case(
        "tensorflow_noise_before_incompatible_shapes",
        "shape_mismatch",
        "ValueError: Arguments `target` and `output` must have the same shape.",
    ),
    Case(
        "choice_in_a_line_of_5000_characters",
        "config_error",
        "train.py: error: argument --arch: invalid choice: 'vit_bas_patch16_224'",
    ),
    Case(
        "loss_is_nan.out",
        "nan_loss",
        "Loss is nan, stopping training",
        SlurmEvidence(state=JobState.FAILED, exit_code=1),
        other="loss_is_nan.err",
    ),
    Case(
        "second_run_in_an_appended_file",
        "python_exception_other",
        "TypeError: unsupported format string passed to list.__format__",
    ),
    Case(
        "mpich_cannot_start",
        "mpi_error",
        "Abort(1615503) on node 3 (rank 3 in comm 0): Fatal error in PMPI_Init: Other MPI error",
    ),
    Case(
        "fortran_restart_file_missing",
        "file_not_found",
        "2: Fortran runtime error: Cannot open file 'restart/swell.0002': No such file or directory",
    ),
    Case(
        "syntax_error_after_a_missing_command",
        "config_error",
        "line 31: syntax error: unexpected end of file",
        SlurmEvidence(state=JobState.FAILED, exit_code=2),
    ),
)

# logs of programs that did well and print words that sound like failures
HEALTHY = (
    "healthy_batch_size_search",
    "healthy_evaluation_of_questions_on_errors",
    "healthy_mpi_solver",
    "healthy_scaler_overflows",
    "healthy_tensorflow_noise",
    "healthy_tests_of_failures",
)


def path_of(log: str) -> Path:
    return LOGS / f"{log}.log"


def lines_of(log: str) -> list[str]:
    r"""Return the lines as editors count them: a progress bar's ``\r`` begins none."""
    text = path_of(log).read_bytes().decode()
    return text.removesuffix("\n").split("\n")


def number_of_line(case: Case) -> int:
    """Return the number of the one line that holds the quote, whatever colours stand within it."""
    holding = [n for n, line in enumerate(lines_of(case.log), 1) if case.quote in without_colours(line)]
    assert len(holding) == 1, f"{case.quote!r} stands in the lines {holding} of {case.log}"
    return holding[0]


def without_colours(line: str) -> str:
    for code in ("\x1b[0m", "\x1b[1m", "\x1b[31m"):
        line = line.replace(code, "")
    return line


def diagnosed(case: Case) -> Diagnosis:
    path = str(path_of(case.log))
    if not case.other:
        return explain_files(case.slurm, [path])
    other = str(path_of(case.other))
    stdout, stderr = (path, other) if case.log.endswith(".out") else (other, path)
    return explain(case.slurm, stdout, stderr)


@pytest.mark.parametrize("case", CASES, ids=[case.log for case in CASES])
def test_the_evidence_ends_with_the_line_that_shows_the_root_cause(case: Case) -> None:
    found = diagnosed(case)
    quoted = found.evidence[-1]
    assert (found.label, quoted.number) == (case.label, number_of_line(case)), quoted.text
    assert case.quote in quoted.text
    assert {found.log_path, quoted.file} == {str(path_of(case.log))}


@pytest.mark.parametrize("log", HEALTHY)
def test_a_healthy_log_with_alarming_words_is_clean(log: str) -> None:
    found = explain_files(UNKNOWN, [str(path_of(log))])
    assert (found.label, found.cause, found.evidence) == (CLEAN, None, ())


def test_every_label_has_a_case() -> None:
    assert {case.label for case in CASES} | {CLEAN} == LABELS
    assert len(CASES) + len(HEALTHY) >= LEAST_CASES


def test_every_log_is_small_and_belongs_to_a_case() -> None:
    used = {*HEALTHY, *(case.log for case in CASES), *(case.other for case in CASES if case.other)}
    assert {path.name.removesuffix(".log") for path in LOGS.iterdir()} == used
    lengths = {log: len(lines_of(log)) for log in used}
    assert {log: n for log, n in lengths.items() if not LEAST_LINES <= n <= MOST_LINES} == {}
