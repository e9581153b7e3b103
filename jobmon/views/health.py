"""The health of a job on a page, that of several jobs in a table, and both as JSON."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from jobmon.views.artifacts import disk_text
from jobmon.views.console import Style
from jobmon.views.model import age, iso, json_number
from jobmon.views.record import fields, known_fields
from jobmon.views.table import Cell, Shrink, table_lines
from jobmon.views.telemetry.figures import percent
from jobmon_core.domain.artifacts.model import Disk
from jobmon_core.domain.humanize import count, duration, rate
from jobmon_core.domain.logs.progress.figures import done, loss, percentage, units
from jobmon_core.domain.node.health.model import NetworkState, Stage
from jobmon_core.domain.visible_text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon.views.console import Console
    from jobmon_core.domain.node.health.model import (
        CheckpointHealth,
        ClusterResources,
        GpuHealth,
        HealthReport,
        NetworkVerdict,
    )

_LABEL = 13  # columns
_INDENT = "  "
_EVIDENCE = "evidence"  # marks a row with a line of NCCL's log or figures of the network: cut, not wrapped
_MAX_EVIDENCE = 4
_NCCL = re.compile(r"^.*?\bNCCL (?:INFO|WARN) ")  # the host, the process and the GPU, before what NCCL says
_WORDS = {True: "healthy", False: "UNHEALTHY", None: "not known"}
_STYLES = {True: Style.GOOD, False: Style.BAD, None: Style.ATTENTION}
_HEADERS = ("JOB", "NAME", "STATE", "HEALTH", "PROGRESS", "GPU", "NETWORK", "CHECKPOINT")
_STEPS = (Shrink(4, 12), Shrink(1, 8), Shrink(7, 8), Shrink(6, 8), Shrink(2, 9))


def health_lines(report: HealthReport, console: Console) -> Iterator[str]:
    """Yield the page about one job: whether it is healthy, what is wrong, then the figures."""
    yield from _head(report, console)
    yield from _issues(report, console)
    rows = [row for row in _rows(report) if row[1]]
    yield from [""] if rows else []
    for label, text in rows:
        if label == _EVIDENCE:
            yield console.line(f"{_INDENT}{'':<{_LABEL}}{text}")
        else:
            yield from console.prose(text, f"{_INDENT}{label:<{_LABEL}}", _INDENT + " " * _LABEL)


def table_of_health(reports: Sequence[HealthReport], console: Console) -> Iterator[str]:
    """Yield a line for each job, those with issues first, then their issues and how many are healthy."""
    ranked = sorted(reports, key=lambda report: (report.healthy is not False, report.healthy is True))
    rows = [_row(report) for report in ranked]
    yield from table_lines(_HEADERS, rows, console, _STEPS)
    for report in ranked:
        if report.issues:
            yield ""
            yield console.bold(f"{report.ref} {report.name}".rstrip())
            yield from _issues(report, console)
    yield ""
    counted = Counter(report.healthy for report in reports)
    parts = [f"{counted[each]} {word.lower()}" for each, word in _WORDS.items() if counted[each]]
    yield f"{count(len(reports), 'job')}: {', '.join(parts)}"


def health_json(report: HealthReport) -> dict[str, Any]:
    """Return the documented object of ``jobmon health --json``; what is not known is null."""
    return {
        "at": iso(report.at_s),
        **known_fields(report, "name", "state", job_id="ref"),
        **fields(report, "stage", "healthy", "why", "issues", "advice", "notes"),
        "elapsed_s": _plain(report.elapsed_s),
        "progress": _progress_json(report),
        "gpus": _gpus_json(report.gpus),
        "network": _network_json(report.network),
        "ray": asdict(report.cluster) if report.cluster else None,
        "checkpoints": _checkpoints_json(report),
        "disks": [asdict(each) for each in report.disks],
        **fields(report, "errors", "not_seen"),
    }


def all_health_json(reports: Sequence[HealthReport]) -> list[dict[str, Any]]:
    """Return the objects of several jobs."""
    return [health_json(report) for report in reports]


def _row(report: HealthReport) -> list[Cell | str]:
    hidden = report.network.state is NetworkState.NOT_APPLICABLE or report.stage is Stage.WAITING
    network = "" if hidden else report.network.state
    saved, found = report.checkpoints, report.progress
    when = saved.age_s(report.at_s) if saved else None
    fraction = found.fraction if found else None
    progress = "" if found is None else units(found) if fraction is None else percentage(fraction)
    health = Cell(_WORDS[report.healthy], _STYLES[report.healthy])
    figures = (progress, _gpus_short(report.gpus), network, "" if when is None else f"{age(when)} ago")
    return [report.ref, report.name, report.state, health, *(text or "-" for text in figures)]


def _head(report: HealthReport, console: Console) -> Iterator[str]:
    name = f"Job {report.ref} {report.name}".rstrip() if report.ref else report.name
    state = f", {report.state}" if report.state else ""
    elapsed = (
        f" for {duration(report.elapsed_s)}" if report.elapsed_s and report.stage is Stage.RUNNING else ""
    )
    word = _WORDS[report.healthy] if report.healthy is not None else "health not known"
    text = one_line(f"{name}{state}{elapsed}: {word}")
    yield from (console.styled(line, _STYLES[report.healthy]) for line in console.prose(text))
    if not report.issues:
        yield from console.prose(f"{report.why[:1].upper()}{report.why[1:]}.")


def _issues(report: HealthReport, console: Console) -> Iterator[str]:
    for text, advice in zip(report.issues, report.advice, strict=True):
        yield from console.prose(text, f"{_INDENT}- ", _INDENT * 2)
        if advice:
            yield from console.advice(advice, f"{_INDENT}  -> ", f"{_INDENT}     ")


def _rows(report: HealthReport) -> Iterator[tuple[str, str]]:
    """Yield the figures with their labels; of a job that does not run, only what is known."""
    runs = report.stage is Stage.RUNNING
    yield "progress", _progress(report) or ("not known" if runs else "")
    yield "GPUs", _gpus(report.gpus) if runs or report.gpus.allocated else ""
    if runs or report.network.state is not NetworkState.UNKNOWN:
        yield from _network(report.network)
    if report.cluster:
        yield "Ray", _cluster(report.cluster)
    yield "checkpoints", _checkpoints(report.checkpoints, report.at_s) or ("none found" if runs else "")
    for disk in report.disks:
        room = Disk(disk.free_bytes, disk.total_bytes, disk.free_inodes or 0, disk.total_inodes or 0)
        yield "disk", f"{disk.path}: {disk_text(room)}"
    yield from (("log", line) for line in report.errors)
    yield from (("note", text) for text in report.notes)
    yield from (("not seen", text) for text in report.not_seen)


def _progress(report: HealthReport) -> str:
    found, estimate = report.progress, report.estimate
    if found is None:
        return ""
    per_s = found.rate_per_s if estimate.rate_per_s is None else estimate.rate_per_s
    left = f"{duration(estimate.remaining_s)} left" if estimate.remaining_s is not None else ""
    parts = (
        done(found),
        rate(per_s, found.unit),
        f"loss {shown}" if (shown := loss(found.loss)) else "",
        left if report.stage is Stage.RUNNING else "",
    )
    return ", ".join(filter(None, parts))


def _gpus_short(found: GpuHealth) -> str:
    if not found.allocated:
        return ""
    return f"{found.allocated}x {percent(found.mean_percent) or '?'}"


def _gpus(found: GpuHealth) -> str:
    if found.allocated is None:
        return "not known"
    if not found.allocated:
        return "none"
    used = "" if found.used is None else f"{found.used} used"
    busy = percent(found.mean_percent)
    span = f" over the last {duration(found.span_s)}" if found.span_s else ""
    idle = ""
    if found.idle:
        idle = f"idle: {'all' if len(found.idle) == found.allocated else ', '.join(found.idle)}"
    parts = (f"{found.allocated} allocated", used, busy and f"{busy} busy{span}", idle)
    return ", ".join(filter(None, parts))


def _network(found: NetworkVerdict) -> Iterator[tuple[str, str]]:
    # a slow network is an issue, and the page shows the text and the advice of issues above
    yield "network", f"{found.state}: {found.transport if found.is_slow else found.text}"
    yield from ((_EVIDENCE, _NCCL.sub("NCCL: ", line)) for line in found.evidence[:_MAX_EVIDENCE])
    if found.advice and not found.is_slow:
        yield "", f"-> {found.advice}"


def _cluster(found: ClusterResources) -> str:
    def held(number: float | None, total: float | None, noun: str) -> str:
        return "" if total is None else f"{'?' if number is None else f'{number:g}'} of {total:g} {noun} held"

    parts = (held(found.gpus_held, found.gpus, "GPUs"), held(found.cpus_held, found.cpus, "CPUs"))
    return ", ".join(filter(None, parts)) or "not known"


def _checkpoints(found: CheckpointHealth | None, at_s: float) -> str:
    if found is None:
        return ""
    age_s = found.age_s(at_s)
    if age_s is None:
        return f"{found.problem}: {found.folder}" if found.problem else f"none yet, in {found.folder}"
    step = f"step {found.step}, " if found.step is not None else ""
    doubt = {None: ", not certain to be complete", False: ", NOT COMPLETE", True: ""}[found.is_complete]
    due = ""
    if found.next_s is not None:
        late_s = at_s - found.next_s
        due = f", next due in {age(-late_s)}" if late_s <= 0 else f", next due {age(late_s)} ago"
    number = f"; {count(found.count, 'checkpoint')}" if found.count else ""
    return f"{step}saved {age(age_s)} ago{doubt}{due}{number} in {found.folder}"


def _progress_json(report: HealthReport) -> dict[str, Any] | None:
    found, estimate = report.progress, report.estimate
    if found is None:
        return None
    fraction = found.fraction
    return {
        "progress_pct": None if fraction is None else round(100 * fraction, 2),
        "items_processed": _plain(found.current),
        "total_items": _plain(found.total),
        "unit": found.unit,
        "epoch": _plain(found.epoch),
        "loss": _plain(found.loss),
        "throughput": _plain(found.rate_per_s if estimate.rate_per_s is None else estimate.rate_per_s),
        "eta_seconds": _plain(estimate.remaining_s),
    }


def _gpus_json(found: GpuHealth) -> dict[str, Any]:
    mean = found.mean_percent
    known = fields(found, "allocated", "used", "idle", "span_s", utilization="utilizations")
    return known | {"avg_utilization": None if mean is None else round(mean, 1)}


def _network_json(found: NetworkVerdict) -> dict[str, Any]:
    return fields(found, "text", "evidence", verdict="state") | known_fields(found, "transport", "advice")


def _checkpoints_json(report: HealthReport) -> dict[str, Any] | None:
    found = report.checkpoints
    if found is None:
        return None
    age_s = found.age_s(report.at_s)
    return {
        **fields(found, "folder", "count", "step", "interval_s", complete="is_complete"),
        **known_fields(found, "problem", latest="name"),
        "saved": iso(found.saved_s),
        "age_s": None if age_s is None else round(age_s, 1),
        "next_due": iso(found.next_s),
        "overdue": found.is_overdue(report.at_s, report.elapsed_s),
    }


def _plain(value: float | None) -> float | int | str | None:
    """Return a number for JSON; one with a fraction is rounded to six significant digits."""
    number = json_number(value)
    return float(f"{number:.6g}") if isinstance(number, float) else number
