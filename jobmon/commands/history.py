"""``jobmon history``."""

from __future__ import annotations

import argparse
from itertools import chain
from typing import TYPE_CHECKING

from jobmon.commands.common import (
    JOB_HELP,
    Options,
    Parser,
    add_flags,
    natural,
    open_context,
    period_s,
    print_json,
    print_lines,
    table_console,
    write_page,
)
from jobmon.errors import UsageError, say
from jobmon.views.history import (
    among_json,
    among_lines,
    budget_json,
    budget_lines,
    csv_text,
    history_json,
    history_lines,
    no_cost_lines,
    run_json,
    total_json,
    totals_lines,
)
from jobmon.views.model import stamp
from jobmon_core.app.history.look import history_budgets, overview, past_runs, run_among
from jobmon_core.domain.humanize import count, listed
from jobmon_core.domain.job.history.totals import BY, SORTS, Wanted
from jobmon_core.domain.slurm.states import JobState, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon.views.console import Lines
    from jobmon.views.model import Json
    from jobmon_core.context import Context

DESCRIPTION = """\
Show ended runs: what they took, how they ended and why. Each watched job adds a line when it has ended, which
stays when the job is forgotten. With JOB, its latest run, also one that has not ended, beside earlier runs of
the same name or script."""
EPILOG = """\
HOURS are those for which GPUs, else CPUs, were allocated. WAIT begins when the job could have started.
PER UNIT is the median of the seconds per step, epoch or whatever the log counts; with --cost, the cost of a
unit. The cost of a run is that of its whole allocation, at the prices that config.json had when it ended.

`jobmon history backfill` adds runs that jobmon did not watch, from accounting: those of the last 30 days, or
since --since, with one query for each week. What it knows of the runs that it watched stays; they get the
hours that accounting did not have when they ended.

--html writes one page with charts; an existing file is replaced, and it is readable by you alone.

examples:
  jobmon history
  jobmon history --name 'train*' --since 30d --state failure
  jobmon history --by month
  jobmon history --by cause --since 90d --sort gpu-hours
  jobmon history --by group --cost --since 365d
  jobmon history 8123
  jobmon history --csv -n 0 > runs.csv
  jobmon history --since 90d --html history.html
  jobmon history backfill --since 90d"""
_FILTERS = {
    "name": "with this name, or of jobs with it, e.g. 'train*'",
    "group": "of this group",
    "cause": "with this cause, e.g. 'cuda*'",
    "node": "on this node",
}
_BACKFILL, _BACKFILL_S = "backfill", 30 * 86_400.0
_SHOWN = 20  # runs, unless -n says more
_OUTCOMES = (*Outcome, "doubtful")
_STATES: tuple[str, ...] = (*_OUTCOMES, *JobState)


def add_arguments(parser: Parser) -> None:
    text = f"{JOB_HELP}; or {_BACKFILL}, to add runs from accounting"
    parser.add_argument("job", nargs="?", metavar="JOB", help=text)
    for name, text in _FILTERS.items():
        parser.add_argument(f"--{name}", default="", metavar="GLOB", help=f"only runs {text}")
    text = "only runs that ended since, e.g. 36h, 30d"
    parser.add_argument("--since", type=period_s, metavar="TIME", help=text)
    text = "only runs with this state or outcome: success, failure, cancelled, doubtful, TIMEOUT ..."
    parser.add_argument("--state", type=_state, default="", metavar="STATE", help=text)
    text = f"totals instead of single runs, by {listed(BY, len(BY))}"
    parser.add_argument("--by", choices=BY, metavar="WHAT", help=text)
    add_flags(parser, cost="what runs cost, and the budgets; see `prices` in docs/configuration.md")
    text = f"the highest first by {listed(tuple(SORTS), len(SORTS))} (default: ended)"
    parser.add_argument("--sort", choices=tuple(SORTS), default="ended", metavar="WHAT", help=text)
    text = f"at most N runs; 0: all (default: {_SHOWN})"
    parser.add_argument("-n", "--lines", type=natural, default=_SHOWN, metavar="N", help=text)
    formats = parser.add_mutually_exclusive_group()
    add_flags(formats, json="print JSON (see docs/history.md)")
    formats.add_argument("--html", metavar="FILE", help="write a page with charts; - is stdout")
    add_flags(formats, csv="print CSV with the keys of the JSON as header")


def _state(text: str) -> str:
    alike = [state for state in _STATES if state.lower() == text.lower()]
    if text and not alike:
        outcomes = ", ".join(_OUTCOMES)
        raise argparse.ArgumentTypeError(f"{text!r} is no state of Slurm, and none of {outcomes}")
    return text if text in alike else "".join(alike[:1])


def run(options: Options) -> int:
    ctx = open_context()
    if options.job == _BACKFILL:
        return _backfill(ctx, options)
    if options.job == "":  # a variable of a script that is empty
        raise UsageError("JOB is an empty word; leave it out to see all runs")
    if options.job:
        _print_run(ctx, options)
    elif options.html:
        _write_page(ctx, options)
    else:
        _print_runs(ctx, options)
    return 0


def _backfill(ctx: Context, options: Options) -> int:
    from jobmon_core.app.history.backfill import backfill  # few want it, and it needs the scheduler

    added = completed = known = 0
    for week in backfill(ctx, ctx.clock.now() - (_BACKFILL_S if options.since is None else options.since)):
        until = stamp(week.until_s, "%Y-%m-%d")
        say(f"until {until}: {count(week.runs, 'run')} in accounting, {week.new:,} new")
        added, completed = added + week.new, completed + week.completed
        known += week.runs - week.new
    late = f", of which {completed:,} got hours that accounting had not told before" * bool(completed)
    print(f"added {count(added, 'run')}; {known:,} were known{late}")
    return 0


def _write_page(ctx: Context, options: Options) -> None:
    from jobmon.views.report.history import history_html

    limit = options.lines or -1
    data = overview(ctx, _wanted(ctx, options), options.by or "", options.sort, limit)
    write_page(options, history_html(data), "history")


def _print_run(ctx: Context, options: Options) -> None:
    if options.html:
        raise UsageError(f"`jobmon report {options.job} --html FILE` writes a page about one run")
    found = run_among(ctx, options.job)
    lines = among_lines(found, ctx.clock.now(), table_console())
    _print(options, among_json(found), [run_json(each) for each in (found.run, *found.alike)], lines)


def _print_runs(ctx: Context, options: Options) -> None:
    limit, console = options.lines or -1, table_console()
    past = past_runs(ctx, _wanted(ctx, options), options.sort, limit, options.by or "")
    budgets = history_budgets(ctx) if options.cost else []
    notes: Lines = iter(())
    if options.cost:
        notes = chain(no_cost_lines(past.totals, console), budget_lines(budgets, console))
    if options.by:
        rows = [*map(total_json, past.rows)]
        _print(options, rows, rows, chain(totals_lines(past.rows, options.by, console), notes))
        return
    found = history_json(past)
    if options.cost:
        found["budgets"] = [budget_json(state) for state in budgets]
    lines = history_lines(past, ctx.clock.now(), console, has_costs=options.cost)
    _print(options, found, found["runs"], chain(lines, notes))


def _print(options: Options, found: object, rows: Sequence[Json], lines: Lines) -> None:
    if options.json:
        print_json(found)
    elif options.csv:
        print(csv_text(rows), end="")
    else:
        print_lines(lines)


def _wanted(ctx: Context, options: Options) -> Wanted:
    since_s = None if options.since is None else ctx.clock.now() - options.since
    return Wanted.chosen(since_s, vars(options))
