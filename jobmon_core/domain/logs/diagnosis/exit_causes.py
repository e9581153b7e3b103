"""Causes that Slurm states or an exit status implies.

Source: Slurm's ``job_state_codes``; behaviour measured on Slurm 22.05 and 25.05.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from jobmon_core.domain.backends import STOPPED
from jobmon_core.domain.humanize import duration, size
from jobmon_core.domain.logs.diagnosis.model import SlurmEvidence
from jobmon_core.domain.slurm.pending_reasons import NEVER_SATISFIED, waited_for_failure
from jobmon_core.domain.slurm.states import (
    LAUNCH_IO_FAILED,
    SLURM_OOM,
    JobState,
    effective_signal,
    other_code,
)

_IDLE_SHARE = 0.01  # of one core: steps that use less are waiting
_MIN_STEP_CPU_S = 1.0  # with less, Slurm did not count the processes of the steps
_SILENT_SHARE = 0.1  # of the run, at its end, in which a hanging program prints nothing
_MIN_SILENT_S = 60.0
_NEAR_LIMIT = 0.8  # of the requested memory; sampling misses the last peak
CANCELLED = "slurm_cancelled"
TIME_LIMIT = "slurm_timeout"
YOU = "you"  # the user who reads the diagnosis
_SIGKILL = 9


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause, with the texts that users see."""

    id: str
    title: str
    explanation: str
    advice: str
    is_certain: bool = True  # whether the state alone proves a stated cause


_OUT_OF_MEMORY = Cause(
    "host_oom_kill",
    "Out of memory (RAM)",
    "The job used more memory (RAM) than it had requested and was killed.",
    "Request more memory (`#SBATCH --mem` or `--mem-per-cpu`), or use less: fewer DataLoader workers, "
    "smaller batches, data read in chunks.",
)
_NO_OUTPUT_FOLDER = Cause(
    "file_not_found.output_folder",
    "The job could not start: its output folder is missing",
    "Slurm could not open the job's output file, so nothing ran. The folder does not exist or is not "
    "writable.",
    "Create the folder that --output and --error name (`mkdir -p`) before submitting; Slurm before 23.02 "
    "does not create it.",
)
_OUTPUT_BLOCKED = Cause(
    "file_not_found.output_folder",
    "The job could not start: something is in the way of its output file",
    "Slurm could not open the job's output file, so nothing ran.",
    "Name another file with --output and --error, or rename what is in the way.",
)
_NODE_FAILED = Cause(
    "node_fail",
    "A node failed",
    "A node of the job died or lost its connection to Slurm. The program is not at fault.",
    "Submit the job again. If the node has failed before, exclude it (`#SBATCH --exclude=NODE`).",
)
_INVALID_DEPENDENCY = Cause(
    CANCELLED,
    "Cancelled by Slurm: its dependency can never be satisfied",
    "Another job did not end as this one's --dependency requires, so this job could never start. Slurm "
    "cancels such jobs if they have --kill-on-invalid-dep=yes or the cluster is configured so.",
    "Find out why the other job ended as it did, then submit both again. If this one may start after any "
    "end, use --dependency=afterany.",
)
_NOT_NEEDED = Cause(
    CANCELLED,
    "Cancelled by Slurm: not needed, because the job that it waited for did not fail",
    "It was to start only if another job failed (afternotok), and that one did not.",
    "",
)
_HUNG = Cause(
    "slurm_timeout.hang",
    "Hung until the time limit",
    "The job reached its time limit, but its steps had used hardly any CPU time and its output had stopped. "
    "It was probably waiting for something that never happened; then more time would not help.",
    "Find out where it waits before you raise --time: read the last line of the log, and attach to the next "
    "run with `srun --jobid=JOBID --overlap --pty bash` and `py-spy dump --pid PID`. For distributed "
    "training set `TORCH_NCCL_TRACE_BUFFER_SIZE=2000` and `TORCH_NCCL_DUMP_ON_TIMEOUT=1`.",
    is_certain=False,
)

