"""The states of a Slurm job and the phase that each implies; descriptions of exit codes and signals.

Sources: Slurm's ``job_state_codes``, ``slurm_protocol_defs.c``, 20.11 to 25.11, and ``slurm_errno.h``;
bash(1) "EXIT STATUS" and signal(7). Slurm also uses the signal field for conditions of its own: 53 (it could
not open the output files) and 125 (the kernel's OOM killer).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Phase(StrEnum):
    """What a state alone implies."""

    WAITING = "waiting"
    ACTIVE = "active"
    FINISHING = "finishing"  # ended, but Slurm does not show the final state yet
    ENDED = "ended"  # ended; Slurm does not requeue a job in this state automatically
    ENDED_UNLESS_REQUEUED = "ended unless requeued"  # ended, or about to be requeued under the same id
    UNKNOWN = "unknown"  # of an unknown state: the job is considered alive


class Outcome(StrEnum):
    """The outcome of an ended job."""

    SUCCESS = "success"
    FAILURE = "failure"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class JobState(StrEnum):
    """Every state of Slurm, and ``UNKNOWN`` for those of future versions."""

    phase: Phase
    short: str

    def __new__(cls, name: str, phase: Phase = Phase.UNKNOWN, short: str = "") -> Self:
        """Create a member."""
        state = str.__new__(cls, name)
        state._value_, state.phase, state.short = name, phase, short
        return state

    PENDING = "PENDING", Phase.WAITING, "PD"
    REQUEUED = "REQUEUED", Phase.WAITING, "RQ"
    REQUEUE_HOLD = "REQUEUE_HOLD", Phase.WAITING, "RH"
    REQUEUE_FED = "REQUEUE_FED", Phase.WAITING, "RF"
    SPECIAL_EXIT = "SPECIAL_EXIT", Phase.WAITING, "SE"
    RESV_DEL_HOLD = "RESV_DEL_HOLD", Phase.WAITING, "RD"
    RUNNING = "RUNNING", Phase.ACTIVE, "R"
    CONFIGURING = "CONFIGURING", Phase.ACTIVE, "CF"
    SUSPENDED = "SUSPENDED", Phase.ACTIVE, "S"
    STOPPED = "STOPPED", Phase.ACTIVE, "ST"
    RESIZING = "RESIZING", Phase.ACTIVE, "RS"
    SIGNALING = "SIGNALING", Phase.ACTIVE, "SI"
    POWER_UP_NODE = "POWER_UP_NODE", Phase.ACTIVE
    EXPEDITING = "EXPEDITING", Phase.ACTIVE
    COMPLETING = "COMPLETING", Phase.FINISHING, "CG"
    STAGE_OUT = "STAGE_OUT", Phase.FINISHING, "SO"
    UPDATE_DB = "UPDATE_DB", Phase.FINISHING
    COMPLETED = "COMPLETED", Phase.ENDED, "CD"
    FAILED = "FAILED", Phase.ENDED, "F"
    CANCELLED = "CANCELLED", Phase.ENDED, "CA"
    TIMEOUT = "TIMEOUT", Phase.ENDED, "TO"
    OUT_OF_MEMORY = "OUT_OF_MEMORY", Phase.ENDED, "OOM"
    DEADLINE = "DEADLINE", Phase.ENDED, "DL"
    BOOT_FAIL = "BOOT_FAIL", Phase.ENDED, "BF"
    LAUNCH_FAILED = "LAUNCH_FAILED", Phase.ENDED
    RECONFIG_FAIL = "RECONFIG_FAIL", Phase.ENDED
    NODE_FAIL = "NODE_FAIL", Phase.ENDED_UNLESS_REQUEUED, "NF"
    PREEMPTED = "PREEMPTED", Phase.ENDED_UNLESS_REQUEUED, "PR"
    REVOKED = "REVOKED", Phase.ENDED_UNLESS_REQUEUED, "RV"
    UNKNOWN = "UNKNOWN"

    @classmethod
    def from_slurm(cls, text: str) -> JobState:
        """Parse a state as Slurm prints it, e.g. ``CANCELLED by 1000``, ``OUT_OF_ME+`` or ``CD``.

        Other texts and ambiguous abbreviations are ``UNKNOWN``: neither an end nor a success.
        """
        name = ""
        if text.strip():
            name = text.split(maxsplit=1)[0].upper()
        if name in cls.__members__:
            return cls[name]
        if name.endswith("+"):
            matches = [state for state in cls if state.startswith(name[:-1])]
        else:
            matches = [state for state in cls if name and state.short == name]
        if len(matches) == 1:
            return matches[0]
        return cls.UNKNOWN

    @property
    def is_alive(self) -> bool:
        """Whether the job may still run; true for an unknown state."""
        return self.phase not in (Phase.ENDED, Phase.ENDED_UNLESS_REQUEUED)

    @property
    def may_return(self) -> bool:
        """Whether the job may run again under this id."""
        return self.phase is Phase.ENDED_UNLESS_REQUEUED


def outcome_of(state: JobState, exit_code: int | None) -> Outcome:
    """Return the outcome that a proved end shows; only COMPLETED without a nonzero exit code is a success."""
    if state is JobState.COMPLETED:
        return Outcome.FAILURE if exit_code else Outcome.SUCCESS
    if state is JobState.CANCELLED:
        return Outcome.CANCELLED
    if state is JobState.REVOKED:
        return Outcome.UNKNOWN  # its sibling in another cluster of the federation runs instead
    return Outcome.FAILURE


def stated_reason(reason: str) -> str:
    """Empty for Slurm's ``None``."""
    if reason == "None":
        return ""
    return reason


