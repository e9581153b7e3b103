"""``jobmon group status``, ``list``, ``wait`` and ``log``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.commands.common import open_context, stdout_console
from jobmon.commands.results import Errors, print_json, print_lines
from jobmon.commands.wait import wait_for
from jobmon.errors import say
from jobmon.views.groups import group_json, group_lines, list_json, list_lines
from jobmon_core.app.groups.jobs import runs_of
from jobmon_core.app.jobs.output import begin_following
from jobmon_core.app.jobs.overview import Overview, policy
from jobmon_core.domain.visible_text import one_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

_FOLLOW_INTERVAL_S = 1.0
_ALL_LINES = 1_000_000


def status(options: argparse.Namespace) -> int:
    """Print the runs of a group."""
    ctx = open_context()
    group = ctx.groups.load(options.name)
    runs, now_s = runs_of(ctx, group), ctx.clock.now()
    running = [run.job for run in runs if run.job and not run.job.closed and run.job.is_running]
    progress = {job.id: ctx.progress_file(job.id).read() for job in running}
    if options.json:
        path = ctx.groups.summary_path(group.name)
        print_json(group_json(group, runs, progress, str(path) if path.exists() else None, now_s))
        return 0
    statuses = [run.status for run in runs if run.status]
    intervals_s = {status.job.id: group.settings.interval_s for status in statuses}
    known = Overview(statuses, [], policy(ctx), progress, intervals_s)
    print_lines(group_lines(group, runs, known, now_s, stdout_console()))
    return 0


def list_groups(options: argparse.Namespace) -> int:
    """Print all groups; return 1 if the file of one cannot be read."""
    ctx, found, errors = open_context(), [], Errors()
    for name in ctx.groups.names():
        with errors.reported():
            group = ctx.groups.load(name)
            found.append((group, runs_of(ctx, group)))
    if options.json:
        print_json([list_json(group, runs) for group, runs in found])
    else:
        print_lines(list_lines(found, ctx.clock.now(), stdout_console()))
    return errors.exit_code


def wait(options: argparse.Namespace) -> int:
    """Wait until all jobs of a group are over; the exit codes are those of ``jobmon wait``."""
    ctx = open_context()
    ctx.groups.load(options.name)  # raises UnknownGroup: `wait_for` would take the name of a job, too
    return wait_for(ctx, [options.name], options.at_most_s, as_json=options.json)


def log(options: argparse.Namespace) -> int:
    """Print the log of a group; with ``--follow``, go on until the group is over.

    Return 1 if no log can be shown; with ``--follow``, wait for one instead.
    """
    ctx = open_context()
    group = ctx.groups.load(options.name)
    path = group.log.path or str(ctx.home.group_log(group.name))
    text, follower = begin_following(path, options.lines or _ALL_LINES)
    if text.problem and not options.follow:
        say(one_line(f"group {group.name} has no log to show: {path} {text.problem}"))
        return 1
    _print(text.lines)
    while options.follow:
        is_over = ctx.groups.load(options.name).complete_s is not None
        _print(follower.read().lines)
        if is_over:
            break
        ctx.clock.wait(_FOLLOW_INTERVAL_S)
    return 0


def _print(lines: Sequence[str]) -> None:
    for line in lines:
        print(line, flush=True)
