"""Fold what a tracker says, record by record, into a `TrackerRun`; within limits. Values may be anything."""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING

from jobmon_core.domain.logs.tracker import COUNTS, Metric, RunStatus, loss_rank
from jobmon_core.domain.visible_text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jobmon_core.domain.logs.tracker import TrackerRun

_MAX_STEP = 2**53  # beyond it floats, and the readers of JSON, confuse neighbours
_MAX_TIME_S = 4e9  # in the year 2096
_MAX_TEXT = 64  # characters of a number or a time
_DEPTH, _MAX_NAMES = 4, 5_000  # of objects within objects
# how programs name the steps to come; those of Hugging Face's Trainer, Lightning, and common scripts
_TOTALS = (
    *("max_steps", "total_steps", "max_train_steps", "num_training_steps", "train_steps", "training_steps"),
    *("num_train_steps", "max_iters", "total_iters", "num_steps", "train_iters", "n_steps"),
)


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
        self.step, self.updated_s = (
            run.step,
            run.updated_s,
        )  # the highest since the last start; the latest time
        self._names: dict[str, str] = {}  # as they are kept, by those that the program gave

    def add(self, name: str, value: object, step: object, time_s: float | None) -> None:
        """Note a value of a scalar, the latest so far, if it is a number."""
        if (number := real_of(value)) is None:
            return
        kept = self._names.get(name)
        if kept is None:
            kept = self._names[name] = short(name, self.limits.max_name)
        at, time_s = step_of(step), sound_time(time_s)
        metric = Metric(number, at, time_s)
        known = self._metrics.get(kept)
        if known and at is not None and at < (known.step or 0):
            self.step = at  # it went on from an earlier checkpoint
        if known or len(self._metrics) < self.limits.max_metrics or kept in self.limits.names:
            self._metrics[kept] = metric
        if kept == self._loss_name:
            self._losses.append(metric)
        elif not known and self._is_better_loss(kept):
            self._metrics[kept] = metric
            self._loss_name = kept
            self._losses.clear()
            self._losses.append(metric)
        self.reach(at, time_s)

    def add_record(self, record: Mapping[str, object], counted: object, time: object) -> None:
        """Note the scalars of one step: that which the program names, else that which its tracker counted."""
        named = (step for name in COUNTS if (step := step_of(record.get(name))) is not None)
        step, time_s = next(named, step_of(counted)), sound_time(real_of(time))
        self.reach(step, time_s)
        for name, value in record.items():
            if not name.startswith("_"):
                self.add(name, value, step, time_s)

    def reach(self, step: int | None, time_s: float | None) -> None:
        """Note that a step was reached."""
        if step is not None and (self.step is None or step > self.step):
            self.step = step
        if time_s is not None and (self.updated_s is None or time_s > self.updated_s):
            self.updated_s = time_s

    def start(self, time_s: float | None) -> None:
        """Note a start: of a run that has begun before, that it was resumed, and counts from its own step."""
        time_s = sound_time(time_s)
        if self.run.started_s is None:
            self.run = replace(self.run, started_s=time_s)
        elif time_s is not None:
            self.run = replace(self.run, resumed_s=time_s, ended_s=None, exit_code=None)
            self.step = None
        self.reach(None, time_s)

    def purge(self, step: int) -> None:
        """Forget the values from ``step`` on: the program goes on from there."""
        self._metrics = {name: each for name, each in self._metrics.items() if (each.step or 0) < step}
        kept = [each for each in self._losses if (each.step or 0) < step]
        self._losses, self.step = deque(kept, self.limits.max_losses), None

    def built(self, *whys: str) -> TrackerRun:
        """Return the run; ``whys`` say why files of it could not be read completely, or are empty."""
        reasons = list(filter(None, whys))
        more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
        return replace(
            self.run,
            metrics=self._metrics,
            loss_name=self._loss_name,
            losses=tuple(self._losses),
            step=self.step,
            updated_s=self.updated_s,
            partial=f"{reasons[0]}{more}" if reasons else "",
        )

    def _is_better_loss(self, name: str) -> bool:
        rank, present = loss_rank(name), loss_rank(self._loss_name)
        return rank is not None and (present is None or rank < present)


def total_in(config: Mapping[str, object]) -> int | None:
    """Return how many steps a run's configuration announces; values may be numbers or their texts."""
    return next((total for name in _TOTALS if (total := step_of(config.get(name)))), None)


def real_of(value: object) -> float | None:
    """Return a number, or that in a text; None for anything else."""
    if isinstance(value, float):
        return value
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    try:
        return None if isinstance(value, str) and len(value) > _MAX_TEXT else float(value)
    except (ValueError, OverflowError):
        return None


def step_of(value: object) -> int | None:
    """Return a step, of a number or its text; None if no program counts so far."""
    step = value if type(value) is int else real_of(value)
    return int(step) if step is not None and 0 <= step < _MAX_STEP else None


def status_of(word: object) -> RunStatus:
    """Return the state that a tracker calls so."""
    known = str(word).lower()
    return RunStatus(known) if known in tuple(RunStatus) else RunStatus.UNKNOWN


def sound_time(time_s: float | None) -> float | None:
    """Return a time; None if it cannot be one."""
    return time_s if time_s is not None and 0 < time_s < _MAX_TIME_S else None


def time_of(text: object) -> float | None:
    """Return the time (Unix seconds) in a text of ISO 8601, of UTC if it does not say; None for no time."""
    if not isinstance(text, str) or len(text) > _MAX_TEXT:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return sound_time((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (ValueError, OverflowError):
        return None


def short(text: object, at_most: int) -> str:
    """Return a text on one line, cut to ``at_most`` characters; empty if it is none."""
    if not isinstance(text, str):
        return ""
    # four times as much: blanks are joined
    line = " ".join(one_line(text[: 4 * at_most]).split())
    return line if len(line) <= at_most else f"{line[: at_most - 1]}…"


def value_of(content: object) -> object:
    """Return the value of JSON, a text or bytes; None if it is damaged."""
    if not isinstance(content, str | bytes):
        return None
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def object_of(content: object) -> dict[str, object]:
    """Return the object in JSON, a text or bytes; an empty one for anything else."""
    found = value_of(content)
    return found if isinstance(found, dict) else {}


def within(value: object, *names: str) -> object:
    """Return what an object has under a name, within that under the next, and so on; None if it has not."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def flat(record: Mapping[str, object]) -> dict[str, object]:
    """Return the values of an object and of those within it, by their names with dots between."""
    return dict(islice(_flat(record, "", _DEPTH), _MAX_NAMES))


def _flat(record: Mapping[str, object], prefix: str, levels: int) -> Iterator[tuple[str, object]]:
    for name, value in record.items():
        if isinstance(value, dict) and levels:
            yield from _flat(value, f"{prefix}{name}.", levels - 1)
        else:
            yield f"{prefix}{name}", value
