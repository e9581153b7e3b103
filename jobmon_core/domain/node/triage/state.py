"""What triage remembers about a task between two looks. A monitor's files hold it."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Held:
    """A verdict that was reported."""

    since_s: float
    seen_s: float  # when it held last
    is_permanent: bool = False
    is_quiet: bool = False  # it was never worth a message


@dataclass(frozen=True, slots=True)
class TriageState:
    """What was judged and reported about a run."""

    judged_s: float = 0.0  # the last look
    started_s: float = 0.0  # of the run that all this is about
    held: dict[str, Held] = field(default_factory=dict)  # by name; not yet withdrawn
    stacks_wanted: bool = False  # whether the agents were asked for the stacks at the stall that still lasts
    reported: tuple[str, ...] = ()  # the names of all verdicts of this run that were worth a message
