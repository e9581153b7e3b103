"""``jobmon status``: every watched job, from what is on disk; Slurm is not asked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from jobmon.commands.common import open_context
from jobmon.errors import say
from jobmon.views.model import as_json, is_recent
from jobmon_core.lifecycle.health import Health, JobStatus, list_jobs

if TYPE_CHECKING:
    import argparse

EPILOG = """\
monitor: alive, DEAD (`jobmon recover` restarts it), stale or elsewhere (on another host), done

examples:
  jobmon status
  jobmon status --json | jq '.[] | select(.outcome == "failure")'"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``status``."""
    parser.description = "Show every watched job: those that live, and those of the last 7 days."
    parser.epilog = EPILOG
    parser.add_argument("--all", action="store_true", help="show older ones too")
    parser.add_argument("--json", action="store_true", help="a list of objects, documented in the README")


def run(options: argparse.Namespace) -> int:
    """Print the table, or its JSON."""
    ctx = open_context()
    now_s = ctx.clock.now()
    shown: list[JobStatus] = []
    for found in list_jobs(ctx):
        if not isinstance(found, JobStatus):
            say(f"left out, all other jobs are shown: {found.why}")
        elif options.all or is_recent(found, now_s):
            shown.append(found)
    if options.json:
        print(json.dumps([as_json(each) for each in shown], indent=2))
        return 0
    from jobmon.views.terminal import status_table

    print(status_table(shown, now_s))
    if any(each.health is Health.DEAD for each in shown):
        say("monitors are DEAD; `jobmon recover` restarts them")
    if any(each.health in (Health.REMOTE, Health.STALE) for each in shown):
        from jobmon_core.app.setup import describe_home

        say(f"monitors run on several hosts; {describe_home(ctx)}")
    return 0