_BY_STATE: dict[JobState, Cause] = {
    JobState.OUT_OF_MEMORY: _OUT_OF_MEMORY,
    JobState.TIMEOUT: Cause(
        TIME_LIMIT,
        "Time limit reached",
        "Slurm ended the job.",
        "Request more time (`#SBATCH --time`, up to the partition's limit: `sinfo -o '%P %l'`), or save "
        "checkpoints and continue from the last one.",
    ),
    JobState.CANCELLED: Cause(
        CANCELLED,
        "Cancelled",
        "The owner of the job, an administrator or a script ran scancel.",
        "If you did not cancel it, `sacct -j JOBID -o State%30` shows who did (CANCELLED by UID).",
    ),
    JobState.PREEMPTED: Cause(
        "slurm_preempted",
        "Preempted by a job of higher priority",
        "Slurm gave its nodes to that job. The program is not at fault.",
        "Submit the job again, or add `#SBATCH --requeue` and save checkpoints often.",
    ),
    JobState.NODE_FAIL: _NODE_FAILED,
    JobState.BOOT_FAIL: replace(_NODE_FAILED, title="A node did not start"),
    JobState.LAUNCH_FAILED: replace(_NODE_FAILED, title="Slurm could not launch the job on its nodes"),
    JobState.RECONFIG_FAIL: replace(_NODE_FAILED, title="A node could not be prepared for the job"),
    JobState.DEADLINE: Cause(
        "slurm_timeout.deadline",
        "Deadline passed",
        "The job could not finish before its deadline (--deadline), so Slurm ended it.",
        "Submit the job again with a later deadline or a shorter time limit.",
    ),
}

_BY_SIGNAL: dict[int, Cause] = {
    4: Cause(
        "segfault.illegal_instruction",
        "Built for another type of CPU (SIGILL)",
        "The program used an instruction that this node's CPU does not have (SIGILL).",
        "Build it for the node's CPU (-march), or request nodes of the type it was built for "
        "(`#SBATCH --constraint`).",
    ),
    6: Cause(
        "segfault.aborted",
        "Program aborted (SIGABRT)",
        "A library detected a state from which it cannot continue and aborted the program.",
        "Read the last lines of the log: they usually name the check that failed.",
    ),
    7: Cause(
        "bus_error_shm",
        "Bus error (SIGBUS)",
        "A process accessed memory that no longer exists, usually because /dev/shm is full.",
        "Use fewer DataLoader workers, or give the container more shared memory (--shm-size).",
    ),
    8: Cause(
        "segfault.arithmetic",
        "Arithmetic error in compiled code (SIGFPE)",
        "Compiled code divided by zero or overflowed (SIGFPE).",
        "Check for an empty input or a zero size; a debugger (gdb) shows the line.",
    ),
    _SIGKILL: Cause(
        "host_oom_kill.killed",
        "Killed (SIGKILL)",
        "The job was killed from outside, and nothing shows by whom. Unless it was cancelled, it most likely "
        "ran out of memory (RAM).",
        "Compare peak and requested memory (`sacct -j JOBID -o JobID,MaxRSS,ReqMem,State`, or `seff JOBID`, "
        "where installed). If they are close, request more (`#SBATCH --mem`).",
    ),
    11: Cause(
        "segfault",
        "Segmentation fault (SIGSEGV)",
        "Compiled code accessed memory it must not (SIGSEGV), usually a bug in a native extension.",
        "Set `PYTHONFAULTHANDLER=1` to see the Python line, and check that extensions match the installed "
        "versions.",
    ),
    15: Cause(
        "slurm_cancelled.terminated",
        "Terminated (SIGTERM)",
        "Another process sent the signal, e.g. scancel --signal, timeout or torchrun.",
        "If you did not do this, `sacct -j JOBID` shows the state of each step.",
    ),
}
# signals of Slurm's own, which no program gets: an exit code 128 + 53 is a program's
_BY_SLURM_SIGNAL = {LAUNCH_IO_FAILED: _NO_OUTPUT_FOLDER, SLURM_OOM: _OUT_OF_MEMORY}

