"""The history as one HTML page, and its charts, which the report of a job shows, too.

A chart is a function from records or totals to a figure; empty where they know nothing.
"""

from __future__ import annotations

from collections import Counter
from statistics import median
from typing import TYPE_CHECKING

from jobmon.views.history import NO_RUNS, damage, duration_text, row_texts, run_columns, total_columns
from jobmon.views.model import stamp
from jobmon.views.report.marks import (
    MAX_DOTS,
    PATTERNS,
    Columns,
    Dot,
    Part,
    bars_html,
    columns_html,
    dots_html,
)
from jobmon.views.report.page import page_html, prose, table, tiles
from jobmon.views.text_width import truncated
from jobmon_core.app.history.look import MAX_LISTED
from jobmon_core.domain.humanize import count, duration, hours, money
from jobmon_core.domain.job.history.baseline import COMPARED, is_unusual, usual_range
from jobmon_core.domain.job.history.record import BUSY_CLASSES
from jobmon_core.domain.job.history.totals import together
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.domain.visible_text import in_html, one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from jobmon.views.console import Lines
    from jobmon.views.history import T, TableColumns
    from jobmon_core.app.history.look import Overview
    from jobmon_core.domain.job.history.record import HistoryRecord
    from jobmon_core.domain.job.history.totals import RunTotals

    ByOutcome = Mapping[str, Sequence[RunTotals]]

_DAY_S, _HOUR_S = 86_400.0, 3600.0
_MAX_PERIODS = 120
_MAX_CAUSES = 7
_WIDTH, _CAUSE_WIDTH = 60, 32  # columns of a name, of a cause
# by outcome, from the bottom of a column: the pattern of its part, and the form of its dot
_TONES: dict[str, str] = {
    Outcome.SUCCESS: "good",
    Outcome.CANCELLED: "soft",
    Outcome.UNKNOWN: "odd",
    Outcome.FAILURE: "bad",
}
_LABELS = {"good": "succeeded", "soft": "cancelled", "odd": "unknown", "bad": "failed"}
# by period: its label, see `History.totals`; its first day on the axis; its days at most
_PERIODS = {
    "day": ("%Y-%m-%d", "%d %b", 1),
    "week": ("%G-W%V", "%d %b", 7),
    "month": ("%Y-%m", "%b %Y", 31),
}


def history_html(data: Overview) -> str:
    """Return the page."""
    header = f"<header><h1>History</h1><p>{in_html(about(data))}</p></header>"
    return page_html("History", [header, "<main>", *history_sections(data), "</main>"], data.now_s)


def history_sections(data: Overview) -> Lines:
    """Yield what follows the heading."""
    if data.runs:
        yield PATTERNS
        yield from _figures(data)
        yield from _charts(data)
        yield from _tables(data)
    else:
        yield f'<section class="card">{prose(NO_RUNS)}</section>'
    if data.past.damaged:
        yield f"<p>{damage(data.past.damaged)}</p>"


def about(data: Overview) -> str:
    """Return which runs the page is about."""
    wanted = data.wanted._asdict().items()
    filters = [f"{name} {short(value)}" for name, value in wanted if isinstance(value, str) and value]
    if data.wanted.since_s is not None:
        filters.append(f"an end since {stamp(data.wanted.since_s, '%Y-%m-%d %H:%M')}")
    return f"Runs with {', '.join(filters)}" if filters else "All runs"


def _figures(data: Overview) -> Lines:
    total = together(data.past.totals)
    figures = [
        ("Runs", f"{total.runs:,}"),
        ("Succeeded", f"{total.successes:,}"),
        ("Failed", f"{total.failures:,}"),
        ("Other ends", f"{total.runs - total.successes - total.failures:,}"),
        ("GPU hours", hours(total.gpu_hours)),
        ("CPU hours", hours(total.cpu_hours)),
        ("Mean wait", duration_text(total.wait_s)),
        ("Mean run time", duration_text(total.run_s)),
    ]
    costs = [money(each.cost, each.currency) for each in data.past.totals if each.cost is not None]
    if costs:
        figures.append(("Cost", ", ".join(costs)))
    yield tiles(figures)
    if total.runs == 1:
        yield '<p class="source">One run: there is nothing yet to compare it with.</p>'


def _charts(data: Overview) -> Lines:
    paced = _of_one_name(data.runs)
    yield '<h2>Charts</h2><div class="figures">'
    yield hours_html(data.over_time, data.period)
    yield waste_html(data.causes)
    yield busy_html(run.gpu_busy_s for run in data.runs)
    yield wait_html(data.runs)
    yield time_html(data.runs)
    yield pace_html(paced)
    yield "</div>"
    if paced and len({run.label for run in data.runs}) > 1:
        text = f"Seconds per unit are of {short(paced[0].label)}, the name with the most runs."
        yield f'<p class="source">{in_html(text)}</p>'
    if len(data.runs) < sum(total.runs for total in data.past.totals):
        rest = f"waits, run times, seconds per unit and GPU utilisation are of the last {len(data.runs):,}"
        yield f'<p class="source">Hours and causes are of all runs; {rest}.</p>'


