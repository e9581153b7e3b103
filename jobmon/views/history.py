"""Ended runs: as a table, in totals, one among those like it, with budgets; and the same for programs."""

from __future__ import annotations

import csv
import io
from functools import partial
from statistics import median
from typing import TYPE_CHECKING

from jobmon.views.console import Style
from jobmon.views.model import clock, fields, known_fields
from jobmon.views.table import Cell, table_lines
from jobmon_core.domain.humanize import count, duration, money, number, plural, size, text_of
from jobmon_core.domain.job.efficiency.advice import activity_text
from jobmon_core.domain.slurm.states import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from jobmon.views.console import Console, Lines
    from jobmon.views.model import Json
    from jobmon_core.app.history.look import Among, Nodes, Past
    from jobmon_core.domain.job.history.prices import BudgetState
    from jobmon_core.domain.job.history.record import HistoryRecord
    from jobmon_core.domain.job.history.totals import LineageCost, RunTotals

HEADERS = ("JOB", "NAME", "STATE", "ENDED", "WAIT", "TIME", "HOURS", "PER UNIT", "CAUSE")
_COST_HEADERS = ("JOB", "NAME", "STATE", "ENDED", "COST", "TIME", "HOURS", "PER UNIT", "CAUSE")
_STEPS = ((1, 10), (8, 10), (7, 6), (2, 6), (1, 4), (8, 5), (0, 6))
_STYLES: dict[str, Style] = {
    Outcome.SUCCESS: Style.GOOD,
    Outcome.CANCELLED: Style.DIM,
    Outcome.FAILURE: Style.BAD,
}
NO_RUNS = (
    "the history has no such run; a watched job adds one when it has ended, "
    "`jobmon history backfill` adds those in accounting"
)
_NO_COST = "no run has a cost: `prices` in config.json gives one to each run that ends from then on"
_LATE = (
    "here without hours, which accounting did not have when they ended: `jobmon history backfill` adds them"
)
UNKNOWN = "-"
_OF_SUSPECT = ("runs_elsewhere", "chance", "option")  # whether it kills runs or slows them down
_HELD = ("gpus", "cpus", "gpu_hours", "cpu_hours")  # not known until accounting tells it
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # with which a spreadsheet begins a formula


def history_lines(past: Past, now_s: float, console: Console, *, has_costs: bool = False) -> Lines:
    """Yield a table of runs, and what all of them took; if wanted, with costs instead of wait and pace."""
    if not past.runs:
        yield from console.prose(NO_RUNS, hanging="  ")
        return
    headers, cells = HEADERS, run_cells
    if has_costs:
        headers, cells = _COST_HEADERS, _cost_cells
    yield from table_lines(headers, [cells(run, now_s) for run in past.runs], console, _STEPS)
    for total in past.totals:
        shown = len(past.runs)
        rest = f", the last {shown} shown (-n 0 for all)" if shown < total.runs else ""
        yield from console.prose(f"{_total_text(total)}{rest}", hanging="  ")
    if late := sum(run.lacks_hours for run in past.runs):
        yield from console.prose(f"{count(late, 'run')} {_LATE}", hanging="  ")
    if past.damaged:
        yield console.styled(damage(past.damaged), Style.DIM)


def no_cost_lines(totals: Sequence[RunTotals], console: Console) -> Lines:
    """Yield why no run has a cost, if so."""
    if totals and all(total.cost is None for total in totals):
        yield from console.prose(_NO_COST, hanging="  ")


def _cost_cells(run: HistoryRecord, now_s: float) -> tuple[Cell, ...]:
    cells, per_unit = [*run_cells(run, now_s)], run.cost_per_unit
    cells[4] = Cell(money_text(run.cost, run.currency))
    cells[7] = Cell(UNKNOWN if per_unit is None else f"{money(per_unit, '')}/{run.unit}")
    return tuple(cells)


def damage(damaged: int) -> str:
    """Return how many lines cannot be read."""
    return f"{count(damaged, 'line')} of the history cannot be read: written by something else, or torn"