_BY_EXIT_CODE: dict[int, Cause] = {
    126: Cause(
        "permission_denied",
        "A command could not be executed",
        "The last command was found but could not be executed: it is not executable, or not a program.",
        "Make the script executable (`chmod +x`), and check its first line (#!).",
    ),
    127: Cause(
        "module_env",
        "Command not found",
        "A command of the script is not installed on the node, or not on its PATH.",
        "In the job script, load the module or activate the environment that provides it before using it.",
    ),
}


_TRACE = (
    "Put `set -x` into the script, below the `#SBATCH` lines: its log then shows each command before it runs."
)
_LOCAL_TRACE = "If it is a shell script, `set -x` at its top lets its log show each command before it runs."
_NO_SCRIPT = (
    "It ran a command of srun or salloc. Unless a log was named (`srun --output=FILE`), what it printed went "
    "to the terminal where it was started."
)
# a remark in the advice of a pattern that helps only on Slurm
_SLURM_REMARK = re.compile(r" \([^()]*(?:\bsacct |\bseff |\bscontrol |#SBATCH)[^()]*\)")
# causes of jobs that run without Slurm
_ENDED_BY_SIGNAL = "It was ended with Ctrl-C, or with a signal to its supervisor."
_STOPPED_ON_RAY = Cause(
    CANCELLED, "Stopped", "Somebody stopped it, with `ray job stop` or in the dashboard of Ray.", ""
)
_LOCAL_BY_STATE: dict[JobState, Cause] = {
    JobState.TIMEOUT: Cause(
        TIME_LIMIT,
        "Time limit reached",
        "jobmon ended the job.",
        "Run it again with a higher `--time`, or save checkpoints and continue from the last one.",
    ),
    JobState.CANCELLED: Cause(CANCELLED, "Cancelled", _ENDED_BY_SIGNAL, ""),
    JobState.NODE_FAIL: Cause(
        "node_fail",
        "The machine was restarted",
        "The job ended with it. The program is not at fault.",
        "Start the job again.",
    ),
    JobState.OUT_OF_MEMORY: Cause(
        "host_oom_kill",
        "Out of memory (RAM)",
        "The program was killed (SIGKILL), and meanwhile the kernel killed a process of this machine or "
        "container because memory ran out.",
        "Use less memory: fewer DataLoader workers, smaller batches, data read in chunks; or take a larger "
        "machine.",
    ),
    JobState.LAUNCH_FAILED: Cause(
        "node_fail.not_started",
        "It was not started",
        "The connection to the host was lost before the command started there. It cannot start any more.",
        "Start the job again.",
    ),
}
_LOCAL_BY_SIGNAL: dict[int, Cause] = {
    _SIGKILL: Cause(
        "host_oom_kill.killed",
        "Killed (SIGKILL)",
        "The program was killed from outside, and nothing shows by whom. Unless somebody killed it, the "
        "machine most likely ran out of memory (RAM).",
        "`journalctl -k` or `dmesg` shows whether the kernel killed it. If so, use less memory.",
    ),
    15: Cause(
        "slurm_cancelled.terminated",
        "Terminated (SIGTERM)",
        "Another process sent the signal, e.g. kill, torchrun or a shutdown of the machine.",
        "",
    ),
}


def stated_cause(evidence: SlurmEvidence) -> Cause | None:
    """Return the cause that Slurm's state or signal names; FAILED alone names none."""
    if by_slurm := _BY_SLURM_SIGNAL.get(evidence.signal or 0):
        if by_slurm is _NO_OUTPUT_FOLDER and evidence.log_obstacle:
            return replace(
                _OUTPUT_BLOCKED, explanation=f"{_OUTPUT_BLOCKED.explanation} {evidence.log_obstacle}."
            )
        return _with_details(by_slurm, evidence)
    by_state = {**_BY_STATE, **_LOCAL_BY_STATE} if evidence.is_local else _BY_STATE
    cause = by_state.get(evidence.state)
    if cause is not None and cause.id == CANCELLED:
        return _cancellation(cause, evidence)
    if evidence.reason == STOPPED:
        return _STOPPED_ON_RAY
    if evidence.state is JobState.TIMEOUT and _was_hanging(evidence):
        cause = _HUNG
    return cause and _with_details(cause, evidence)