def _of_one_name(runs: Sequence[HistoryRecord]) -> list[HistoryRecord]:
    """Return the runs of the name with the most runs whose pace is known."""
    names = Counter(run.label for run in runs if run.step_s is not None).most_common(1)
    return [run for run in runs if names and run.label == names[0][0]]


def _tables(data: Overview) -> Lines:
    if by := data.past.by:
        totals = data.past.rows
        title = f"By {by}"
        if len(totals) > MAX_LISTED:
            title += f", the first {MAX_LISTED:,} of {len(totals):,}"
        yield from columns_table(title, total_columns(totals, by), totals[:MAX_LISTED])
    runs, total = data.past.runs, sum(each.runs for each in data.past.totals)
    title = count(total, "run")
    if len(runs) < total:
        title = f"{len(runs):,} of {total:,} runs"
    yield from columns_table(title, run_columns(data.now_s), runs)


def columns_table(title: str, columns: TableColumns[T], rows: Iterable[T]) -> Lines:
    """Yield a table that a terminal shows, too."""
    names = [name.capitalize().replace("Gpu", "GPU").replace("Cpu", "CPU") for name in columns]
    yield from table(title, names, (list(map(short, row_texts(columns, row))) for row in rows))


def short(text: str, width: int = _WIDTH) -> str:
    """Return a name on one line, cut where it is longer than others may choose for a page."""
    return truncated(one_line(text), width)


def hours_html(by_outcome: ByOutcome, period: str) -> str:
    """Return the hours that runs took in each period by outcome."""
    rows = [row for each in by_outcome.values() for row in each if row.label]
    if not rows:
        return ""
    unit, value = _hours_of(rows)
    labels = _periods(rows, period)
    ticks = tuple(stamp(at_s, _PERIODS[period][1]) for at_s in labels.values())
    total = sum(map(value, rows))
    lost = total - sum(map(value, by_outcome[Outcome.SUCCESS]))
    finding = f"{hours(total)} {unit}"
    if total:
        finding += f", {lost / total:.0%} in runs without success"
    parts = tuple(
        Part(_LABELS[tone], tone, _heights(by_outcome[outcome], labels, value))
        for outcome, tone in _TONES.items()
        if by_outcome[outcome]
    )
    subject = f"{unit} per {period}, by outcome"
    return columns_html("hours", finding, Columns(subject, unit, tuple(labels), ticks, parts))


def _hours_of(rows: Iterable[RunTotals]) -> tuple[str, Callable[[RunTotals], float]]:
    if any(row.gpu_hours for row in rows):
        return "GPU hours", lambda row: row.gpu_hours
    return "CPU hours", lambda row: row.cpu_hours


def _heights(
    rows: Iterable[RunTotals], labels: Iterable[str], value: Callable[[RunTotals], float]
) -> tuple[float, ...]:
    found = _sums((row.label, value(row)) for row in rows)
    return tuple(found.get(label, 0.0) for label in labels)


