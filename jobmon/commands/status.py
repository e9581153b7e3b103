"""``jobmon status``: list the watched jobs from their state files, without asking Slurm."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from jobmon.commands.common import open_context
from jobmon.errors import say
from jobmon.views.model import is_recent, status_json
from jobmon_core.lifecycle.health import Health, JobStatus, list_jobs

if TYPE_CHECKING:
    import argparse

EPILOG = """\
MONITOR is the state of the job's monitor: alive, done (the job needs no monitor any more) or DEAD
(`jobmon recover` restarts it). On another host it is elsewhere (its heartbeats arrive) or stale (they
do not; `jobmon recover` replaces it).

examples:
  jobmon status
  jobmon status --json | jq '.[] | select(.outcome == "failure")'"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "List the jobs that are watched, that have undelivered messages, or that ended in the last 7 days."
    )
    parser.epilog = EPILOG
    parser.add_argument("--all", action="store_true", help="list all jobs, however old")
    parser.add_argument("--json", action="store_true", help="print a JSON list (see the README)")


def run(options: argparse.Namespace) -> int:
    """Print the table or the JSON list; report unreadable state files and lost monitors on stderr."""
    ctx = open_context()
    now_s = ctx.clock.now()
    shown: list[JobStatus] = []
    for status in list_jobs(ctx):
        if not isinstance(status, JobStatus):
            say(f"skipped a state file: {status.why}")
        elif options.all or is_recent(status, now_s):
            shown.append(status)
    if options.json:
        print(json.dumps([status_json(each) for each in shown], indent=2))
        return 0
    from jobmon.views.terminal import status_table

    print(status_table(shown, now_s))
    if any(each.health is Health.DEAD for each in shown):
        say("some monitors are DEAD; `jobmon recover` restarts them")
    if any(each.health in (Health.REMOTE, Health.STALE) for each in shown):
        from jobmon_core.app.setup import describe_home

        say(f"monitors run on other hosts: only heartbeats show their health; {describe_home(ctx.home.root)}")
    return 0