def run_cells(run: HistoryRecord, now_s: float) -> tuple[Cell, ...]:
    """Return a run in the columns of `HEADERS`."""
    return (
        Cell(str(run.ref)),
        Cell(run.label),
        Cell(state_text(run), _style(run)),
        Cell(clock(run.ended_s, now_s) if run.ended_s else UNKNOWN),
        Cell(duration_text(run.wait_s)),
        Cell(duration_text(run.run_s if run.started_s else None)),
        Cell(_hours_text(run)),
        Cell(_pace_text(run)),
        Cell(run.cause or UNKNOWN),
    )


def state_text(run: HistoryRecord) -> str:
    """Return how a run ended."""
    return f"{run.state} (doubtful)" if run.doubtful else run.state


def _style(run: HistoryRecord) -> Style:
    return Style.BAD if run.doubtful else _STYLES.get(run.outcome, Style.BAD)


def duration_text(seconds: float | None) -> str:
    """Return a duration, or ``-``."""
    return text_of(seconds, duration, UNKNOWN)


def _hours_text(run: HistoryRecord) -> str:
    if not run.started_s or run.lacks_hours:
        return UNKNOWN
    return f"{hours(run.gpu_hours)} GPU" if run.gpus else f"{hours(run.cpu_hours)} CPU"


def hours(value: float) -> str:
    """Return hours, e.g. ``1,204``, ``12.5``, ``0.02``."""
    if value >= 100:  # noqa: PLR2004 - of more, a tenth says nothing
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 0.1 or not value else f"{value:.1g}"  # noqa: PLR2004 - else it would read 0.0


def _pace_text(run: HistoryRecord) -> str:
    if run.step_s is None:
        return UNKNOWN
    return f"{number(run.step_s)} s/{run.unit}" if run.step_s >= 0.01 else f"{number(1 / run.step_s)}/s"  # noqa: PLR2004 - as above


def _total_text(total: RunTotals) -> str:
    parts = [f"{total.successes:,} succeeded, {total.failures:,} failed"]
    if total.gpu_hours:
        lost = f"{hours(total.lost_gpu_hours)} in runs without success"
        parts.append(f"{hours(total.gpu_hours)} GPU hours ({lost})")
    parts.append(f"{hours(total.cpu_hours)} CPU hours")
    if total.cost is not None:
        missing = total.runs - total.priced
        without = f" (without {count(missing, 'run')} that have no price)" if missing else ""
        parts.append(money(total.cost, total.currency) + without)
    return f"{count(total.runs, 'run')}: {', '.join(parts)}"


def money_text(cost: float | None, currency: str) -> str:
    """Return a cost, or ``-``."""
    return text_of(cost, partial(money, currency=currency), UNKNOWN)


def totals_lines(rows: Sequence[RunTotals], by: str, console: Console) -> Lines:
    """Yield a table of what runs took."""
    if not rows:
        yield from console.prose(NO_RUNS, hanging="  ")
        return
    columns = total_columns(rows, by)
    cells = [[text(row) for _, text in columns] for row in rows]
    yield from table_lines([name for name, _ in columns], cells, console, [(0, 10)])
    notes = ["LOST: of runs that did not succeed", "IDLE: as agents measured it"]
    known = [each for each in notes if any(each.startswith(name) for name, _ in columns)]
    for line in console.prose("; ".join([*known, "WAIT and TIME are means"])):
        yield console.styled(line, Style.DIM)


def total_columns(rows: Sequence[RunTotals], by: str) -> list[tuple[str, Callable[[RunTotals], str]]]:
    """Return the columns of a table of totals: their names, and what they show of a row."""
    has_gpus, has_cost = any(row.gpu_hours for row in rows), any(row.cost is not None for row in rows)
    columns: list[tuple[str, Callable[[RunTotals], str]]] = [
        (by.upper(), lambda row: row.label or UNKNOWN),
        ("RUNS", lambda row: f"{row.runs:,}"),
        ("FAILED", lambda row: f"{row.failures:,}"),
    ]
    if has_gpus:
        columns += [
            ("GPU HOURS", lambda row: hours(row.gpu_hours)),
            ("LOST", lambda row: hours(row.lost_gpu_hours)),
            ("IDLE", lambda row: hours(row.idle_gpu_hours)),
        ]
    columns += [
        ("CPU HOURS", lambda row: hours(row.cpu_hours)),
        ("WAIT", lambda row: duration_text(row.wait_s)),
        ("TIME", lambda row: duration_text(row.run_s)),
    ]
    if has_cost:
        columns.append(("COST", lambda row: money_text(row.cost, row.currency)))
    return columns


