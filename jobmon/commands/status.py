"""``jobmon status``."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

from jobmon.commands.common import (
    JOB_HELP,
    Options,
    Parser,
    add_flags,
    open_context,
    period_s,
    positive,
    print_json,
    print_lines,
    stdout_console,
    table_console,
)
from jobmon.errors import UsageError, say
from jobmon.views.delivery import alerts_json
from jobmon.views.model import clock, status_json
from jobmon.views.telemetry import live_json
from jobmon.views.trackers import trackers_json
from jobmon_core.app.jobs.find import Selection, find_ref, no_record, select, unknown_refs
from jobmon_core.app.jobs.overview import config_fault, overview
from jobmon_core.app.live.telemetry import tasks_with_agents
from jobmon_core.app.messages.mute import job_alerts, muted
from jobmon_core.app.messages.undelivered import undelivered_messages
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.lifecycle.health import Health

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon.views.console import Lines
    from jobmon.views.model import Json
    from jobmon_core.app.jobs.find import Selected
    from jobmon_core.app.jobs.overview import Overview
    from jobmon_core.context import Context
    from jobmon_core.lifecycle.health import JobStatus


DESCRIPTION = """\
List the jobs that are watched or have undelivered messages, and those that ended, or that you stopped
watching, in the last 7 days, sorted by id. The list comes from jobmon's own files, so it
works while Slurm is down."""
EPILOG = """\
MONITOR is the state of the job's monitor: alive, done (the job needs no monitor any more) or DEAD
(`jobmon recover` restarts it). On another host it is elsewhere (its heartbeats arrive) or stale (they
do not; `jobmon recover` replaces it). A terminal gets this column only if some monitor is neither
alive nor done.

In ELAPSED/LIMIT, - means that the job has not started, and ? that jobmon does not know the value,
e.g. the limit of a pending job without --time, which Slurm may set when it starts. For an array, both
are those of the task that has been running longest, or ran longest.

OUTCOME/CAUSE shows why a job is pending: what Slurm's reason means, with the reason in brackets; for an
array of which only a part is pending, only if you must do something. A success is doubtful if the log ends
in a failure, if its last loss is NaN, if outputs are missing or damaged, if something listed under `done` in
jobmon.yaml is missing, or if the log counts fewer than 99 % of `total_items` (items only: epochs, steps,
batches and iterations are not compared). `Slurm last answered 20s ago` is the age of the oldest data about
an active job. A row with data older than one polling interval shows its own age:
`last answer 12m ago`.

The STATE of an array has the number of its tasks in each state. A terminal gets a table that fits, with
squeue's short names of states where the long ones do not fit (F:2 R:1 CD:7 is 2 FAILED, 1 RUNNING, 7
COMPLETED); a pipe gets all columns, uncut unless $COLUMNS is set. $NO_COLOR turns colours off.

