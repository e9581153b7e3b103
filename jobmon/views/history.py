"""Ended runs: as a table, in totals, one among those like it, with budgets; and the same for programs."""

from __future__ import annotations

import csv
import io
from functools import partial
from statistics import median
from typing import TYPE_CHECKING

from jobmon.views.console import Style
from jobmon.views.model import clock, fields, known_fields, stamp
from jobmon.views.table import Cell, table_lines
from jobmon_core.domain.humanize import count, duration, hours, money, number, plural, size, text_of
from jobmon_core.domain.job.efficiency.advice import activity_text
from jobmon_core.domain.slurm.states import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeAlias, TypeVar

    from jobmon.views.console import Console, Lines
    from jobmon.views.model import Json
    from jobmon_core.app.history.look import Among, Past
    from jobmon_core.domain.job.history.nodes import SuspectNode
    from jobmon_core.domain.job.history.prices import BudgetState
    from jobmon_core.domain.job.history.record import HistoryRecord
    from jobmon_core.domain.job.history.totals import LineageCost, RunTotals

    T = TypeVar("T")
    TableColumns: TypeAlias = dict[str, Callable[[T], Cell | str]]  # of a table, by their headers

# which columns are cut, and to how many characters, until a table of runs fits a terminal
_STEPS = (
    *(("ENDED", 11), ("NAME", 10), ("CAUSE", 10), ("PER UNIT", 8)),
    *(("STATE", 6), ("NAME", 4), ("CAUSE", 5), ("JOB", 6)),
)
_STYLES: dict[str, Style] = {Outcome.SUCCESS: Style.GOOD, Outcome.CANCELLED: Style.DIM}
NO_RUNS = (
    "the history has no such run; a watched job adds one when it has ended, "
    "`jobmon history backfill` adds those in accounting"
)
_NO_COST = "no run has a cost: `prices` in config.json gives one to each run that ends from then on"
_LATE = (
    "here without hours, which accounting did not have when they ended: `jobmon history backfill` adds them"
)
UNKNOWN = "-"
_RECENT_S = 300 * 86_400.0
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # with which a spreadsheet begins a formula


def history_lines(past: Past, now_s: float, console: Console, *, has_costs: bool = False) -> Lines:
    """Yield a table of runs, and what all of them took; if wanted, with costs instead of wait and pace."""
    if not past.runs:
        yield from console.advice(NO_RUNS, hanging="  ")
        return
    yield from _table(run_columns(now_s, has_costs=has_costs), past.runs, console, _STEPS)
    for total in past.totals:
        shown = len(past.runs)
        rest = f", the last {shown} shown (-n 0 for all)" if shown < total.runs else ""
        yield from console.prose(f"{_total_text(total)}{rest}", hanging="  ")
    if late := sum(run.lacks_hours for run in past.runs):
        yield from console.advice(f"{count(late, 'run')} {_LATE}", hanging="  ")
    if past.damaged:
        yield console.styled(damage(past.damaged), Style.DIM)


def _table(
    columns: TableColumns[T], rows: Iterable[T], console: Console, steps: Iterable[tuple[str, int]]
) -> Lines:
    names, cells = [*columns], [[cell(row) for cell in columns.values()] for row in rows]
    cut = [(names.index(name), width) for name, width in steps if name in columns]
    yield from table_lines(names, cells, console, cut)


def row_texts(columns: TableColumns[T], row: T) -> Iterator[str]:
    """Yield what a row of a table shows, without styles."""
    for cell in columns.values():
        shown = cell(row)
        yield shown.text if isinstance(shown, Cell) else shown


def no_cost_lines(totals: Sequence[RunTotals], console: Console) -> Lines:
    """Yield why no run has a cost, if so."""
    if totals and all(total.cost is None for total in totals):
        yield from console.advice(_NO_COST, hanging="  ")


def damage(damaged: int) -> str:
    """Return how many lines cannot be read."""
    return f"{count(damaged, 'line')} of the history cannot be read: written by something else, or torn"


def run_columns(now_s: float, *, has_costs: bool = False) -> TableColumns[HistoryRecord]:
    """Return the columns of a table of runs; if wanted, with costs instead of the wait and the pace."""
    return {
        "JOB": lambda run: str(run.ref),
        "NAME": lambda run: run.label,
        "STATE": _state,
        "ENDED": lambda run: UNKNOWN if run.ended_s is None else _moment(run.ended_s, now_s),
        **({"COST": _cost} if has_costs else {"WAIT": lambda run: duration_text(run.wait_s)}),
        "TIME": lambda run: duration_text(run.run_s if run.started_s else None),
        "HOURS": _hours,
        "PER UNIT": _cost_per_unit if has_costs else _pace,
        "CAUSE": lambda run: run.cause or UNKNOWN,
    }