def _sums(values: Iterable[tuple[str, float]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for label, value in values:
        found[label] = found.get(label, 0.0) + value
    return found


def _periods(rows: Iterable[RunTotals], period: str) -> dict[str, float]:
    """Return the labels of all periods from the first to the last, with a time in each, the first if known.

    Of too many, the last in which a run ended: a clock may have been wrong by decades.
    """
    form, _, days = _PERIODS[period]
    ends_s = {row.label: row.last_s or 0.0 for row in rows}
    first, last = min(ends_s), max(ends_s)
    start_s, end_s = min(ends_s.values()), max(ends_s.values())
    if end_s - start_s > _MAX_PERIODS * days * _DAY_S:
        return {label: ends_s[label] for label in sorted(ends_s)[-_MAX_PERIODS:]}
    found: dict[str, float] = {}
    at_s = start_s - days * _DAY_S
    while at_s < end_s + _DAY_S:
        found.setdefault(stamp(at_s, form), at_s)
        at_s += _DAY_S / 2  # a day with a change of the clock has 23 hours
    return {label: at_s for label, at_s in found.items() if first <= label <= last}


def waste_html(by_outcome: ByOutcome) -> str:
    """Return the hours of runs without success by cause, and those of GPUs that were idle in others."""
    rows = [row for each in by_outcome.values() for row in each]
    unit, value = _hours_of(rows)
    lost = _sums((row.label or "failed, cause unknown", value(row)) for row in by_outcome[Outcome.FAILURE])
    found = [(label, "bad", each) for label, each in lost.items()]
    found.sort(key=lambda each: -each[2])
    if len(found) > _MAX_CAUSES:
        rest = found[_MAX_CAUSES - 1 :]
        found[_MAX_CAUSES - 1 :] = [(count(len(rest), "other cause"), "bad", sum(each for *_, each in rest))]
    idle = sum(row.idle_gpu_hours for row in by_outcome[Outcome.SUCCESS])
    others = (
        ("cancelled", "soft", sum(map(value, by_outcome[Outcome.CANCELLED]))),
        ("outcome unknown", "odd", sum(map(value, by_outcome[Outcome.UNKNOWN]))),
        ("GPUs idle in successful runs", "warn", idle),
    )
    found = sorted((each for each in (*found, *others) if each[2] > 0), key=lambda each: -each[2])
    if not found:
        return ""
    bars = [Part(short(label, _CAUSE_WIDTH), tone, (each,), hours(each)) for label, tone, each in found]
    finding = f"{hours(sum(each for *_, each in found))} {unit} lost or idle, most: {bars[0].label}"
    return bars_html("waste", finding, f"{unit} by cause", bars)


def busy_html(runs: Iterable[Sequence[int]]) -> str:
    """Return for which share of the time GPUs were how busy, given `HistoryRecord.gpu_busy_s` of runs."""
    known = [busy_s for busy_s in runs if len(busy_s) == BUSY_CLASSES]
    busy_s = [sum(of_class) for of_class in zip(*known, strict=True)]
    total_s = sum(busy_s)
    if not total_s:
        return ""
    step = 100 // BUSY_CLASSES
    shares = [100 * each / total_s for each in busy_s]
    ticks = tuple(f"{step * each}\N{EN DASH}{step * (each + 1)}" for each in range(BUSY_CLASSES))
    labels = tuple(f"{each}%" for each in ticks)
    rest = (0.0,) * (BUSY_CLASSES - 1)
    parts = (
        Part(f"below {step}% busy", "warn", (shares[0], *rest)),
        Part("busier", "good", (0.0, *shares[1:])),
    )
    subject = f"% of {hours(total_s / _HOUR_S)} measured GPU hours, by utilisation in %"
    finding = f"GPUs below {step}% busy for {shares[0]:.0f}% of the time"
    return columns_html("busy", finding, Columns(subject, "%", labels, ticks, parts))


def wait_html(runs: Iterable[HistoryRecord], this: HistoryRecord | None = None) -> str:
    """Return how long runs waited, over time."""
    dots = [_dot(run, run.wait_s, this) for run in runs if run.wait_s is not None]
    return _durations("wait", "Half of the runs waited at most", "Time until the start", dots)


def time_html(runs: Iterable[HistoryRecord], this: HistoryRecord | None = None) -> str:
    """Return how long runs took, over time."""
    dots = [_dot(run, run.run_s, this) for run in runs if run.started_s]
    return _durations("time", "Half of the runs took at most", "Run time", dots)


def _durations(key: str, finding: str, subject: str, dots: Sequence[Dot]) -> str:
    if not dots:
        return ""
    finding += f" {duration(median(dot.value for dot in dots))}"
    in_hours = (dot._replace(value=dot.value / _HOUR_S) for dot in dots)
    return dots_html(key, finding, f"{subject}, hours", in_hours, lambda value: duration(value * _HOUR_S))


def _dot(run: HistoryRecord, value: float, this: HistoryRecord | None) -> Dot:
    tone = _TONES.get(run.outcome, "odd")
    if this is not None and run.key == this.key:
        tone = "this"
    return Dot(float(run.ended_s or 0), value, tone, short(f"{run.ref} {run.label}"))


def pace_html(runs: Sequence[HistoryRecord], this: HistoryRecord | None = None) -> str:
    """Return the seconds per unit of runs of one name over time, the last ended first, and what is usual."""
    known = [run for run in runs if run.step_s is not None]
    known = [run for run in known if run.unit == known[0].unit]
    if not known:
        return ""
    dots = _paces(known[: MAX_DOTS + COMPARED], this)[-MAX_DOTS:]
    unit, name = short(known[0].unit or "unit"), short(known[0].label)
    finding = f"Half of the runs take at most {median(dot.value for dot in dots):.3g} s per {unit}"
    slower = [dot for dot in dots if dot.usual and dot.value > dot.usual[1]]
    if any(dot.tone == "this" for dot in slower):
        finding += "; this run is slower than usual"
    elif slower:
        finding += f"; {len(slower)} of {len(dots)} slower than usual"
    return dots_html("pace", finding, f"Seconds per {unit} of {name}", dots)


def _paces(runs: Sequence[HistoryRecord], this: HistoryRecord | None) -> list[Dot]:
    """Return a dot for each run, the first ended first, each judged by those before it."""
    dots: list[Dot] = []
    earlier: list[float] = []  # of successful runs, the latest first
    for run in reversed(runs):
        value = run.step_s or 0.0
        dot = _dot(run, value, this)._replace(usual=usual_range(earlier))
        if dot.tone != "this" and is_unusual(value, earlier):
            dot = dot._replace(tone="warn")
        dots.append(dot)
        if run.outcome == Outcome.SUCCESS and not run.doubtful:
            earlier = [value, *earlier[: COMPARED - 1]]
    return dots
