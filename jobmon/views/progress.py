"""The progress of a program as text for a person and as JSON for a program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jobmon.views.figures import certainty
from jobmon.views.model import clock, iso, json_number
from jobmon.views.record import fields, known_fields
from jobmon.views.text_width import text_width
from jobmon.views.top.drawing import ASCII, bar
from jobmon_core.domain.humanize import duration, rate
from jobmon_core.domain.logs.progress.figures import batch, done, epoch, loss, metrics, units
from jobmon_core.domain.logs.progress.model import Progress
from jobmon_core.domain.visible_text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jobmon.views.console import Console
    from jobmon_core.app.jobs.progress import ProgressReport
    from jobmon_core.app.live.tasks import LiveTask

_LONG_BAR = 30 + len("[] ")  # columns
_SHORT_BAR = 10 + len("[] ")
_GAP = "   "
_INDENT = "  "
_ALMOST_ALL = 99.99  # %
_NUMBERS = {  # the keys in JSON of numbers in the log
    "items_processed": "current",
    "total_items": "total",
    "current_batch": "batch",
    "total_batches": "batches",
    "total_epochs": "epochs",
    "elapsed": "elapsed_s",
}
NOTHING_FOUND = "no progress found yet: the log shows no bar, and no line that counts epochs, steps or items"


def report_json(report: ProgressReport, now_s: float) -> dict[str, Any]:
    """Return the documented object of ``jobmon progress --json``; unknown values are null."""
    progress, found, remaining_s = report.progress or Progress(), report.estimate, report.remaining_s
    numbers = fields(progress, "epoch", "loss", "learning_rate", "grad_norm", **_NUMBERS)
    values = {
        "progress_pct": _percent(progress.fraction),
        **{key: json_number(value) for key, value in numbers.items()},
        **fields(progress, "unit", "unclear", "format", "run"),
        **known_fields(progress, "label", "end_marker"),
        "metrics": {name: json_number(value) for name, value in progress.metrics.items()},
        "throughput": json_number(found.rate_per_s or progress.rate_per_s),
        "eta_seconds": json_number(remaining_s),
        "eta_timestamp": None if remaining_s is None else iso(now_s + remaining_s),
        "eta_range": [json_number(end_s) for end_s in report.range_s] if report.range_s else None,
        "eta_confidence": found.confidence if found.remaining_s is not None else None,
        "average_throughput": json_number(found.average_rate_per_s),
        "last_update": None,
    }
    if report.progress is None:
        values = dict.fromkeys(values) | {"metrics": {}, "unclear": []}
    return values | {"last_update": iso(report.updated_s), "logs": list(report.logs)}


def metrics_json(tasks: Iterable[LiveTask]) -> dict[str, Any]:
    """Return the documented key ``metrics`` of ``jobmon show --json``: further metrics of the logs."""
    known = [(live.ref, live.progress.progress) for live in tasks if live.progress.progress]
    return {
        "metrics": [
            {"job_id": ref, "name": name, "value": json_number(value)}
            for ref, progress in known
            for name, value in progress.metrics.items()
        ]
    }


def _percent(fraction: float | None) -> float | None:
    """Return a share in %, 100 only for all of it."""
    if fraction is None:
        return None
    if fraction >= 1:
        return 100.0
    return min(round(100 * fraction, 2), _ALMOST_ALL)


def progress_lines(report: ProgressReport, progress: Progress, now_s: float, console: Console) -> list[str]:
    """Return the progress as a few lines for a person."""
    count = _count(progress)
    drawn = _bar(progress, console.width - len(count) if console.width else _LONG_BAR)
    lines = [console.line(f"{drawn}{count}")]
    times = [*_elapsed(progress), *_time_left(report), *_expected(report, now_s)]
    for parts in (_facts(report, progress), times, _notes(report, progress)):
        text = _GAP.join(parts)
        if text:
            lines += console.prose(text, _INDENT)
    return lines


def progress_line(report: ProgressReport, progress: Progress, now_s: float, console: Console) -> str:
    """Return the progress as one line; on a terminal, with as much as fits, the most important first."""
    text = _GAP.join((_count(progress), *_time_left(report)))
    for fact in (*_facts(report, progress), *_elapsed(progress), *_expected(report, now_s)):
        longer = f"{text}{_GAP}{fact}"
        if console.width and text_width(longer) > console.width - _SHORT_BAR:
            break
        text = longer
    drawn = _bar(progress, console.width - text_width(text) if console.width else _LONG_BAR)
    return console.line(f"{drawn}{text}")


def _count(progress: Progress) -> str:
    if progress.fraction is None:
        if progress.unclear:
            return units(progress)
        return f"{units(progress)} (total unknown)"
    return done(progress)


def _bar(progress: Progress, room: int) -> str:
    """Return a progress bar and a space, long or short as ``room`` (columns) allows.

    Empty if not even a short one fits, or if the total is not known.
    """
    taken = _SHORT_BAR
    if room >= _LONG_BAR:
        taken = _LONG_BAR
    if progress.fraction is None or room < taken:
        return ""
    return f"[{bar(progress.fraction, taken - len('[] '), ASCII)}] "


def _facts(report: ProgressReport, progress: Progress) -> Iterator[str]:
    if text := epoch(progress):
        yield text
    if text := batch(progress):
        yield text
    values = {"loss": progress.loss, "lr": progress.learning_rate, "grad norm": progress.grad_norm}
    yield from (f"{name} {loss(value)}" for name, value in values.items() if value is not None)
    if per_s := report.estimate.rate_per_s or progress.rate_per_s:
        yield rate(per_s, progress.unit)
    yield from map(one_line, metrics(progress))


def _elapsed(progress: Progress) -> Iterator[str]:
    if progress.elapsed_s is not None:
        yield f"elapsed {duration(progress.elapsed_s)}"


def _time_left(report: ProgressReport) -> Iterator[str]:
    """Yield the estimated time left, else the length of an unusual pause, else what the log says."""
    if report.estimate.remaining_s is not None:
        yield f"{duration(report.estimate.remaining_s)} left"
    elif report.pause_s is not None:
        yield f"no progress for {duration(report.pause_s)}"
    elif ends_s := report.range_s:
        yield f"{duration(ends_s[0])} to {duration(ends_s[1])} left, by its speed so far"
    elif report.remaining_s:
        yield f"{duration(report.remaining_s)} left, as the log says"


def _expected(report: ProgressReport, now_s: float) -> Iterator[str]:
    """Yield the time of the end and how certain it is."""
    if (left_s := report.estimate.remaining_s) is not None:
        yield f"ETA {clock(now_s + left_s, now_s)}{certainty(report.estimate)}"


def _notes(report: ProgressReport, progress: Progress) -> Iterator[str]:
    if report.is_over:
        yield "it has ended"
    elif progress.fraction == 1.0 and not progress.end_marker:
        yield "all counted"
    if progress.end_marker:
        yield f"the log says: {progress.end_marker}"
    if progress.run > 1:
        yield f"run {progress.run} in this log"