def state_text(run: HistoryRecord) -> str:
    """Return how a run ended."""
    return f"{run.state} (doubtful)" if run.doubtful else run.state


def _state(run: HistoryRecord) -> Cell:
    style = Style.BAD if run.doubtful else _STYLES.get(run.outcome, Style.BAD)
    return Cell(state_text(run), style)


def _moment(at_s: float, now_s: float) -> Cell:
    form = "%F" if abs(now_s - at_s) > _RECENT_S else "%m-%d %H:%M"  # a day without its year must be clear
    return Cell(clock(at_s, now_s), shorter=(stamp(at_s, form),))


def duration_text(seconds: float | None) -> str:
    """Return a duration, or ``-``."""
    return text_of(seconds, duration, UNKNOWN)


def _hours(run: HistoryRecord) -> str:
    if not run.started_s or run.lacks_hours:
        return UNKNOWN
    return f"{hours(run.gpu_hours)} GPU" if run.gpus else f"{hours(run.cpu_hours)} CPU"


def _pace(run: HistoryRecord) -> Cell | str:
    if run.step_s is None:
        return UNKNOWN
    if run.step_s < 0.01:  # noqa: PLR2004 - it would read 0.00
        return f"{number(1 / run.step_s)}/s"
    return Cell(f"{number(run.step_s)} s/{run.unit}", shorter=(f"{number(run.step_s)} s",))


def _cost(of: HistoryRecord | RunTotals) -> Cell | str:
    if of.cost is None:
        return UNKNOWN
    text = money(of.cost, of.currency)
    return Cell(text, shorter=(f"{of.cost:,.0f} {of.currency}",) if of.cost >= 100 else ())  # noqa: PLR2004 - then cents say nothing


def _cost_per_unit(run: HistoryRecord) -> Cell | str:
    if run.cost_per_unit is None:
        return UNKNOWN
    cost = money(run.cost_per_unit, "")
    return Cell(f"{cost}/{run.unit}", shorter=(cost,))


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


def totals_lines(rows: Sequence[RunTotals], by: str, console: Console) -> Lines:
    """Yield a table of what runs took."""
    if not rows:
        yield from console.advice(NO_RUNS, hanging="  ")
        return
    columns = total_columns(rows, by)
    yield from _table(columns, rows, console, [(by.upper(), 10), ("COST", 7), (by.upper(), 6)])
    of_gpus = "LOST: of runs that did not succeed; IDLE: as agents measured it; " if "LOST" in columns else ""
    yield from console.heading(f"{of_gpus}WAIT and TIME are means", Style.DIM)


def total_columns(rows: Sequence[RunTotals], by: str) -> TableColumns[RunTotals]:
    """Return the columns of a table of totals."""
    of_gpus: TableColumns[RunTotals] = {
        "GPU H": lambda row: hours(row.gpu_hours),
        "LOST": lambda row: hours(row.lost_gpu_hours),
        "IDLE": lambda row: hours(row.idle_gpu_hours),
    }
    return {
        by.upper(): lambda row: row.label or UNKNOWN,
        "RUNS": lambda row: f"{row.runs:,}",
        "FAILED": lambda row: f"{row.failures:,}",
        **(of_gpus if any(row.gpu_hours for row in rows) else {}),
        "CPU H": lambda row: hours(row.cpu_hours),
        "WAIT": lambda row: duration_text(row.wait_s),
        "TIME": lambda row: duration_text(row.run_s),
        **({"COST": _cost} if any(row.cost is not None for row in rows) else {}),
    }


def among_lines(found: Among, now_s: float, console: Console) -> Lines:
    """Yield one run, the figures of those like it, and these runs."""
    run, alike = found.run, found.alike
    yield console.styled(f"{run.ref} {run.label}: {state_text(run)}", Style.BOLD)
    headers = ("", "THIS RUN", "EARLIER", "LOWEST", "HIGHEST")
    yield from table_lines(headers, [*_compared(run, alike)], console, [(0, 10)])
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
        yield from console.prose("The history has no earlier run to compare it with.")
        return
    yield f"EARLIER: the median of {count(len(alike), 'earlier run')} of this name or script:"
    columns = run_columns(now_s)
    if {each.label for each in alike} == {run.label}:
        del columns["NAME"]
    yield from _table(columns, alike, console, _STEPS)


