"""Causes that need no log: what Slurm states, and what an exit status by itself implies.

Source: Slurm's ``job_state_codes``; outcomes measured on 22.05 and 25.05.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from jobmon_core.domain.diagnosis.model import SlurmEvidence
from jobmon_core.domain.humanize import size
from jobmon_core.domain.slurm.exit_codes import LAUNCH_IO_FAILED, SLURM_OOM, describe_exit, effective_signal
from jobmon_core.domain.slurm.states import JobState

_IDLE_SHARE = 0.01  # of one core: who uses less than this waits
_IDLE_LEAST_S = 60.0  # shorter runs say nothing about waiting
_NEAR_LIMIT = 0.8  # of the requested memory: sampling misses the last peak
CANCELLED = "slurm_cancelled"


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause in words."""

    id: str
    title: str
    explanation: str
    advice: str


_OUT_OF_MEMORY = Cause(
    "host_oom_kill",
    "Out of memory (RAM)",
    "The job used more memory (RAM) than it had asked for, and the system killed it.",
    "Ask for more memory (#SBATCH --mem or --mem-per-cpu), or use less: fewer DataLoader workers, smaller "
    "batches, data read in pieces.",
)
_NO_OUTPUT_FOLDER = Cause(
    "file_not_found.output_folder",
    "The job could not start: no folder for its output",
    "Slurm could not open the job's output file, so nothing ran: its folder does not exist, or may not be "
    "written.",
    "Create the folder that --output and --error name (mkdir -p) before submitting; Slurm before 23.02 does "
    "not.",
)
_NODE_FAILED = Cause(
    "node_fail",
    "A node failed",
    "A node of the job died or lost its connection to Slurm; the program is not at fault.",
    "Submit again, without that node if it happened before (#SBATCH --exclude=NODE).",
)

_HUNG = Cause(
    "slurm_timeout.hang",
    "Hung until the time limit",
    "The job reached its time limit, but it had used hardly any CPU time: it waited for something that never "
    "came, and more time would not help.",
    "Find where it waits before raising --time: look at the last line of the log, and in the next run attach "
    "to it with srun --jobid=JOBID --overlap --pty bash and py-spy dump --pid PID. For distributed training "
    "set TORCH_NCCL_TRACE_BUFFER_SIZE=2000 and TORCH_NCCL_DUMP_ON_TIMEOUT=1.",
)

_STATED: dict[JobState, Cause] = {
    JobState.OUT_OF_MEMORY: _OUT_OF_MEMORY,
    JobState.TIMEOUT: Cause(
        "slurm_timeout",
        "Time limit reached",
        "The job reached its time limit and Slurm ended it.",
        "Ask for more time (#SBATCH --time, within the partition's limit, see sinfo -o '%P %l'), or save "
        "checkpoints and continue from the last one.",
    ),
    JobState.CANCELLED: Cause(
        CANCELLED,
        "Cancelled",
        "Somebody cancelled the job: its owner, an administrator, or a script (scancel).",
        "Nothing, if it was meant; otherwise sacct -j JOBID -o State%30 shows by whom (CANCELLED by UID).",
    ),
    JobState.PREEMPTED: Cause(
        "slurm_preempted",
        "Preempted by a job of higher priority",
        "Slurm took the nodes away for a job of higher priority; the program is not at fault.",
        "Submit again, or add #SBATCH --requeue and save checkpoints often.",
    ),
    JobState.NODE_FAIL: _NODE_FAILED,
    JobState.BOOT_FAIL: replace(_NODE_FAILED, title="A node did not start"),
    JobState.LAUNCH_FAILED: replace(_NODE_FAILED, title="Slurm could not launch the job on its nodes"),
    JobState.RECONFIG_FAIL: replace(_NODE_FAILED, title="A node could not be prepared for the job"),
    JobState.DEADLINE: Cause(
        "slurm_timeout.deadline",
        "Deadline passed",
        "The job could not end before its deadline (--deadline), so Slurm ended it.",
        "Submit again with a later deadline or a shorter time limit.",
    ),
}

_BY_SIGNAL: dict[int, Cause] = {
    4: Cause(
        "segfault.illegal_instruction",
        "Built for another kind of CPU",
        "The program used an instruction that this node's CPU does not have (SIGILL).",
        "Build it for the node's CPU (-march), or ask for the nodes it was built for (#SBATCH --constraint).",
    ),
    6: Cause(
        "segfault.aborted",
        "The program gave itself up (SIGABRT)",
        "A library found a state that it cannot go on from and ended the program.",
        "Read the last lines of the log: they usually name the check that failed.",
    ),
    7: Cause(
        "bus_error_shm",
        "Bus error",
        "A process touched memory that no longer had anything behind it: most often /dev/shm is full.",
        "Use fewer DataLoader workers, or give the container more shared memory (--shm-size).",
    ),
    8: Cause(
        "segfault.arithmetic",
        "Division by zero in machine code",
        "A program in machine code divided by zero or overflowed (SIGFPE).",
        "Look for an empty input or a zero size; a debugger (gdb) shows the line.",
    ),
    9: Cause(
        "host_oom_kill.killed",
        "Killed (SIGKILL)",
        "The job was killed from outside and nothing says by whom. Where nobody cancelled it, memory "
        "(RAM) ran out in most cases.",
        "Compare peak and requested memory (seff JOBID); if they are near, ask for more (#SBATCH --mem).",
    ),
    11: Cause(
        "segfault",
        "Segmentation fault",
        "A program in machine code touched memory that is not its own: a fault in a library or extension.",
        "Set PYTHONFAULTHANDLER=1 to see the Python line; check that extensions match the installed "
        "versions.",
    ),
    15: Cause(
        "slurm_cancelled.terminated",
        "Asked to end (SIGTERM)",
        "The job was asked to end from outside: by scancel --signal, a launcher or an administrator.",
        "Nothing, if it was wanted; otherwise sacct -j JOBID shows the states of its steps.",
    ),
    LAUNCH_IO_FAILED: _NO_OUTPUT_FOLDER,
    SLURM_OOM: _OUT_OF_MEMORY,
}