examples:
  jobmon status
  jobmon status --failed --since 2d
  jobmon status --running --pending --watch
  jobmon status --name 'train*' --limit 20
  jobmon status 8123 8124
  jobmon status --failed --json | jq -r '.[].job_id'"""
_REFRESH_S = 2.0
_NO_PROGRESS = JobProgress()
_HOME, _CLEAR, _CLEAR_LINE, _CLEAR_BELOW = "\x1b[H", "\x1b[2J", "\x1b[K", "\x1b[J"


def add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "job", nargs="*", metavar="JOB", help=f"list only these jobs, however old: {JOB_HELP}"
    )
    add_flags(
        parser,
        failed="list jobs that failed, have failed tasks, ended with an unknown outcome, or are doubtful "
        "successes (see below); cancelled jobs are not listed",
        running="list running jobs",
        pending="list pending jobs; may be combined with --failed and --running",
    )
    parser.add_argument(
        "--name", default="", metavar="GLOB", help="list jobs with such a name, e.g. 'train*'"
    )
    parser.add_argument(
        "--since",
        type=period_s,
        metavar="TIME",
        help="list active jobs and those that ended since, e.g. 36h, 2d",
    )
    parser.add_argument(
        "--limit", type=positive, metavar="N", help="list only the N jobs with the highest ids"
    )
    add_flags(
        parser,
        all="list all jobs, however old",
        watch="refresh every two seconds, until Ctrl-C",
        json="print a JSON list (see docs/json.md)",
    )


def run(options: Options) -> int:
    """Print the table or the list; the exit code is 1 if a named job is unknown."""
    ctx = open_context()
    if options.watch:
        if options.json or not sys.stdout.isatty():
            raise UsageError("--watch needs a terminal and cannot be combined with --json")
        return _watch(ctx, options)
    now_s = ctx.clock.now()
    selection = _selection(ctx, options, now_s)
    known, selected = _select(ctx, selection, now_s)
    for file in known.unreadable:
        say(f"skipped a state file: {file.why}")
    unknown = unknown_refs(known.jobs, selection.refs)
    for ref in unknown:
        say(no_record(ref))
    if options.json:
        print_json([_as_json(ctx, each, known, now_s) for each in selected.jobs])
    elif not unknown or len(unknown) < len(selection.refs):
        from jobmon.views.status import status_lines

        print_lines(status_lines(selected, known, now_s, table_console()))
        for notice in notices(ctx, selected.jobs):
            say(notice)
    return int(bool(unknown))


def _as_json(ctx: Context, status: JobStatus, known: Overview, now_s: float) -> Json:
    progress = known.progress.get(status.job.id, _NO_PROGRESS)
    tasks = tasks_with_agents(ctx, status, progress, now_s)
    alerts = alerts_json(job_alerts(ctx, status.job))
    return status_json(status, now_s, progress) | live_json(tasks, now_s) | trackers_json(tasks) | alerts


def _selection(ctx: Context, options: Options, now_s: float) -> Selection:
    return Selection(
        refs=tuple(find_ref(ctx, argument) for argument in options.job),
        all=options.all,
        failed=options.failed,
        running=options.running,
        pending=options.pending,
        name=options.name,
        since_s=None if options.since is None else now_s - options.since,
        limit=options.limit,
    )


def _select(ctx: Context, selection: Selection, now_s: float) -> tuple[Overview, Selected]:
    known = overview(ctx)
    return known, select(known.jobs, selection, now_s)


def notices(ctx: Context, jobs: Sequence[JobStatus]) -> Lines:
    """Yield what keeps messages or monitors of these jobs from working, and what is muted."""
    if any(not each.job.closed for each in jobs) and (fault := config_fault(ctx)):
        yield fault
    if any(each.health is Health.DEAD for each in jobs):
        yield "some monitors are DEAD; `jobmon recover` restarts them"
    for subject, until_s in muted(ctx):
        yield f"{subject}: muted until {clock(until_s, ctx.clock.now())}"
    yield from undelivered_messages(ctx)
    if any(each.health in (Health.REMOTE, Health.STALE) for each in jobs):
        from jobmon_core.app.setup import describe_home

        home = describe_home(ctx.home.root)
        yield f"monitors run on other hosts: only heartbeats show their health; {home}"


def _watch(ctx: Context, options: Options) -> int:
    sys.stdout.write(_CLEAR)
    try:
        while True:
            sys.stdout.write(_frame(ctx, options))
            sys.stdout.flush()
            ctx.clock.wait(_REFRESH_S)
    except KeyboardInterrupt:
        print()
        return 0


def _frame(ctx: Context, options: Options) -> str:
    from jobmon.views.status import watch_lines

    now_s, console = ctx.clock.now(), stdout_console()
    known, selected = _select(ctx, _selection(ctx, options, now_s), now_s)
    unread = (f"skipped a state file: {file.why}" for file in known.unreadable)
    height = max(2, shutil.get_terminal_size().lines - 1)
    lines = watch_lines(
        selected, known, now_s, console, notices=[*unread, *notices(ctx, selected.jobs)], height=height
    )
    return _HOME + "".join(f"{line}{_CLEAR_LINE}\n" for line in lines) + _CLEAR_BELOW