def _compared(run: HistoryRecord, alike: Sequence[HistoryRecord]) -> Iterator[list[str]]:
    """Yield each figure that is known of the run, or of one like it."""
    unit = next((each.unit for each in (run, *alike) if each.unit), "unit")
    comparable = [_comparable(each, unit, run.currency) for each in alike]
    for name, (figure, text) in _figures(unit, run.currency).items():
        this, known = figure(run), [value for value in map(figure, comparable) if value is not None]
        if this is not None or known:
            earlier = [text(of(known)) for of in (median, min, max)] if known else [UNKNOWN] * 3
            yield [name, text_of(this, text, UNKNOWN), *earlier]


def _comparable(run: HistoryRecord, unit: str, currency: str) -> HistoryRecord:
    """Return a run without its pace if it counts something else, and without its cost in another currency."""
    if run.unit != unit:
        run = run._replace(step_s=None, began=None)
    return run if run.currency == currency else run._replace(rate=None)


def _figures(
    unit: str, currency: str
) -> dict[str, tuple[Callable[[HistoryRecord], float | None], Callable[[float], str]]]:
    price = partial(money, currency=currency)
    return {
        "wait": (lambda run: run.wait_s, duration),
        "time": (lambda run: run.run_s if run.started_s else None, duration),
        f"seconds per {unit}": (lambda run: run.step_s, number),
        "peak memory": (lambda run: run.memory_peak, size),
        "GPU busy": (lambda run: run.gpu_percent, "{:.0f}%".format),
        "GPU hours": (lambda run: run.gpu_hours or None, hours),
        "CPU hours": (lambda run: run.cpu_hours or None, hours),
        "cost": (lambda run: run.cost, price),
        f"cost per {unit}": (lambda run: run.cost_per_unit, price),
    }


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


def nodes_lines(totals: Sequence[RunTotals], suspects: Sequence[SuspectNode], console: Console) -> Lines:
    """Yield the suspect nodes with what to do, and a table of all nodes."""
    for suspect in suspects:
        yield from console.prose(suspect.sentence, "! ", "  ")
        yield from console.advice(suspect.advice, "  ")
    if totals and not suspects:
        yield "no node stands out"
    yield from totals_lines(totals, "node", console)


def nodes_json(totals: Sequence[RunTotals], suspects: Sequence[SuspectNode]) -> Json:
    """Return the documented object of ``jobmon nodes --json``."""
    common, failures = ("node", "runs", "runs_elsewhere", "chance", "option"), "failures_elsewhere"
    kill = [fields(each, *common, "failures", failures) for each in suspects if not each.slowdown]
    slow = [
        fields(each, *common, "slowdown", slow_runs="failures", slow_runs_elsewhere=failures)
        for each in suspects
        if each.slowdown
    ]
    return {"suspects": kill, "slow": slow, "nodes": [*map(total_json, totals)]}


# how JSON calls fields of a record, and those that only jobmon itself needs
_RENAMED = {
    "submit_s": "submitted_at",
    "eligible_s": "eligible_at",
    "started_s": "started_at",
    "ended_s": "ended_at",
    "step_s": "seconds_per_unit",
}
_INTERNAL = {"noted_s", "task", "state_id", "node_peak", "began", "first_progress_s", "rate", "deleted"}


def run_json(run: HistoryRecord) -> Json:
    """Return a run; what is not known is null."""
    names = [name for name in run._fields if name not in _INTERNAL]
    known = fields(run, *names, "wait_s", "gpu_hours", "cpu_hours", "cost", "cost_per_unit")
    if run.lacks_hours:
        known |= dict.fromkeys(("gpus", "cpus", "gpu_hours", "cpu_hours"))
    found = {_RENAMED.get(name, name): None if value == "" else value for name, value in known.items()}
    return {**found, "job_id": str(run.ref), "from_accounting": not run.state_id}


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
    columns: TableColumns[BudgetState] = {
        "BUDGET": lambda state: state.budget.name,
        "PERIOD": lambda state: state.period or "all time",
        "AMOUNT": lambda state: money(state.budget.amount, state.currency),
        "SPENT": lambda state: money(state.spent, state.currency),
        "USED": lambda state: f"{state.percent:.0f}%",
        "FORECAST": lambda state: money(state.forecast, state.currency),
    }
    yield ""
    yield from _table(columns, budgets, console, [("BUDGET", 8)])
    note = "FORECAST: if the running jobs use their whole time limits"
    if missing := sum(state.unpriced for state in budgets):
        note += f"; without {count(missing, 'running job')} whose limit or price is not known"
    yield from console.heading(note, Style.DIM)


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