def among_lines(found: Among, now_s: float, console: Console) -> Lines:
    """Yield one run, the figures of those like it, and these runs."""
    run, alike = found.run, found.alike
    yield console.styled(f"{run.ref} {run.label}: {state_text(run)}", Style.BOLD)
    rows = [
        row
        for name, figure, text in _FIGURES
        if (row := _compared(name, figure(run), [figure(each) for each in alike], text))
    ]
    rows += _cost_rows(run, alike)
    headers = ("", "THIS RUN", "EARLIER", "LOWEST", "HIGHEST")
    yield from table_lines(headers, rows, console, [(0, 10)])
    for whose, those in (("GPU activity", [run]), ("earlier", alike)):
        if activity := activity_text(each.gpu_busy_s for each in those):
            yield from console.prose(f"{whose + ':':<13} {activity}", hanging="  ")
    if found.cost:
        yield from console.prose(lineage_text(found.cost), hanging="  ")
    for finding in found.unusual:
        yield from console.prose(finding.text, "! ", "  ")
        if finding.advice:
            yield from console.advice(finding.advice, "  ")
    if not alike:
        yield from console.prose("The history has no earlier run of this name.")
        return
    yield f"EARLIER: the median of {count(len(alike), 'earlier run')} of this name:"
    yield from table_lines(HEADERS, [run_cells(each, now_s) for each in alike], console, _STEPS)


def _cost_rows(run: HistoryRecord, alike: Sequence[HistoryRecord]) -> Iterator[list[str]]:
    text = partial(money, currency=run.currency)
    same = [each for each in alike if each.currency == run.currency]  # none without a cost
    for name, key in (("cost", "cost"), (f"cost per {run.unit}", "cost_per_unit")):
        if row := _compared(name, getattr(run, key), [getattr(each, key) for each in same], text):
            yield row


def _compared(
    name: str, value: float | None, others: Iterable[float | None], text: Callable[[float], str]
) -> list[str] | None:
    known = [each for each in others if each is not None]
    if value is None and not known:
        return None
    this = text_of(value, text, UNKNOWN)
    earlier = [text(median(known)), text(min(known)), text(max(known))] if known else [UNKNOWN] * 3
    return [name, this, *earlier]


_FIGURES: tuple[tuple[str, Callable[[HistoryRecord], float | None], Callable[[float], str]], ...] = (
    ("wait", lambda run: run.wait_s, duration),
    ("time", lambda run: run.run_s if run.started_s else None, duration),
    ("seconds per unit", lambda run: run.step_s, number),
    ("peak memory", lambda run: run.memory_peak, size),
    ("GPU busy", lambda run: run.gpu_percent, lambda percent: f"{percent:.0f}%"),
    ("GPU hours", lambda run: run.gpu_hours or None, hours),
    ("CPU hours", lambda run: run.cpu_hours or None, hours),
)


def history_json(past: Past) -> Json:
    """Return the documented object of ``jobmon history --json``."""
    return {
        "runs": [run_json(run) for run in past.runs],
        "totals": [*map(total_json, past.totals)],
        "damaged_lines": past.damaged,
    }


def total_json(total: RunTotals) -> Json:
    """Return what some runs took."""
    return {**total._asdict(), "currency": total.currency or None}


def among_json(found: Among) -> Json:
    """Return the documented object of ``jobmon history JOB --json``."""
    return {
        "run": run_json(found.run),
        "earlier": [run_json(each) for each in found.alike],
        "unusual": [fields(each, "id", "text", "advice") for each in found.unusual],
        "lineage": found.cost._asdict() if found.cost else None,
    }


def nodes_lines(found: Nodes, console: Console) -> Lines:
    """Yield the suspect nodes with what to do, and a table of all nodes."""
    if not found.totals:
        yield from console.prose(NO_RUNS, hanging="  ")
        return
    for suspect in found.suspects:
        yield from console.prose(suspect.sentence, "! ", "  ")
        yield from console.advice(suspect.advice, "  ")
    if not found.suspects:
        yield "no node stands out"
    yield from totals_lines(found.totals, "node", console)


