"""``jobmon logs``: the monitor's own log."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from jobmon.commands.common import job_ref, newest, open_context
from jobmon.errors import say

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``logs``."""
    parser.description = "Show what the monitor of a job saw and did (not the job's own output)."
    parser.epilog = "examples:\n  jobmon logs 8123"
    parser.add_argument("job", type=job_ref, help="a job id")


def run(options: argparse.Namespace) -> int:
    """Print the log."""
    ctx = open_context()
    log = ctx.monitor_log(newest(ctx, options.job))
    text = log.read()
    sys.stdout.write(text)
    if not text:
        say(f"{log.path} is empty or missing")
    return 0
