"""The times between the end of a job and its message, and statistics of many of them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timeline:
    """The times of one job, in Unix seconds."""

    ended_s: float  # recorded by the job's last command
    slurm_ended_s: int  # Slurm's EndTime, which is rounded down
    noticed_s: float  # the poll that first showed the end, or no longer showed the job
    concluded_s: float  # when the outcome was confirmed and the log read
    accepted_s: float  # by Discord
    bound_s: float  # longest allowed wait: one poll interval and the grace period of accounting

    @property
    def latency_s(self) -> float:
        """How long the user waited."""
        return self.accepted_s - self.ended_s


@dataclass(frozen=True, slots=True)
class Spread:
    """Statistics of several durations, in seconds."""

    median: float
    p95: float
    max: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Compute them from at least one value; the 95th percentile is always one of the values."""
        ranked = sorted(values)
        index = max(0, -(-95 * len(ranked) // 100) - 1)
        return cls(statistics.median(ranked), ranked[index], ranked[-1])


PARTS: dict[str, Callable[[Timeline], float]] = {
    "latency": lambda job: job.latency_s,
    "after Slurm's EndTime": lambda job: job.accepted_s - job.slurm_ended_s,
    "until a poll shows the end": lambda job: job.noticed_s - job.ended_s,
    "until it is confirmed and explained": lambda job: job.concluded_s - job.noticed_s,
    "until Discord accepted the message": lambda job: job.accepted_s - job.concluded_s,
}


def spreads(timelines: Sequence[Timeline]) -> dict[str, Spread]:
    """Return statistics of each of the `PARTS`: the whole wait from either end time, and its sections."""
    return {name: Spread.of([part(timeline) for timeline in timelines]) for name, part in PARTS.items()}


def too_late(timelines: Sequence[Timeline]) -> list[Timeline]:
    """Return the timelines of the messages that arrived later than their bound allows."""
    return [timeline for timeline in timelines if timeline.latency_s > timeline.bound_s]
