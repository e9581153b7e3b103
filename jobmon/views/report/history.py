"""The history as one HTML page."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from jobmon.views.history import (
    HEADERS,
    NO_RUNS,
    damage,
    duration_text,
    hours,
    run_cells,
    total_columns,
)
from jobmon.views.model import stamp
from jobmon.views.report.marks import PATTERNS
from jobmon.views.report.page import page_html, prose, table, tiles
from jobmon.views.report.runs import (
    busy_html,
    hours_html,
    pace_html,
    short,
    time_html,
    wait_html,
    waste_html,
)
from jobmon_core.app.history.look import MAX_LISTED
from jobmon_core.domain.humanize import count, money
from jobmon_core.domain.job.history.totals import together
from jobmon_core.domain.visible_text import in_html

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon.views.console import Lines
    from jobmon_core.app.history.look import Overview
    from jobmon_core.domain.job.history.record import HistoryRecord


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
        columns = total_columns(totals, by)
        rows = ([short(text(row)) for _, text in columns] for row in totals[:MAX_LISTED])
        title = f"By {by}"
        if len(totals) > MAX_LISTED:
            title += f", the first {MAX_LISTED:,} of {len(totals):,}"
        yield from table(title, [column_title(name) for name, _ in columns], rows)
    runs, total = data.past.runs, sum(each.runs for each in data.past.totals)
    title = count(total, "run")
    if len(runs) < total:
        title = f"{len(runs):,} of {total:,} runs"
    rows = ([short(cell.text) for cell in run_cells(run, data.now_s)] for run in runs)
    yield from table(title, map(column_title, HEADERS), rows)


def column_title(name: str) -> str:
    """Return the header of a column in a terminal as one of a page."""
    return name.capitalize().replace("Gpu", "GPU").replace("Cpu", "CPU")
