"""Which samples an agent keeps for the history of a task, so that its files stay small."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from jobmon_core.domain.telemetry.measuring.mean import mean_sample

if TYPE_CHECKING:
    from jobmon_core.domain.telemetry.model import Sample

_MINUTE_S, _DAY_S = 60.0, 86400.0
_DETAILED_S = 10 * _MINUTE_S  # at the start of the agent's life: every sample is kept
# up to which age of the agent, and the time from one stored mean to the next
_STEPS_S = ((_DETAILED_S, 0.0), (3 * _DAY_S, _MINUTE_S))
_LAST_STEP_S = 10 * _MINUTE_S  # the same for an older agent
_MAX_PENDING = 16  # samples in memory; their mean replaces them when there are more


@dataclasses.dataclass(slots=True)
class Thinning:
    """Collects samples until their mean is due."""

    started_s: float  # of the agent
    step_s: float | None = None  # between two means; None: it grows with the age of the agent
    _pending: list[Sample] = dataclasses.field(default_factory=list)  # oldest first; the first may be a mean
    _has_names: bool = False

    def add(self, sample: Sample) -> Sample | None:
        """Take the next sample; return the mean of the collected ones if it is due."""
        if len(self._pending) >= _MAX_PENDING:
            self._pending = [mean_sample(self._pending)]
        self._pending.append(sample)
        first = self._pending[0]
        age_s = sample.at_s - (first.at_s - first.span_s)
        return self.flush() if age_s >= self._step_s(sample.at_s) - sample.span_s / 2 else None

    def held_back(self) -> Sample | None:
        """Return the mean of the collected samples without the latest one; None if there are none."""
        return without_names(mean_sample(self._pending[:-1])) if len(self._pending) > 1 else None

    def flush(self) -> Sample | None:
        """Return the mean of the samples collected so far; None if there are none."""
        if not self._pending:
            return None
        mean = mean_sample(self._pending)
        self._pending.clear()
        if self._has_names:
            return without_names(mean)
        self._has_names = bool(mean.workers or mean.gpus)
        return mean

    def _step_s(self, at_s: float) -> float:
        if self.step_s is not None:
            return self.step_s
        age_s = at_s - self.started_s
        return next((step_s for until_s, step_s in _STEPS_S if age_s <= until_s), _LAST_STEP_S)


def without_names(sample: Sample) -> Sample:
    """Return a sample without worker names, GPU names and UUIDs: the first one stored with any has them."""
    return dataclasses.replace(
        sample,
        workers=tuple(dataclasses.replace(worker, name="") for worker in sample.workers),
        gpus=tuple(dataclasses.replace(gpu, name="", uuid="") for gpu in sample.gpus),
    )