_BY_CODE: dict[int, Cause] = {
    126: Cause(
        "permission_denied",
        "A command could not be executed",
        "The last command was found but could not be executed: it lacks the permission, or is no program.",
        "chmod +x the script, and check its first line (#!).",
    ),
    127: Cause(
        "module_env",
        "Command not found",
        "The last command was not found on the node.",
        "Load the module or activate the environment that has it in the job script, before its use.",
    ),
}


def stated_cause(evidence: SlurmEvidence) -> Cause | None:
    """Return what Slurm itself states as the cause; None where it only says that the job failed."""
    if evidence.signal in (LAUNCH_IO_FAILED, SLURM_OOM):
        return _with_figures(_BY_SIGNAL[evidence.signal], evidence)
    cause = _STATED.get(evidence.state)
    if cause is not None and cause.id == CANCELLED and evidence.canceller:
        return _cancelled_by(evidence.canceller)
    if evidence.state is JobState.TIMEOUT and _is_idle(evidence):
        cause = _HUNG
    return None if cause is None else _with_figures(cause, evidence)


def _cancelled_by(somebody: str) -> Cause:
    return Cause(
        CANCELLED,
        f"Cancelled by {somebody}",
        f"The job was cancelled by {somebody} (scancel, by hand or from a script).",
        f"Nothing, if it was meant; otherwise ask {somebody} why.",
    )


def implied_cause(evidence: SlurmEvidence) -> Cause | None:
    """Return what the exit status implies where neither Slurm nor the log names a cause."""
    signal = effective_signal(evidence.exit_code, evidence.signal)
    cause = _BY_SIGNAL.get(signal or 0) or _BY_CODE.get(evidence.exit_code or 0)
    if cause is None:
        return None
    if signal == 9 and _memory_was_short(evidence):  # noqa: PLR2004 - SIGKILL
        return _with_figures(_OUT_OF_MEMORY, evidence)
    words = describe_exit(evidence.exit_code, evidence.signal)
    return replace(cause, explanation=f"{cause.explanation} Exit: {words}.")


def _with_figures(cause: Cause, evidence: SlurmEvidence) -> Cause:
    """Add to Slurm's verdict the figures that make it plausible."""
    figures = {
        "host_oom_kill": _memory_words,
        "slurm_timeout": _limit_words,
        "slurm_timeout.hang": _time_words,
        "node_fail": _node_words,
    }.get(cause.id)
    added = figures(evidence) if figures else ""
    return replace(cause, explanation=f"{cause.explanation} {added}".rstrip())


def _memory_words(evidence: SlurmEvidence) -> str:
    used, asked = evidence.max_rss_bytes, evidence.requested_bytes
    if not asked:
        return ""
    if not used or not _memory_was_short(evidence):
        return f"It had asked for {size(asked)}."  # a smaller peak only means that sampling missed the last
    return f"Its peak was {size(used)} of the {size(asked)} asked for."


def _limit_words(evidence: SlurmEvidence) -> str:
    return f"The limit was {_duration(evidence.limit_s)}." if evidence.limit_s else ""


def _time_words(evidence: SlurmEvidence) -> str:
    return f"{_limit_words(evidence)} CPU time used: {evidence.cpu_s or 0:.0f} s.".lstrip()


def _node_words(evidence: SlurmEvidence) -> str:
    return f"Its nodes were {evidence.nodes}." if evidence.nodes else ""


def _is_idle(evidence: SlurmEvidence) -> bool:
    """Tell whether the job waited rather than worked, by its CPU time."""
    if evidence.cpu_s is None or evidence.elapsed_s is None or evidence.elapsed_s < _IDLE_LEAST_S:
        return False
    return evidence.cpu_s < _IDLE_SHARE * evidence.elapsed_s


def _memory_was_short(evidence: SlurmEvidence) -> bool:
    used, asked = evidence.max_rss_bytes, evidence.requested_bytes
    return bool(used and asked and used >= _NEAR_LIMIT * asked)


def _duration(seconds: float) -> str:
    """Write a duration as Slurm does, e.g. ``1-02:03:04``."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"{f'{days}-' if days else ''}{hours:02}:{minutes:02}:{rest:02}"
