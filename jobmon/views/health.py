"""The health of a job on a page, that of several jobs in a table, and both as JSON."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING

from jobmon.views.artifacts import disk_text
from jobmon.views.console import Style
from jobmon.views.model import age, fields, iso, json_number, known_fields, rounded
from jobmon.views.table import Cell, table_lines
from jobmon.views.telemetry import percent
from jobmon_core.domain.finding import Severity
from jobmon_core.domain.humanize import count, duration, joined, rate, text_of
from jobmon_core.domain.logs.progress.figures import done, loss, share
from jobmon_core.domain.node.health.model import NetworkState, Stage
from jobmon_core.domain.visible_text import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon.views.console import Console, Lines, Rows
    from jobmon.views.model import Json
    from jobmon_core.domain.artifacts.disk import Disk
    from jobmon_core.domain.artifacts.model import Checkpoints
    from jobmon_core.domain.finding import Finding
    from jobmon_core.domain.node.health.model import (
        ClusterResources,
        GpuHealth,
        HealthReport,
    )


_LABEL = 13  # columns
_INDENT = "  "
EVIDENCE = "evidence"  # marks a row with a line of NCCL's log or figures of the network: cut, not wrapped
_MAX_EVIDENCE = 4
_NCCL = re.compile(r"^.*?\bNCCL (?:INFO|WARN) ")  # the host, the process and the GPU, before what NCCL says
WORDS = {True: "healthy", False: "UNHEALTHY", None: "not known"}
_DOUBTS = {True: "", False: ", NOT COMPLETE", None: ", not certain to be complete"}  # by `is_complete`
_STYLES = {True: Style.GOOD, False: Style.BAD, None: Style.ATTENTION}
_HEADERS = ("JOB", "NAME", "STATE", "HEALTH", "PROGRESS", "GPU", "NETWORK", "CHECKPOINT")
_STEPS = ((4, 12), (1, 8), (7, 8), (6, 8), (2, 9))


def health_lines(report: HealthReport, console: Console) -> Lines:
    """Yield whether a job is healthy, what is wrong, then the figures."""
    yield from _head(report, console)
    yield from _issues(report, console)
    rows = [row for row in health_rows(report) if row[1]]
    yield from [""] if rows else []
    for label, text in rows:
        if label == EVIDENCE:
            yield console.line(f"{_INDENT}{'':<{_LABEL}}{text}")
        else:
            yield from console.prose(text, f"{_INDENT}{label:<{_LABEL}}", _INDENT + " " * _LABEL)


def table_of_health(reports: Sequence[HealthReport], console: Console) -> Lines:
    """Yield a line for each job, those with issues first, then their issues and the numbers."""
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
    parts = [f"{counted[each]} {word.lower()}" for each, word in WORDS.items() if counted[each]]
    yield f"{count(len(reports), 'job')}: {', '.join(parts)}"


def health_json(report: HealthReport) -> Json:
    """Return the documented object of ``jobmon health --json``; what is not known is null."""
    return {
        "at": iso(report.at_s),
        **known_fields(report, "name", "state", job_id="ref"),
        **fields(report, "stage", "healthy", "why", "issues", "advice", "notes"),
        "elapsed_s": _plain(report.elapsed_s),
        "progress": _progress_json(report),
        "gpus": _gpus_json(report.gpus),
        "network": {
            **fields(report.network, "text", "evidence", verdict="id"),
            **known_fields(report.network, "advice", transport="title"),
        },
        "ray": asdict(report.cluster) if report.cluster else None,
        "checkpoints": _checkpoints_json(report),
        "disks": [_disk_json(path, disk) for path, disk in report.disks.items()],
        **fields(report, "errors", "not_seen"),
    }


def all_health_json(reports: Sequence[HealthReport]) -> list[Json]:
    """Return the objects of several jobs."""
    return [health_json(report) for report in reports]


def _row(report: HealthReport) -> list[Cell | str]:
    progress = network = when = ""
    if report.progress:
        progress = share(report.progress)
    if report.network.id != NetworkState.NOT_APPLICABLE and report.stage is not Stage.WAITING:
        network = report.network.id
    if report.checkpoints and (age_s := report.checkpoints.age_s(report.at_s)) is not None:
        when = f"{age(age_s)} ago"
    figures = (progress, _gpus_short(report.gpus), network, when)
    health = Cell(WORDS[report.healthy], _STYLES[report.healthy])
    return [report.ref, report.name, report.state, health, *(text or "-" for text in figures)]


def _head(report: HealthReport, console: Console) -> Lines:
    text = report.name
    if report.ref:
        text = f"Job {report.ref} {report.name}".rstrip()
    if report.state:
        text += f", {report.state}"
    if report.elapsed_s and report.stage is Stage.RUNNING:
        text += f" for {duration(report.elapsed_s)}"
    word = "health not known" if report.healthy is None else WORDS[report.healthy]
    lines = console.prose(one_line(f"{text}: {word}"))
    yield from (console.styled(line, _STYLES[report.healthy]) for line in lines)
    if not report.wrong:
        yield from console.prose(f"{report.why[:1].upper()}{report.why[1:]}.")


def _issues(report: HealthReport, console: Console) -> Lines:
    for issue in report.wrong:
        yield from console.prose(issue.sentence, f"{_INDENT}- ", _INDENT * 2)
        if issue.advice:
            yield from console.advice(issue.advice, f"{_INDENT}  -> ", f"{_INDENT}     ")


def health_rows(report: HealthReport) -> Rows:
    """Yield the figures; of a job that does not run, only what is known."""
    runs = report.stage is Stage.RUNNING
    yield "progress", _progress(report) or ("not known" if runs else "")
    if runs or report.gpus.allocated:
        yield "GPUs", _gpus(report.gpus)
    if runs or report.network.id != NetworkState.UNKNOWN:
        yield from _network(report.network)
    if report.cluster:
        yield "Ray", _cluster(report.cluster)
    if report.checkpoints:
        yield "checkpoints", _checkpoints(report.checkpoints, report.at_s)
    elif runs:
        yield "checkpoints", "none found"
    yield from (("disk", f"{path}: {disk_text(disk)}") for path, disk in report.disks.items())
    yield from (("log", line) for line in report.errors)
    yield from (("note", text) for text in report.notes)
    yield from (("not seen", text) for text in report.not_seen)


def _disk_json(path: str, disk: Disk) -> Json:
    known = fields(disk, "free_bytes", "total_bytes", "free_inodes", "total_inodes")
    if not disk.total_inodes:  # it does not limit them
        known |= {"free_inodes": None, "total_inodes": None}
    return {"path": path, **known}


def _rate_per_s(report: HealthReport) -> float | None:
    if report.progress and report.estimate.rate_per_s is None:
        return report.progress.rate_per_s
    return report.estimate.rate_per_s


def _progress(report: HealthReport) -> str:
    found, left_s = report.progress, report.estimate.remaining_s
    if found is None:
        return ""
    parts = [done(found), rate(_rate_per_s(report), found.unit)]
    if shown := loss(found.loss):
        parts.append(f"loss {shown}")
    if left_s is not None and report.stage is Stage.RUNNING:
        parts.append(f"{duration(left_s)} left")
    return joined(*parts)


def _progress_json(report: HealthReport) -> Json | None:
    found = report.progress
    if found is None:
        return None
    return {
        "progress_pct": None if found.fraction is None else round(100 * found.fraction, 2),
        "items_processed": _plain(found.current),
        "total_items": _plain(found.total),
        "unit": found.unit,
        "epoch": _plain(found.epoch),
        "loss": _plain(found.loss),
        "throughput": _plain(_rate_per_s(report)),
        "eta_seconds": _plain(report.estimate.remaining_s),
    }


def _gpus_short(found: GpuHealth) -> str:
    if not found.allocated:
        return ""
    return f"{found.allocated}x {percent(found.mean_percent) or '?'}"


def _gpus(found: GpuHealth) -> str:
    if found.allocated is None:
        return "not known"
    if not found.allocated:
        return "none"
    parts = [f"{found.allocated} allocated"]
    if found.used is not None:
        parts.append(f"{found.used} used")
    if busy := percent(found.mean_percent):
        span = ""
        if found.span_s:
            span = f" over the last {duration(found.span_s)}"
        parts.append(f"{busy} busy{span}")
    if found.idle:
        names = "all" if len(found.idle) == found.allocated else ", ".join(found.idle)
        parts.append(f"idle: {names}")
    return ", ".join(parts)


def _gpus_json(found: GpuHealth) -> Json:
    mean = found.mean_percent
    known = fields(found, "allocated", "used", "idle", "span_s", utilization="utilizations")
    return known | {"avg_utilization": rounded(mean)}


def _network(found: Finding) -> Rows:
    # a slow network is an issue, and the page shows the text and the advice of issues above
    is_slow = found.severity is Severity.WARNING
    yield "network", f"{found.id}: {found.title if is_slow else found.text}"
    yield from ((EVIDENCE, _NCCL.sub("NCCL: ", line)) for line in found.evidence[:_MAX_EVIDENCE])
    if found.advice and not is_slow:
        yield "", f"-> {found.advice}"


def _cluster(found: ClusterResources) -> str:
    parts = []
    kinds = ((found.gpus_held, found.gpus, "GPUs"), (found.cpus_held, found.cpus, "CPUs"))
    for number, total, noun in kinds:
        if total is not None:
            held = text_of(number, "{:g}".format, "?")
            parts.append(f"{held} of {total:g} {noun} held")
    return ", ".join(parts) or "not known"


def _checkpoints(found: Checkpoints, at_s: float) -> str:
    age_s = found.age_s(at_s)
    if age_s is None:
        if found.problem:
            return f"{found.problem}: {found.folder}"
        return f"none yet, in {found.folder}"
    text = f"saved {age(age_s)} ago{_DOUBTS[found.is_complete]}"
    if found.step is not None:
        text = f"step {found.step}, {text}"
    if found.next_s is not None:
        late_s = at_s - found.next_s
        text += f", next due in {age(-late_s)}" if late_s <= 0 else f", next due {age(late_s)} ago"
    if found.count:
        text += f"; {count(found.count, 'checkpoint')}"
    return f"{text} in {found.folder}"


def _checkpoints_json(report: HealthReport) -> Json | None:
    found = report.checkpoints
    if found is None:
        return None
    age_s = found.age_s(report.at_s)
    return {
        **fields(found, "folder", "count", "step", "interval_s", complete="is_complete"),
        **known_fields(found, "problem", latest="name"),
        "saved": iso(found.newest.modified_s if found.newest else None),
        "age_s": rounded(age_s),
        "next_due": iso(found.next_s),
        "overdue": found.is_overdue(report.at_s, report.elapsed_s or 0.0),
    }


def _plain(value: float | None) -> float | int | str | None:
    """Return a number for JSON, with at most six significant digits."""
    number = json_number(value)
    if isinstance(number, float):
        return float(f"{number:.6g}")
    return number
