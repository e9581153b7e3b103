"""Fold what a tracker's files say, record by record, into a `TrackerRun`; within limits."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.logs.tracker import Metric, loss_rank
from jobmon_core.domain.visible_text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmon_core.domain.logs.tracker import TrackerRun

_MAX_STEP = 2**53  # beyond it floats, and the readers of JSON, confuse neighbours
_MAX_TIME_S = 4e9  # in the year 2096
_MAX_DIGITS = 40


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one look reads and keeps."""

    names: frozenset[str] = frozenset()  # scalars that are kept in any case
    max_bytes: int = 4 * 2**20  # of each file; the next look reads on
    max_runs: int = 8  # of a place, the latest
    max_metrics: int = 48  # of a run
    max_losses: int = 64
    max_alerts: int = 32
    max_failures: int = 5
    max_text: int = 300  # characters
    max_name: int = 120


class RunBuilder:
    """A run that grows."""

    def __init__(self, run: TrackerRun, limits: Limits) -> None:
        """Begin with what is known of the run."""
        self.run = run
        self.limits = limits
        self._metrics = dict(run.metrics)
        self._losses = deque(run.losses, limits.max_losses)
        self._loss_name = run.loss_name
        self._step, self._updated_s = run.step, run.updated_s

    @property
    def step(self) -> int | None:
        """The highest step since the run was last started."""
        return self._step

    @property
    def updated_s(self) -> float | None:
        """When the tracker noted something last."""
        return self._updated_s

    def add(self, name: str, value: float, step: int | None, time_s: float | None) -> None:
        """Note a value of a scalar, the latest so far."""
        step, time_s = sound_step(step), sound_time(time_s)
        metric = Metric(value, step, time_s)
        known = self._metrics.get(name)
        if known and step is not None and step < (known.step or 0):
            self._step = step  # it went on from an earlier checkpoint
        if known or len(self._metrics) < self.limits.max_metrics or name in self.limits.names:
            self._metrics[name] = metric
        if name == self._loss_name:
            self._losses.append(metric)
        elif not known and self._is_better_loss(name):
            self._metrics[name] = metric
            self._loss_name = name
            self._losses.clear()
            self._losses.append(metric)
        self.reach(step, time_s)

    def reach(self, step: int | None, time_s: float | None) -> None:
        """Note that a step was reached."""
        if step is not None and (self._step is None or step > self._step):
            self._step = step
        if time_s is not None and (self._updated_s is None or time_s > self._updated_s):
            self._updated_s = time_s

    def start(self, time_s: float | None) -> None:
        """Note a start: of a run that has begun before, that it was resumed, and counts from its own step."""
        time_s = sound_time(time_s)
        if self.run.started_s is None:
            self.run = replace(self.run, started_s=time_s)
        elif time_s is not None:
            self.run = replace(self.run, resumed_s=time_s, ended_s=None, exit_code=None)
            self._step = None
        self.reach(None, time_s)

    def purge(self, step: int) -> None:
        """Forget the values from ``step`` on: the program goes on from there."""
        self._metrics = {
            name: metric
            for name, metric in self._metrics.items()
            if metric.step is None or metric.step < step
        }
        kept = [metric for metric in self._losses if metric.step is None or metric.step < step]
        self._losses = deque(kept, self.limits.max_losses)
        self._step = None

    def built(self) -> TrackerRun:
        """Return the run."""
        return replace(
            self.run,
            metrics=self._metrics,
            loss_name=self._loss_name,
            losses=tuple(self._losses),
            step=self._step,
            updated_s=self._updated_s,
        )

    def _is_better_loss(self, name: str) -> bool:
        rank = loss_rank(name)
        if rank is None:
            return False
        present = loss_rank(self._loss_name)
        return present is None or rank < present


# how programs name the steps to come; those of Hugging Face's Trainer, Lightning, and common scripts
_TOTALS = (
    *("max_steps", "total_steps", "max_train_steps", "num_training_steps", "train_steps", "training_steps"),
    *("num_train_steps", "max_iters", "total_iters", "num_steps", "train_iters", "n_steps"),
)
# the true step, where a library counts its own calls
_STEPS = ("train/global_step", "trainer/global_step", "global_step")


def total_in(config: Mapping[str, object]) -> int | None:
    """Return how many steps a run's configuration announces; values may be numbers or their texts."""
    found = (sound_step(real_of(config.get(name))) for name in _TOTALS)
    return next((total for total in found if total), None)


def step_in(record: Mapping[str, object], counted: int | None) -> int | None:
    """Return the step of a record of scalars: what the program says, else what its tracker ``counted``."""
    found = (sound_step(real_of(record.get(name))) for name in _STEPS)
    return next((step for step in found if step is not None), counted)


def real_of(value: object) -> float | None:
    """Return a number of JSON, or the text of one; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, str) and len(value) > _MAX_DIGITS:
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def sound_step(step: float | None) -> int | None:
    """Return a step; None if no program counts so far."""
    if step is None or not math.isfinite(step) or not 0 <= step < _MAX_STEP:
        return None
    return int(step)


def sound_time(time_s: float | None) -> float | None:
    """Return a time; None if it cannot be one."""
    return time_s if time_s is not None and 0 < time_s < _MAX_TIME_S else None


def short(text: object, at_most: int) -> str:
    """Return a text on one line, cut to ``at_most`` characters; empty if it is none."""
    if not isinstance(text, str):
        return ""
    # four times as much: blanks are joined
    line = " ".join(one_line(text[: 4 * at_most]).split())
    return line if len(line) <= at_most else f"{line[: at_most - 1]}…"
