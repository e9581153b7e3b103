"""The mean of several samples, for the history of a task."""

from __future__ import annotations

import dataclasses
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from jobmon_core.domain.telemetry.model import Cpu, Gpu, Node, Sample, Worker

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

T = TypeVar("T", Gpu, Worker, Node, Cpu)

# all other fields are as in the last sample, except those that `_gpu` takes from all samples
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
    """Return one sample for the spans of all ``samples``, at least one, oldest first.

    Figures are means weighted by the spans; what is no average is as in the last sample, but the extremes of
    GPU utilisation and the reasons for which a GPU was slowed down are those of all samples.
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
    """Return a record with changes; floats have one decimal, rates none, so that files stay small."""
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
    """Return the last record with the weighted means of the averaged fields where they are known."""
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
