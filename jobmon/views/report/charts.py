"""Which charts a report has, and what each of them shows in a few words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon.views.report import facts
from jobmon.views.report.chart import Chart, Line
from jobmon.views.telemetry import percent, power
from jobmon_core.domain.humanize import duration, plural, size
from jobmon_core.domain.job.report import usage
from jobmon_core.domain.job.report.series import (
    downsampled,
    envelope,
    loss_summary,
    progress_series,
    scaled,
    throughput_series,
)
from jobmon_core.domain.logs.progress.figures import loss

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from jobmon_core.app.jobs.report import ReportData
    from jobmon_core.domain.job.report.series import Series
    from jobmon_core.domain.job.report.usage import GpuUse, NodeUse
    from jobmon_core.domain.node.telemetry.model import Gpu, Sample

_GIB = 2.0**30
_MAX_LINES = 8  # of one chart: of more, only the mean, the extremes and the lowest line are drawn
_ODD_PERCENT = 15.0  # percentage points below the mean: then the least busy GPU is named
_LONG_PAUSE = 5.0  # times the usual time between two updates
_MIN_PAUSE_S = 120.0
_PER_HOUR_BELOW = 1.0 / 60  # units per second: a lower throughput is shown per hour
_S_PER_HOUR = 3600.0


def charts(data: ReportData) -> list[Chart]:
    """Return the charts of a report; those without figures are left out when they are drawn."""
    return [*_timeline_charts(data), *_gpu_charts(data), *_node_charts(data)]


def _timeline_charts(data: ReportData) -> Iterator[Chart]:
    progress, history = data.progress.progress, data.progress.history
    if progress is None:
        return
    unit = plural(progress.unit)
    yield Chart(
        "progress",
        facts.progress_text(data),
        f"Progress, {unit}",
        (Line("finished", progress_series(history)),),
        limit=progress.total,
        limit_label="total",
    )
    speed = throughput_series(history, data.window)
    is_slow = max((point.mean for point in speed.points), default=0.0) < _PER_HOUR_BELOW
    yield Chart(
        "throughput",
        facts.pace_text(data) + _pause(data),
        f"Throughput, {unit}/{'h' if is_slow else 's'}",
        (Line("speed", scaled(speed, 1 / _S_PER_HOUR) if is_slow else speed),),
    )
    if summary := loss_summary(history):
        finding = f"Loss from {loss(summary.first)} to {loss(summary.last)}, best {loss(summary.best)}"
        if facts.has_spike(summary):
            finding += f"; spike to {loss(summary.worst)} at {facts.elapsed(summary.worst_at_s, data)}"
        yield Chart("loss", finding, "Training loss", (Line("loss", summary.series),), from_zero=False)


def _pause(data: ReportData) -> str:
    history = data.progress.history
    idle_s = data.window.end_s - history.samples[-1].at_s if history.samples else 0.0
    longest_s = max(history.longest_pause_s, idle_s)
    if longest_s > max(_MIN_PAUSE_S, _LONG_PAUSE * history.median_pause_s):
        return f"; longest pause {duration(longest_s)}"
    return ""


def _gpu_charts(data: ReportData) -> Iterator[Chart]:
    uses = data.gpu_uses
    if not uses:
        return
    busy = Chart("gpu-busy", _busy(uses), "GPU utilisation, %", (), full=100.0)
    lines = _gpu_lines(data, uses, usage.utilisation, lambda use: percent(use.mean_percent) or "-")
    yield replace(_with_lines(busy, lines, data), band=_band(lines, data))
    fullest = max(uses, key=lambda use: use.memory_peak or 0)
    finding = f"At most {facts.of_total(fullest.memory_peak, fullest.memory_total)} on {_name(fullest)}"
    memory = _with_limit(
        Chart("gpu-memory", finding, "GPU memory, GiB", ()), {use.memory_total for use in uses}, "of each GPU"
    )
    lines = _gpu_lines(data, uses, usage.memory, lambda use: size(use.memory_peak or 0), _GIB)
    yield _with_lines(memory, lines, data)
    watts = sum(use.mean_power_w or 0.0 for use in uses)
    finding = f"{power(watts)} on average, {facts.energy(usage.energy_kwh(uses))} in all"
    lines = _gpu_lines(
        data, uses, usage.power, lambda use: facts.pair(use.mean_power_w, use.highest_power_w, " W")
    )
    yield _with_lines(Chart("gpu-power", finding, "GPU power, W", ()), lines, data)


def _gpu_lines(
    data: ReportData,
    uses: Sequence[GpuUse],
    reading: Callable[[Gpu], usage.Reading | None],
    summary: Callable[[GpuUse], str],
    divisor: float = 1.0,
) -> list[Line]:
    seen, lines = {node.name: node.gpus() for node in data.nodes}, []
    for use in uses:
        found = downsampled(usage.gpu_measures(seen[use.node][use.index], reading), data.window)
        lines.append(Line(_name(use), scaled(found, divisor), summary(use)))
    return lines


def _with_limit(chart: Chart, limits: Collection[int | None], name: str) -> Chart:
    """Return a chart with the limit (bytes) that all its lines have; with none if they differ."""
    if len(limits) != 1 or not (limit := next(iter(limits))):
        return chart
    return replace(chart, limit=limit / _GIB, limit_label=f"{limit / _GIB:.4g} GiB {name}")


def _with_lines(chart: Chart, lines: Sequence[Line], data: ReportData) -> Chart:
    if len(lines) <= _MAX_LINES:
        return replace(chart, lines=tuple(lines))
    band = _band(lines, data)
    lowest = min((line for line in lines if line.series.points), key=_mean, default=lines[0])
    shown = (Line(f"mean of {len(lines)}", band), lowest._replace(label=f"{lowest.label}, the lowest"))
    return replace(chart, lines=shown, band=band)


def _band(lines: Sequence[Line], data: ReportData) -> Series:
    return envelope([line.series for line in lines], data.window)


def _mean(line: Line) -> float:
    points = line.series.points
    return sum(point.mean for point in points) / len(points)


def _name(use: GpuUse) -> str:
    return f"{use.node} GPU {use.index}"


def _busy(uses: Sequence[GpuUse]) -> str:
    known = [(use.mean_percent, _name(use)) for use in uses if use.mean_percent is not None]
    if not known:
        return "The driver gives no utilisation"
    mean = sum(percent for percent, _ in known) / len(known)
    lowest, name = min(known)
    text = f"GPUs busy {mean:.0f}% of the time on average"
    if lowest < mean - _ODD_PERCENT:
        text += f"; {name} only {lowest:.0f}%"
    return text


def _node_charts(data: ReportData) -> Iterator[Chart]:
    uses = data.node_uses
    if not uses:
        return
    fullest = max(uses, key=_memory_share)
    if fullest.memory_peak is not None:
        peak = facts.of_total(fullest.memory_peak, fullest.memory_limit)
        finding = f"Memory peaked at {peak} on {fullest.name}"
        chart = Chart("memory", finding, "Memory of the job on each node, GiB", ())
        chart = _with_limit(chart, {use.memory_limit for use in uses}, "limit")
        lines = _node_lines(data, uses, _memory, lambda use: size(use.memory_peak or 0), _GIB)
        yield _with_lines(chart, lines, data)
    busy = [use.mean_cores for use in uses if use.mean_cores is not None]
    if busy:
        cores = sum(use.cores or 0.0 for use in uses)
        finding = f"{sum(busy):.1f} of {cores:g} cores busy on average"
        lines = _node_lines(
            data, uses, _cores, lambda use: facts.pair(use.mean_cores, use.highest_cores, "", 1)
        )
        yield _with_lines(Chart("cpu", finding, "CPU cores busy on each node", ()), lines, data)


def _node_lines(
    data: ReportData,
    uses: Sequence[NodeUse],
    reading: Callable[[Sample], float | None],
    summary: Callable[[NodeUse], str],
    divisor: float = 1.0,
) -> list[Line]:
    lines = []
    for node, use in zip(data.nodes, uses, strict=True):
        found = downsampled(usage.node_measures(node, reading), data.window)
        lines.append(Line(use.name, scaled(found, divisor), summary(use)))
    return lines


def _memory(sample: Sample) -> float | None:
    if sample.memory:
        return sample.memory.used
    return None


def _cores(sample: Sample) -> float | None:
    if sample.cpu and sample.cpu.used_percent is not None:
        return sample.cpu.used_percent / 100
    return None


def _memory_share(use: NodeUse) -> tuple[float, int]:
    peak = use.memory_peak or 0
    return peak / use.memory_limit if use.memory_limit else 0.0, peak
