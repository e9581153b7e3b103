"""``jobmon show``: show everything known about one job."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from jobmon.commands.common import job_ref, newest_state_id, open_context
from jobmon.views.model import details_json
from jobmon.views.terminal import details
from jobmon_core.domain.errors import UnknownJob
from jobmon_core.lifecycle.health import job_status

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Show everything known about one job: how it ended, the evidence, its state history."
    parser.epilog = "examples:\n  jobmon show 8123\n  jobmon show 8123_7 --json"
    parser.add_argument("job", type=job_ref, help="job id (if Slurm reused the id: its newest job)")
    parser.add_argument("--json", action="store_true", help="print one JSON object (see the README)")


def run(options: argparse.Namespace) -> int:
    """Print one job."""
    ctx = open_context()
    job = ctx.store.load(newest_state_id(ctx, options.job))
    if job.lacks_part(options.job.key):
        raise UnknownJob(f"unknown job {options.job}: job {job.job_id} has no such task")
    status = job_status(ctx, job)
    if options.json:
        print(json.dumps(details_json(status), indent=2))
    else:
        print(details(status, options.job.key, ctx.clock.now()))
    return 0