def nodes_json(found: Nodes) -> Json:
    """Return the documented object of ``jobmon nodes --json``."""
    return {
        "suspects": [
            fields(each, "node", "failures", "runs", "failures_elsewhere", *_OF_SUSPECT)
            for each in found.suspects
            if not each.slowdown
        ],
        "slow": [
            fields(
                each,
                *("node", "runs", "slowdown", *_OF_SUSPECT),
                slow_runs="failures",
                slow_runs_elsewhere="failures_elsewhere",
            )
            for each in found.suspects
            if each.slowdown
        ],
        "nodes": [*map(total_json, found.totals)],
    }


def run_json(run: HistoryRecord) -> Json:
    """Return a run; what is not known is null."""
    return {
        "job_id": str(run.ref),
        **known_fields(run, "cluster", "backend", "name", "run", "group", "user", "partition", "lineage"),
        **fields(run, "attempt"),
        **known_fields(run, "state", "outcome"),
        **fields(run, "doubtful", "exit_code", "signal"),
        **known_fields(run, "cause", "fingerprint", "script", "commit", "nodes", "gpu"),
        **fields(run, submitted_at="submit_s", eligible_at="eligible_s"),
        **fields(run, "wait_s", "run_s", "limit_s", "cpu_s", started_at="started_s", ended_at="ended_s"),
        **fields(run, "memory_requested", "memory_peak", "gpu_percent", "gpu_busy_s", "gpu_idle_s"),
        **(dict.fromkeys(_HELD) if run.lacks_hours else fields(run, *_HELD)),
        **fields(run, "done", "total"),
        **known_fields(run, "unit"),
        **fields(run, "results", "cost", "cost_per_unit", seconds_per_unit="step_s"),
        **known_fields(run, "currency"),
        "from_accounting": not run.state_id,
    }


def csv_text(rows: Sequence[Json]) -> str:
    """Return rows as CSV with a header; a ``'`` precedes what a spreadsheet would take for a formula."""
    if not rows:
        return ""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(rows[0])
    writer.writerows([_csv_cell(value) for value in row.values()] for row in rows)
    return text.getvalue()


def _csv_cell(value: object) -> object:
    if isinstance(value, dict):
        value = " ".join(f"{name}={each:g}" for name, each in value.items())
    elif isinstance(value, list):
        value = " ".join(map(str, value))
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value


def budget_lines(budgets: Sequence[BudgetState], console: Console) -> Lines:
    """Yield a table of the budgets in their current periods."""
    if not budgets:
        return
    headers = ("BUDGET", "PERIOD", "AMOUNT", "SPENT", "USED", "FORECAST")
    rows = [
        (
            state.budget.name,
            state.period or "all time",
            *(money(amount, state.currency) for amount in (state.budget.amount, state.spent)),
            f"{state.percent:.0f}%",
            money(state.forecast, state.currency),
        )
        for state in budgets
    ]
    yield ""
    yield from table_lines(headers, rows, console, [(0, 8)])
    note = "FORECAST: if the running jobs use their whole time limits"
    if missing := sum(state.unpriced for state in budgets):
        note += f"; without {count(missing, 'running job')} whose limit or price is not known"
    for line in console.prose(note):
        yield console.styled(line, Style.DIM)


def budget_json(state: BudgetState) -> Json:
    """Return a budget in its current period."""
    return {
        **fields(state.budget, "name", "match", "amount", "per"),
        **known_fields(state, "period"),
        **fields(state, "currency", "spent", "runs", "percent", "forecast", "unpriced"),
    }


def lineage_text(found: LineageCost) -> str:
    """Return what all runs of one piece of work cost, and what of it was lost."""
    parts = [
        f"{money(cost, found.currency)} {what}"
        for cost, what in (
            (found.unsuccessful, "in runs without success"),
            (found.repeated, f"for {plural(found.unit)} that were done again"),
            (found.idle, "while GPUs were idle"),
        )
        if cost
    ]
    text = f"The {found.runs} runs of this job cost {money(found.cost, found.currency)}"
    if found.per_unit is not None:
        text += f", {money(found.per_unit, found.currency)} per {found.unit}"
    return f"{text}; of it {', '.join(parts)}." if parts else f"{text}."
