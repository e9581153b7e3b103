"""``jobmon logs``: show the log of a job's monitor."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from jobmon.commands.common import job_ref, newest_state_id, open_context
from jobmon.errors import say

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Show the log of a job's monitor: what it saw and did. (Not the output of the job itself.)"
    )
    parser.epilog = "examples:\n  jobmon logs 8123"
    parser.add_argument("job", type=job_ref, help="a job id")


def run(options: argparse.Namespace) -> int:
    """Print the log."""
    ctx = open_context()
    log = ctx.monitor_log(newest_state_id(ctx, options.job))
    text = log.read()
    sys.stdout.write(text)
    if not text:
        say(f"{log.path} is empty or missing")
    return 0