def _cancellation(cause: Cause, evidence: SlurmEvidence) -> Cause:
    if user := evidence.canceller:
        how = _ENDED_BY_SIGNAL if evidence.is_local else "scancel was run, by hand or from a script."
        advice = "" if user == YOU else f"If you did not expect this, ask {user} why."
        return Cause(CANCELLED, f"Cancelled by {user}", how, advice)
    if evidence.reason == STOPPED:
        return _STOPPED_ON_RAY
    if evidence.reason == NEVER_SATISFIED:
        return _NOT_NEEDED if waited_for_failure(evidence.dependency) else _INVALID_DEPENDENCY
    return cause


def implied_cause(evidence: SlurmEvidence) -> Cause | None:
    """Return the cause that the exit status implies, unless it may be one of two."""
    if not evidence.signal and other_code(evidence.exit_code, is_exact=evidence.exit_code_exact):
        return None
    signal = effective_signal(evidence.exit_code, evidence.signal)
    by_signal = {**_BY_SIGNAL, **_LOCAL_BY_SIGNAL} if evidence.is_local else _BY_SIGNAL
    cause = by_signal.get(signal or 0) or _BY_EXIT_CODE.get(evidence.exit_code or 0)
    if cause and signal == _SIGKILL and _is_near_memory_limit(evidence):
        return _with_details(_OUT_OF_MEMORY, evidence)
    return cause


def advice_without_log(evidence: SlurmEvidence) -> str:
    """Return how the next run of a failed job could leave a log that shows its failure."""
    if evidence.has_script is False:
        return _NO_SCRIPT
    return _LOCAL_TRACE if evidence.is_local else _TRACE


def advice_without_slurm(advice: str) -> str:
    """Return the advice of a pattern without Slurm's own commands, which stand in parentheses."""
    return _SLURM_REMARK.sub("", advice)


def _with_details(cause: Cause, evidence: SlurmEvidence) -> Cause:
    limit = f"The limit was {duration(evidence.limit_s)}." if evidence.limit_s else ""
    details = ""
    match cause.id:
        case "host_oom_kill":
            details = _describe_memory(evidence)
        case "slurm_timeout":
            details = limit
        case "slurm_timeout.hang":
            silent = f"It printed nothing in its last {duration(evidence.silent_s or 0)}."
            used = f"CPU time of its steps: {duration(evidence.step_cpu_s or 0)}."
            details = f"{limit} {used} {silent}".lstrip()
        case "node_fail" if evidence.nodes:
            details = f"Its nodes were {evidence.nodes}."
    return replace(cause, explanation=f"{cause.explanation} {details}".rstrip())


def _describe_memory(evidence: SlurmEvidence) -> str:
    peak, requested = evidence.max_rss_bytes, evidence.requested_bytes
    if not requested:
        return ""
    if not peak or not _is_near_memory_limit(evidence):
        return f"It had requested {size(requested)}."  # sampling missed the last peak
    if peak < requested:
        return f"It had requested {size(requested)}, and used {size(peak)} when Slurm last sampled it."
    return f"Its peak was {size(peak)} of the requested {size(requested)}."


def _was_hanging(evidence: SlurmEvidence) -> bool:
    """Whether both idle steps and output that had stopped show that the job waited.

    Either alone proves nothing: Slurm does not count the children of a killed shell, so that a busy step can
    look idle (measured on 22.05), and a busy program may print nothing for hours.
    """
    cpu_s, elapsed_s, silent_s = evidence.step_cpu_s, evidence.elapsed_s, evidence.silent_s
    if cpu_s is None or elapsed_s is None or silent_s is None:
        return False
    is_idle = _MIN_STEP_CPU_S <= cpu_s < _IDLE_SHARE * elapsed_s
    return is_idle and silent_s >= max(_SILENT_SHARE * elapsed_s, _MIN_SILENT_S)


def _is_near_memory_limit(evidence: SlurmEvidence) -> bool:
    peak, requested = evidence.max_rss_bytes, evidence.requested_bytes
    return bool(peak and requested and peak >= _NEAR_LIMIT * requested)
