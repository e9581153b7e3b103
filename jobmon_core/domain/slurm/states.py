"""The states of a Slurm job, and the phase that each of them implies.

Source: Slurm's ``job_state_codes`` documentation and ``slurm_protocol_defs.c``, 20.11 to 25.11.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Phase(StrEnum):
    """The progress of a job that its state alone implies."""

    WAITING = "waiting"  # not started, or requeued
    ACTIVE = "active"  # holds resources
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
    """Every state of Slurm, and ``UNKNOWN`` for those of future versions, each with its phase."""

    phase: Phase
    short: str  # the form of squeue's column ST; empty if there is none

    def __new__(cls, name: str, phase: Phase = Phase.UNKNOWN, short: str = "") -> Self:
        """Create the member ``name``."""
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

        Any other text, or an ambiguous abbreviation, is ``UNKNOWN``: neither an end nor a success.
        """
        name = ""
        if text.strip():
            name = text.split(maxsplit=1)[0].upper()
        if name in cls.__members__:
            return cls[name]
        if name.endswith("+"):  # sacct truncated it to its column width
            matches = [state for state in cls if state.startswith(name[:-1])]
        else:
            matches = [state for state in cls if name and state.short == name]
        if len(matches) == 1:
            return matches[0]
        return cls.UNKNOWN

    @property
    def is_alive(self) -> bool:
        """Whether a job in this state may still run; true for an unknown state."""
        return self.phase not in (Phase.ENDED, Phase.ENDED_UNLESS_REQUEUED)

    @property
    def may_return(self) -> bool:
        """Whether the job may run again under the same job id."""
        return self.phase is Phase.ENDED_UNLESS_REQUEUED


def stated_reason(reason: str) -> str:
    """Return the reason for a state; empty if Slurm gives none, which it writes as ``None``."""
    if reason == "None":
        return ""
    return reason
