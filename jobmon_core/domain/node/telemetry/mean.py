"""Which samples an agent keeps, so that its files stay small, and their means."""

from __future__ import annotations

import dataclasses
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from jobmon_core.domain.node.telemetry.model import Cpu, Gpu, Node, Sample, Worker

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


T = TypeVar("T", Gpu, Worker, Node, Cpu)

# others are as in the last sample, except those that `_gpu` takes from all samples
_AVERAGED = {
    Gpu: (
        *("utilization_percent", "memory", "power_w", "temperature_c"),
        *("sm_percent", "tensor_percent", "bandwidth_percent"),
    ),
    Worker: ("cpu_percent", "memory", "blocked_percent", "read_per_s", "written_per_s"),
    Node: ("load", "cpu_percent", "io_wait_percent", "memory_available", "received_per_s", "sent_per_s"),
    Cpu: ("used_percent", "throttled_percent", "runnable_threads"),
}
_FIELDS = {kind: [field.name for field in dataclasses.fields(kind)] for kind in _AVERAGED}
_DIGITS = 1  # after the point; rates are whole numbers


def mean_sample(samples: Sequence[Sample]) -> Sample:
    """Return one sample for all ``samples``, at least one, oldest first; means are weighted by the spans.

    The extremes of GPU utilisation and the reasons for which a GPU was slowed down are those of all samples.
    """
    last = samples[-1]
    if len(samples) == 1:
        return last
    workers: dict[tuple[int, float], list[tuple[Worker, float]]] = {}
    for sample in samples:
        for worker in sample.workers:
            workers.setdefault((worker.pid, worker.started_s), []).append((worker, sample.span_s))
    spans = [sample.span_s for sample in samples]
    cpus = [(sample.cpu, span_s) for sample, span_s in zip(samples, spans, strict=True) if sample.cpu]
    return dataclasses.replace(
        last,
        span_s=round(sum(spans), 1),
        node=_mean([(sample.node, span_s) for sample, span_s in zip(samples, spans, strict=True)]),
        cpu=_mean(cpus) if last.cpu else None,
        gpus=tuple(_gpu(gpu, samples) for gpu in last.gpus),
        workers=tuple(_mean(workers[worker.pid, worker.started_s]) for worker in last.workers),
    )


def rounded(record: T, changes: Mapping[str, Any] = MappingProxyType({})) -> T:
    """Floats have one decimal, rates none, so that files stay small."""
    values = dict(changes)
    for name in _FIELDS[type(record)]:
        value = values.get(name, getattr(record, name))
        if isinstance(value, float):
            values[name] = round(value, None if name.endswith("per_s") else _DIGITS) + 0.0
    return dataclasses.replace(record, **values)


def _gpu(last: Gpu, samples: Iterable[Sample]) -> Gpu:
    same = [(gpu, sample.span_s) for sample in samples for gpu in sample.gpus if gpu.index == last.index]
    lowest = [gpu.lowest_percent for gpu, _ in same if gpu.lowest_percent is not None]
    highest = [gpu.highest_percent for gpu, _ in same if gpu.highest_percent is not None]
    return dataclasses.replace(
        _mean(same),
        lowest_percent=min(lowest, default=None),
        highest_percent=max(highest, default=None),
        throttle_reasons=tuple(dict.fromkeys(reason for gpu, _ in same for reason in gpu.throttle_reasons)),
    )


def _mean(records: Sequence[tuple[T, float]]) -> T:
    last = records[-1][0]
    changes: dict[str, Any] = {}
    for name in _AVERAGED[type(last)]:
        values = [(getattr(record, name), weight) for record, weight in records]
        known = [(value, weight) for value, weight in values if value is not None]
        weights = sum(weight for _, weight in known)
        if weights > 0:
            mean = sum(value * weight for value, weight in known) / weights
            changes[name] = round(mean) if isinstance(known[0][0], int) else mean
    return rounded(last, changes)


_MINUTE_S, _DAY_S = 60.0, 86400.0
_DETAILED_S = 10 * _MINUTE_S  # at the start, every sample is kept
# up to which age of the agent, and the time between two stored means
_STEPS_S = ((_DETAILED_S, 0.0), (3 * _DAY_S, _MINUTE_S))
_LAST_STEP_S = 10 * _MINUTE_S  # of an older agent
_MAX_PENDING = 16  # when there are more, their mean replaces them


@dataclasses.dataclass(slots=True)
class Thinning:
    """Collects samples until their mean is due."""

    started_s: float  # of the agent
    step_s: float | None = None  # between two means; None: it grows with the agent's age
    _pending: list[Sample] = dataclasses.field(default_factory=list)  # oldest first; the first may be a mean
    _has_names: bool = False

    def add(self, sample: Sample) -> Sample | None:
        """Return the mean of the collected samples if it is due."""
        if len(self._pending) >= _MAX_PENDING:
            self._pending = [mean_sample(self._pending)]
        self._pending.append(sample)
        first = self._pending[0]
        age_s = sample.at_s - (first.at_s - first.span_s)
        if age_s >= self._step_s(sample.at_s) - sample.span_s / 2:
            return self.flush()
        return None

    def held_back(self) -> Sample | None:
        """Return the mean of the collected samples without the latest one."""
        if len(self._pending) > 1:
            return without_names(mean_sample(self._pending[:-1]))
        return None

    def flush(self) -> Sample | None:
        """Return the mean of the samples collected so far."""
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
    """Drop what the first stored sample has: the names of workers and GPUs, and UUIDs."""
    return dataclasses.replace(
        sample,
        workers=tuple(dataclasses.replace(worker, name="") for worker in sample.workers),
        gpus=tuple(dataclasses.replace(gpu, name="", uuid="") for gpu in sample.gpus),
    )
