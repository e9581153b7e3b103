"""Estimate when a program will end, from counts that the caller passes on."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from jobmon.api.records import record_from
from jobmon_core.domain.logs.progress.estimate import estimate
from jobmon_core.domain.logs.progress.events.detect import Paces, compare_paces
from jobmon_core.domain.logs.progress.history import add_sample
from jobmon_core.domain.logs.progress.model import Confidence, History, Sample

_SLOWER_PERCENT = 20.0
_SLOWER_THAN_EVER = 1.08  # times the seconds per unit of the slowest earlier stretch


@dataclass(frozen=True, slots=True, kw_only=True)
class Eta:
    """When a program will end. None means that there are too few data yet, or that the total is not known."""

    fraction: float | None  # the finished share, 0 to 1
    elapsed_s: float
    remaining_s: float | None
    ends_s: float | None  # Unix seconds
    shortest_s: float | None  # the range of `remaining_s`
    longest_s: float | None
    rate_per_s: float | None  # recently
    average_rate_per_s: float | None
    confidence: Confidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Slowdown:
    """A program that has become slower than it ever was."""

    percent: float  # how much lower its speed is than its usual one
    rate_per_s: float
    usual_rate_per_s: float
    best_rate_per_s: float


class ProgressEstimator:
    """Follows one program. Its memory does not grow with the length of the run."""

    def __init__(self) -> None:
        """Begin without data."""
        self._history = History()
        self._total: float | None = None
        self._started_s: float | None = None
        self._now_s = 0.0
        self._before_slowdown: Paces | None = None  # while it is slow: its speeds before

    def update(self, current: float, total: float | None, at_s: float | None = None) -> None:
        """Record that ``current`` of ``total`` units were done at ``at_s`` (Unix seconds; default: now).

        A count that falls by more than a tenth begins a new run.
        """
        self._now_s = time.time() if at_s is None else at_s
        self._started_s = self._now_s if self._started_s is None else self._started_s
        self._total = total
        self._history = add_sample(self._history, Sample(self._now_s, current))

    def estimate_eta(self, now_s: float | None = None) -> Eta:
        """Return when the program will end, as of ``now_s`` (default: the last update).

        The estimate needs three updates and 5 % of the work. Pauses at checkpoints, a change of speed and a
        drift count.
        """
        now_s = self._now_s if now_s is None else now_s
        found = estimate(self._history, self._total, now_s)
        samples = self._history.samples
        fraction = None
        if samples and self._total:
            fraction = min(1.0, samples[-1].current / self._total)
        if fraction == 1.0:
            found = replace(found, remaining_s=0.0, shortest_s=0.0, longest_s=0.0)
        return record_from(
            Eta,
            found,
            fraction=fraction,
            elapsed_s=now_s - (now_s if self._started_s is None else self._started_s),
            ends_s=None if found.remaining_s is None else now_s + found.remaining_s,
        )

    def detect_slowdown(self, percent: float = _SLOWER_PERCENT) -> Slowdown | None:
        """Return how slow the program has become; None if it has not, or if it is too early to say.

        Call it after each update. The latest speed must be more than ``percent`` below the usual one, and
        clearly below the slowest earlier stretch of the same length: a run with pauses is always below its
        highest speed.
        """
        paces = compare_paces(self._history, self._total)
        if paces is None:
            return None
        before = self._before_slowdown or paces
        bound = max(before.usual / (1 - percent / 100), _SLOWER_THAN_EVER * before.worst)
        if min(paces.now, paces.newest) <= bound:
            self._before_slowdown = None
            return None
        self._before_slowdown = before
        return Slowdown(
            percent=100 * (1 - before.usual / paces.now),
            rate_per_s=1 / paces.now,
            usual_rate_per_s=1 / before.usual,
            best_rate_per_s=1 / before.best,
        )
