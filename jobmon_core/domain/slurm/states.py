"""The states of a Slurm job, and the phase that each of them implies.

Source: Slurm's ``job_state_codes`` documentation and ``slurm_protocol_defs.c``, 20.11 to 25.11.
"""

from __future__ import annotations

from enum import StrEnum


class Phase(StrEnum):
    """The progress of a job, as far as its state alone implies it."""

    WAITING = "waiting"  # not started, or requeued
    ACTIVE = "active"  # holds resources
    FINISHING = "finishing"  # ended, but Slurm does not show the final state yet
    ENDED = "ended"  # ended and cannot be requeued
    ENDED_UNLESS_REQUEUED = "ended unless requeued"  # ended, or about to be requeued under the same id
    UNKNOWN = "unknown"  # an unknown state: considered alive


class Outcome(StrEnum):
    """The outcome of an ended job."""

    SUCCESS = "success"
    FAILURE = "failure"
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"


class JobState(StrEnum):
    """Every state of Slurm, and ``UNKNOWN`` for those of future versions."""

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
    def from_slurm(cls, text: str) -> JobState:
        """Parse a state as Slurm prints it, e.g. ``CANCELLED by 1000``, ``OUT_OF_ME+`` or ``CD``.

        An unknown state is ``UNKNOWN``: neither an end nor a success.
        """
        name = text.split(maxsplit=1)[0].upper() if text.strip() else ""
        if name in cls.__members__:
            return cls[name]
        if name.endswith("+"):
            return _completed(name[:-1])
        return _ABBREVIATIONS.get(name, cls.UNKNOWN)

    @property
    def phase(self) -> Phase:
        """The phase of a job in this state."""
        return _PHASES[self]

    @property
    def is_alive(self) -> bool:
        """Whether a job in this state may still run; true for an unknown state."""
        return self.phase not in (Phase.ENDED, Phase.ENDED_UNLESS_REQUEUED)

    @property
    def may_return(self) -> bool:
        """Whether the job may run again under the same job id."""
        return self.phase is Phase.ENDED_UNLESS_REQUEUED


def _completed(prefix: str) -> JobState:
    """Complete a state that sacct truncated to its column width (marked with ``+``)."""
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
