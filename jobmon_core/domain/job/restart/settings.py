"""What the user asks for about restarts of one job, by options or in its job configuration."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

FIRST_DELAY_S: Final = 60.0
MAX_DELAY_S: Final = 3600.0


class RestartMode(StrEnum):
    """What jobmon does after an end."""

    OFF = "off"
    OBSERVE = "observe"  # it only says what it would have done, and why
    ON = "on"


@dataclass(frozen=True, slots=True)
class RestartSettings:
    """When a job is started again, and how. Without these settings it never is."""

    mode: RestartMode = RestartMode.OFF
    on: tuple[str, ...] = ()  # names of budgets or labels of causes; empty: all that the rules restart
    max_restarts: int | None = None  # over all causes; None: only the budgets count
    budgets: dict[str, int] = field(default_factory=dict)  # in place of those of the rules, by name
    delay_s: float = FIRST_DELAY_S  # before the first restart; it doubles with each without progress
    max_delay_s: float = MAX_DELAY_S
    resume_arg: str = ""  # words for the script from the second attempt on; ``{path}`` is the checkpoint
    never_on_exit: tuple[int, ...] = (93,)  # exit codes; 93 as of NVIDIA's ft_launcher
    again_on_exit: tuple[int, ...] = (75, 85, 99)  # EX_TEMPFAIL, HTCondor's checkpoint, Grid Engine's requeue
    grow_memory: float = 1.0  # factor after a proven lack of memory; 1: the request stays as it is
    grow_time: float = 1.0  # factor after a proven time-out
    set_aside: bool = False  # rename a newest checkpoint that is incomplete
    stall_is_failure_s: float | None = None  # cancel an attempt that stalls for so long
    current_script: bool = False  # submit the script as it is then, not as it was recorded

    @property
    def stall_limit_s(self) -> float | None:
        """After how many seconds a stalled attempt is cancelled; None: it never is."""
        return self.stall_is_failure_s if self.mode is RestartMode.ON else None


@dataclass(frozen=True, slots=True)
class AttemptPlace:
    """The place of a job in a lineage: one piece of work that may need several submissions."""

    lineage: str  # its id
    number: int = 0  # of the attempt, from 0
    resume_from: str = ""  # the checkpoint that it resumes from
    resume_step: int | None = None  # its step


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How `jobmon run` ran a command, on this machine or on a host."""

    output: str = ""  # as the user named the logs on this machine
    error: str = ""
    workdir: str = ""  # on the host
    output_dir: str = ""  # likewise, for its outputs
