"""``jobmon show``: everything known of one job."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from jobmon.commands.common import job_ref, newest, open_context
from jobmon.views.model import details_json
from jobmon.views.terminal import details
from jobmon_core.lifecycle.health import job_status

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``show``."""
    parser.description = "Show everything known of one job: its end, the evidence, the history of its states."
    parser.epilog = "examples:\n  jobmon show 8123\n  jobmon show 8123_7 --json"
    parser.add_argument("job", type=job_ref, help="a job id; the newest job that had it is shown")
    parser.add_argument("--json", action="store_true", help="one object, documented in the README")


def run(options: argparse.Namespace) -> int:
    """Print one job."""
    ctx = open_context()
    found = job_status(ctx, ctx.store.load(newest(ctx, options.job)))
    if options.json:
        print(json.dumps(details_json(found), indent=2))
    else:
        print(details(found, options.job.key, ctx.clock.now()))
    return 0
