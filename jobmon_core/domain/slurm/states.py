"""The states of a Slurm job, and what each of them allows one to conclude.

Source: Slurm's ``job_state_codes`` documentation and ``slurm_protocol_defs.c``, 20.11 to 25.11.
"""

from __future__ import annotations

from enum import StrEnum


class Phase(StrEnum):
    """How far a job in some state has come, as far as that state alone can tell."""

    WAITING = "waiting"  # not started, or put back into the queue
    ACTIVE = "active"  # holds resources
    FINISHING = "finishing"  # over, but Slurm still hides how
    ENDED = "ended"  # over for good
    ENDED_UNLESS_REQUEUED = "ended unless requeued"  # over, or about to return to the queue under the same id
    UNKNOWN = "unknown"  # a word we do not know: alive until Slurm says otherwise


class Outcome(StrEnum):
    """What became of a job that ended."""

    SUCCESS = "success"
    FAILURE = "failure"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class JobState(StrEnum):
    """Every word that Slurm uses for the state of a job, and ``UNKNOWN`` for those of the future."""

    PENDING = "PENDING"
    REQUEUED = "REQUEUED"
    REQUEUE_HOLD = "REQUEUE_HOLD"
    REQUEUE_FED = "REQUEUE_FED"
    SPECIAL_EXIT = "SPECIAL_EXIT"
    RESV_DEL_HOLD = "RESV_DEL_HOLD"
    RUNNING = "RUNNING"
    CONFIGURING = "CONFIGURING"
    SUSPENDED = "SUSPENDED"
    STOPPED = "STOPPED"
    RESIZING = "RESIZING"
    SIGNALING = "SIGNALING"
    POWER_UP_NODE = "POWER_UP_NODE"
    EXPEDITING = "EXPEDITING"
    COMPLETING = "COMPLETING"
    STAGE_OUT = "STAGE_OUT"
    UPDATE_DB = "UPDATE_DB"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    TIMEOUT = "TIMEOUT"
    OUT_OF_MEMORY = "OUT_OF_MEMORY"
    DEADLINE = "DEADLINE"
    BOOT_FAIL = "BOOT_FAIL"
    LAUNCH_FAILED = "LAUNCH_FAILED"
    RECONFIG_FAIL = "RECONFIG_FAIL"
    NODE_FAIL = "NODE_FAIL"
    PREEMPTED = "PREEMPTED"
    REVOKED = "REVOKED"
    UNKNOWN = "UNKNOWN"

    @classmethod
    def from_slurm(cls, words: str) -> JobState:
        """Read a state as Slurm writes it, e.g. ``CANCELLED by 1000``, ``OUT_OF_ME+`` or ``CD``.

        A word that no version known to us uses is ``UNKNOWN``: neither an end nor a success.
        """
        word = words.split(maxsplit=1)[0].upper() if words.strip() else ""
        if word in cls.__members__:
            return cls[word]
        if word.endswith("+"):
            return _completed(word[:-1])
        return _ABBREVIATIONS.get(word, cls.UNKNOWN)

    @property
    def phase(self) -> Phase:
        """How far a job in this state has come."""
        return _PHASES[self]

    @property
    def is_alive(self) -> bool:
        """Whether a job in this state may still run; true for a state that we do not know."""
        return self.phase not in (Phase.ENDED, Phase.ENDED_UNLESS_REQUEUED)

    @property
    def may_return(self) -> bool:
        """Whether this end can be followed by another run under the same job id."""
        return self.phase is Phase.ENDED_UNLESS_REQUEUED


def _completed(prefix: str) -> JobState:
    """Complete a word that sacct cut to its column (it writes ``+`` for what it cut)."""
    matches = [state for state in JobState if prefix and state.startswith(prefix)]
    return matches[0] if len(matches) == 1 else JobState.UNKNOWN


_PHASES: dict[JobState, Phase] = {
    **dict.fromkeys(
        (
            JobState.PENDING,
            JobState.REQUEUED,
            JobState.REQUEUE_HOLD,
            JobState.REQUEUE_FED,
            JobState.SPECIAL_EXIT,
            JobState.RESV_DEL_HOLD,
        ),
        Phase.WAITING,
    ),
    **dict.fromkeys(
        (
            JobState.RUNNING,
            JobState.CONFIGURING,
            JobState.SUSPENDED,
            JobState.STOPPED,
            JobState.RESIZING,
            JobState.SIGNALING,
            JobState.POWER_UP_NODE,
            JobState.EXPEDITING,
        ),
        Phase.ACTIVE,
    ),
    **dict.fromkeys((JobState.COMPLETING, JobState.STAGE_OUT, JobState.UPDATE_DB), Phase.FINISHING),
    **dict.fromkeys(
        (
            JobState.COMPLETED,
            JobState.FAILED,
            JobState.CANCELLED,
            JobState.TIMEOUT,
            JobState.OUT_OF_MEMORY,
            JobState.DEADLINE,
            JobState.BOOT_FAIL,
            JobState.LAUNCH_FAILED,
            JobState.RECONFIG_FAIL,
        ),
        Phase.ENDED,
    ),
    **dict.fromkeys((JobState.NODE_FAIL, JobState.PREEMPTED, JobState.REVOKED), Phase.ENDED_UNLESS_REQUEUED),
    JobState.UNKNOWN: Phase.UNKNOWN,
}

_ABBREVIATIONS: dict[str, JobState] = {
    "PD": JobState.PENDING,
    "RQ": JobState.REQUEUED,
    "RH": JobState.REQUEUE_HOLD,
    "RF": JobState.REQUEUE_FED,
    "SE": JobState.SPECIAL_EXIT,
    "RD": JobState.RESV_DEL_HOLD,
    "R": JobState.RUNNING,
    "CF": JobState.CONFIGURING,
    "S": JobState.SUSPENDED,
    "ST": JobState.STOPPED,
    "RS": JobState.RESIZING,
    "SI": JobState.SIGNALING,
    "CG": JobState.COMPLETING,
    "SO": JobState.STAGE_OUT,
    "CD": JobState.COMPLETED,
    "F": JobState.FAILED,
    "CA": JobState.CANCELLED,
    "TO": JobState.TIMEOUT,
    "OOM": JobState.OUT_OF_MEMORY,
    "DL": JobState.DEADLINE,
    "BF": JobState.BOOT_FAIL,
    "NF": JobState.NODE_FAIL,
    "PR": JobState.PREEMPTED,
    "RV": JobState.REVOKED,
}
