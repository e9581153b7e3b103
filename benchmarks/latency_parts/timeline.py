"""One job's way from its end to Discord, and what many of them amount to."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timeline:
    """When what happened, in Unix seconds."""

    ended_s: float  # by the job's own last command
    slurm_ended_s: int  # by Slurm, which rounds down
    noticed_s: float  # the look at the queue that first showed the job's end, or the job no more
    made_s: float  # the message: witnesses were heard, and the log was read
    accepted_s: float  # by Discord
    bound_s: float  # how long it may take in all: one interval and accounting's grace

    @property
    def latency_s(self) -> float:
        """How long the user waited."""
        return self.accepted_s - self.ended_s


@dataclass(frozen=True, slots=True)
class Spread:
    """What many durations amount to, in seconds."""

    median: float
    p95: float
    max: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return it for at least one value; the 95th percentile is one of them, never between two."""
        ranked = sorted(values)
        at = max(0, -(-95 * len(ranked) // 100) - 1)
        return cls(statistics.median(ranked), ranked[at], ranked[-1])


PARTS: dict[str, Callable[[Timeline], float]] = {
    "latency": lambda way: way.latency_s,
    "after Slurm's EndTime": lambda way: way.accepted_s - way.slurm_ended_s,
    "until a look shows the end": lambda way: way.noticed_s - way.ended_s,
    "until it is proved and explained": lambda way: way.made_s - way.noticed_s,
    "until Discord took the message": lambda way: way.accepted_s - way.made_s,
}


def spreads(ways: Sequence[Timeline]) -> dict[str, Spread]:
    """Return the whole wait, by both clocks, and the parts of it."""
    return {name: Spread.of([part(way) for way in ways]) for name, part in PARTS.items()}


def late(ways: Sequence[Timeline]) -> list[Timeline]:
    """Return those that took longer than they may."""
    return [way for way in ways if way.latency_s > way.bound_s]