SIGNAL_BASE = 128  # a shell reports "killed by signal n" as 128 + n
LAUNCH_IO_FAILED = 53  # Slurm could not open the job's output files
SLURM_OOM = 125  # SIG_OOM of Slurm: the step's memory limit killed a process
_MAX_SIGNAL = 64
_KILLED = "killed by signal "

SIGNALS: dict[int, tuple[str, str]] = {
    1: ("SIGHUP", "terminal closed"),
    2: ("SIGINT", "interrupted from the keyboard"),
    3: ("SIGQUIT", "quit from the keyboard"),
    4: ("SIGILL", "illegal instruction, usually a binary built for another CPU"),
    5: ("SIGTRAP", "trap"),
    6: ("SIGABRT", "program aborted"),
    7: ("SIGBUS", "bus error"),
    8: ("SIGFPE", "arithmetic error, such as a division by zero"),
    9: ("SIGKILL", "killed from outside, without cleanup"),
    10: ("SIGUSR1", "user signal 1, unhandled"),
    11: ("SIGSEGV", "segmentation fault"),
    12: ("SIGUSR2", "user signal 2, unhandled"),
    13: ("SIGPIPE", "wrote to a closed pipe"),
    14: ("SIGALRM", "alarm clock"),
    15: ("SIGTERM", "terminated"),
    24: ("SIGXCPU", "CPU time limit of the process (ulimit -t)"),
    25: ("SIGXFSZ", "file size limit of the process (ulimit -f)"),
    31: ("SIGSYS", "forbidden system call"),
}

_CODES: dict[int, str] = {0: "success", 126: "found, but could not be executed", 127: "command not found"}


def effective_signal(code: int | None, signal: int | None) -> int | None:
    """The signal that ended a job: Slurm's, else n of a shell's exit code ``128 + n``."""
    if signal:
        return signal
    if code is not None and SIGNAL_BASE < code <= SIGNAL_BASE + _MAX_SIGNAL:
        return code - SIGNAL_BASE
    return None


def other_code(code: int | None, *, is_exact: bool) -> int | None:
    """The code from which sacct may have subtracted 128; None if the code is the true one."""
    if code and not is_exact and code < SIGNAL_BASE:
        return code + SIGNAL_BASE
    return None


def describe_exit(code: int | None, signal: int | None) -> str:
    """``137 (128 + 9: killed by SIGKILL)``; ``signal`` is Slurm's own field."""
    if signal:
        return _describe_signal(signal)
    if code is None:
        return "unknown"
    number = effective_signal(code, None)
    if number is not None:
        name = SIGNALS[number][0] if number in SIGNALS else f"signal {number}"
        return f"{code} (128 + {number}: killed by {name})"
    if code in _CODES:
        return f"{code} ({_CODES[code]})"
    return str(code)


def labelled_exit(code: int | None, signal: int | None, *, is_exact: bool = True) -> tuple[str, str]:
    """``exit code`` and ``1``, or ``signal`` and ``15 (SIGTERM: ...)``."""
    text = describe_exit(code, signal)
    if not signal and (other := other_code(code, is_exact=is_exact)):
        return "exit code", f"{text}, or {describe_exit(other, None)}: sacct does not distinguish them"
    if text.startswith(_KILLED):
        return "signal", text.removeprefix(_KILLED)
    return "exit code", text


def exit_phrase(code: int | None, signal: int | None, *, is_exact: bool = True) -> str:
    """``exit code 1`` or ``killed by signal 15 (SIGTERM: ...)``."""
    label, text = labelled_exit(code, signal, is_exact=is_exact)
    if label == "signal":
        return f"{_KILLED}{text}"
    return f"{label} {text}"


def _describe_signal(signal: int) -> str:
    if signal == LAUNCH_IO_FAILED:
        return "0:53 (Slurm could not open the output file; usually its folder is missing or not writable)"
    if signal == SLURM_OOM:
        return "0:125 (killed for using more memory than the job had)"
    if signal in SIGNALS:
        name, meaning = SIGNALS[signal]
        return f"{_KILLED}{signal} ({name}: {meaning})"
    return f"{_KILLED}{signal}"
