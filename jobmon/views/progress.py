"""The progress of a program and its remaining time, as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.views.model import age, clock, fields, iso, json_number, known_fields, span, stamp
from jobmon.views.text_width import text_width
from jobmon.views.top.drawing import ASCII, bar
from jobmon_core.app.jobs.find import StateGroup
from jobmon_core.domain.humanize import duration, rate
from jobmon_core.domain.logs.progress.events.event import EventKind
from jobmon_core.domain.logs.progress.figures import batch, done, epoch, loss, metrics
from jobmon_core.domain.logs.progress.model import Progress
from jobmon_core.domain.visible_text import one_line
from jobmon_core.lifecycle.health import Health

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jobmon.views.console import Console, Lines
    from jobmon.views.model import Json
    from jobmon.views.top.drawing import Symbols
    from jobmon_core.app.jobs.progress import ProgressReport
    from jobmon_core.app.live.tasks import LiveTask, UsualEnd
    from jobmon_core.domain.logs.progress.events.event import Event
    from jobmon_core.domain.logs.progress.model import Estimate


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


def report_json(report: ProgressReport, now_s: float) -> Json:
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


def metrics_json(tasks: Iterable[LiveTask]) -> Json:
    """Return the key ``metrics`` of ``jobmon show --json``."""
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
    return 100.0 if fraction >= 1 else min(round(100 * fraction, 2), _ALMOST_ALL)


def progress_lines(report: ProgressReport, progress: Progress, now_s: float, console: Console) -> list[str]:
    """Return the progress as a few lines for a person."""
    count = _count(progress)
    drawn = _bar(progress, console.width - len(count) if console.width else _LONG_BAR)
    lines = [console.line(f"{drawn}{count}")]
    times = [*_elapsed(progress), *_time_left(report), *_expected(report, now_s)]
    for parts in (_facts(report, progress), times, _notes(report, progress)):
        if text := _GAP.join(parts):
            lines += console.prose(text, _INDENT)
    return lines


def progress_line(report: ProgressReport, progress: Progress, now_s: float, console: Console) -> str:
    """Return the progress as one line; on a terminal, with as much as fits."""
    text = _GAP.join((_count(progress), *_time_left(report)))
    for fact in (*_facts(report, progress), *_elapsed(progress), *_expected(report, now_s)):
        longer = f"{text}{_GAP}{fact}"
        if console.width and text_width(longer) > console.width - _SHORT_BAR:
            break
        text = longer
    drawn = _bar(progress, console.width - text_width(text) if console.width else _LONG_BAR)
    return console.line(f"{drawn}{text}")


def _count(progress: Progress) -> str:
    has_total = progress.fraction is not None or progress.unclear
    return done(progress) + ("" if has_total else " (total unknown)")


def _bar(progress: Progress, room: int) -> str:
    """Return a progress bar and a space, long or short as ``room`` (columns) allows."""
    taken = _LONG_BAR if room >= _LONG_BAR else _SHORT_BAR
    if progress.fraction is None or room < taken:
        return ""
    return f"[{bar(progress.fraction, taken - len('[] '), ASCII)}] "


def _facts(report: ProgressReport, progress: Progress) -> Lines:
    yield from filter(None, (epoch(progress), batch(progress)))
    values = {"loss": progress.loss, "lr": progress.learning_rate, "grad norm": progress.grad_norm}
    yield from (f"{name} {loss(value)}" for name, value in values.items() if value is not None)
    if per_s := report.estimate.rate_per_s or progress.rate_per_s:
        yield rate(per_s, progress.unit)
    yield from map(one_line, metrics(progress))


def _elapsed(progress: Progress) -> Lines:
    if progress.elapsed_s is not None:
        yield f"elapsed {duration(progress.elapsed_s)}"


def _time_left(report: ProgressReport) -> Lines:
    if report.estimate.remaining_s is not None:
        yield f"{duration(report.estimate.remaining_s)} left"
    elif report.pause_s is not None:
        yield f"no progress for {duration(report.pause_s)}"
    elif ends_s := report.range_s:
        yield f"{duration(ends_s[0])} to {duration(ends_s[1])} left, by its speed so far"
    elif report.remaining_s:
        yield f"{duration(report.remaining_s)} left, as the log says"


def _expected(report: ProgressReport, now_s: float) -> Lines:
    if (left_s := report.estimate.remaining_s) is not None:
        yield f"ETA {clock(now_s + left_s, now_s)}{certainty(report.estimate)}"


def _notes(report: ProgressReport, progress: Progress) -> Lines:
    if report.is_over:
        yield "it has ended"
    elif progress.fraction == 1.0 and not progress.end_marker:
        yield "all counted"
    if progress.end_marker:
        yield f"the log says: {progress.end_marker}"
    if progress.run > 1:
        yield f"run {progress.run} in this log"


_WEEKDAY_IS_CLEAR_S = 6 * 86_400.0  # within it, a day of the week means one day only
_STALLED = "not known while it makes no progress"
WILL_TIME_OUT = "will time out"


def workers_count(live: LiveTask) -> str:
    """Return e.g. ``3 of 4``: how many workers have a log, and how many should have one."""
    settings, number_seen = live.job.own_settings, len(live.progress.workers)
    if settings.num_workers and settings.log_files:
        return f"{number_seen} of {settings.num_workers}"
    return str(number_seen) if number_seen > 1 else ""


def problems(live: LiveTask) -> list[str]:
    """Return what is wrong with a running task, the worst first, e.g. ``memory leak``, ``slow``."""
    return list(dict.fromkeys(_problem(event, live) for event in live.ongoing))


def _problem(event: Event, live: LiveTask) -> str:
    kind = event.kind
    if kind is EventKind.TIME_LIMIT:
        return WILL_TIME_OUT
    if kind is EventKind.UNUSUAL:
        return event.subject.replace("_", " ")
    if kind in (EventKind.TROUBLE, EventKind.TRACKER) and event.subject:
        return event.subject.replace("-", " ")
    wanted, writing = live.job.own_settings.num_workers or 0, len(live.progress.workers)
    if kind is EventKind.NO_OUTPUT and 0 < writing < wanted:
        return f"{wanted - writing} of {wanted} workers without a log"
    return kind


def progress_age(live: LiveTask, now_s: float) -> str:
    """Return how long ago a running task made progress, e.g. ``, 12s ago``."""
    samples = live.progress.history.samples
    if live.group is not StateGroup.RUNNING or not samples:
        return ""
    return f", {age(max(0.0, now_s - samples[-1].at_s))} ago"


def remaining(live: LiveTask, symbols: Symbols, *, with_range: bool = True) -> str:
    """Return e.g. ``1h 15m ±5m``, or why it is not known; empty if it is stalled or has no progress yet."""
    if EventKind.STALLED in live.problems:
        return ""
    if live.usual:
        return f"usually {spans(live.usual.left_s)}"
    if live.progress.progress is None:
        return ""
    left_s = _seconds_left(live)
    if left_s is None:
        return _why_unknown(live, paused="paused {}", no_total="no total")
    shortest_s, longest_s = live.estimate.shortest_s, live.estimate.longest_s
    if not with_range or shortest_s is None or longest_s is None:
        return span(left_s)
    margin_s = max(longest_s - left_s, left_s - shortest_s, 0.0)
    return f"{span(left_s)} {symbols.plus_minus}{age(margin_s)}"


def spans(times_s: tuple[float, ...]) -> str:
    """Return one duration, or the shortest and the longest."""
    return " to ".join(map(span, times_s))


def usual_end(found: UsualEnd, now_s: float) -> str:
    """Return when a task usually ends, and by what: nothing of it is measured."""
    ends = " to ".join(clock(now_s + left_s, now_s) for left_s in found.left_s)
    took = f"the last {found.runs} runs of its name took {spans(found.run_s)}"
    return f"usually in {spans(found.left_s)} ({ends}), since {took}"


def finish(found: Estimate, now_s: float) -> str:
    """Return the remaining time, the time of the end, the range and the confidence."""
    if found.remaining_s is None:
        return "estimating"
    return f"{span(found.remaining_s)} ({clock(now_s + found.remaining_s, now_s)}){certainty(found)}"


def certainty(found: Estimate) -> str:
    """Return the range of a remaining time and the confidence; each follows a comma."""
    confidence = f", {found.confidence} confidence"
    if found.shortest_s is None or found.longest_s is None:
        return confidence
    return f", {span(found.shortest_s)} to {span(found.longest_s)}{confidence}"


def eta(live: LiveTask, now_s: float) -> str:
    """Return when a task will end, or why that is not known."""
    if EventKind.STALLED in live.problems:
        return _STALLED
    if live.usual:
        return usual_end(live.usual, now_s)
    if _seconds_left(live) is None:
        return _why_unknown(live, paused="not known: no progress for {}", no_total="not known: no total")
    return finish(live.estimate, now_s)


def ending(live: LiveTask, now_s: float, symbols: Symbols) -> str:
    """Return `remaining`, the time of the end and the confidence, or why they are not known."""
    if EventKind.STALLED in live.problems:
        return _STALLED
    if live.usual:
        return usual_end(live.usual, now_s)
    left_s = _seconds_left(live)
    if left_s is None:
        no_total = "not known, since the log names no total"
        return _why_unknown(live, paused="not known, since there was no progress for {}", no_total=no_total)
    at = moment(now_s + left_s, now_s)
    return f"{remaining(live, symbols)} ({at}), {live.estimate.confidence} confidence"


def _seconds_left(live: LiveTask) -> float | None:
    progress = live.progress.progress
    return None if progress and progress.fraction == 1.0 else live.estimate.remaining_s


def _why_unknown(live: LiveTask, *, paused: str, no_total: str) -> str:
    progress = live.progress.progress
    if progress and progress.fraction == 1.0:
        return "not ended yet"
    if live.pause_s is not None:
        return paused.format(span(live.pause_s))
    if not (progress and progress.total):
        return no_total
    if live.status.health in (Health.ALIVE, Health.REMOTE):
        return "estimating"
    return "not watched"


def moment(at_s: float, now_s: float) -> str:
    """Return a time as ``14:05``, ``Tue 08:00`` or ``2026-12-24 08:00``, in local time."""
    if stamp(at_s, "%F") == stamp(now_s, "%F"):
        return stamp(at_s, "%H:%M")
    is_near = abs(at_s - now_s) < _WEEKDAY_IS_CLEAR_S
    return stamp(at_s, "%a %H:%M" if is_near else "%Y-%m-%d %H:%M")
