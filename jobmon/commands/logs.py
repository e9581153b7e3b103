"""``jobmon logs``: the monitor's own log."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from jobmon.commands.common import job_ref, newest, open_shop
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
    shop = open_shop()
    log = shop.monitor_log(newest(shop, options.job))
    text = log.read()
    sys.stdout.write(text)
    if not text:
        say(f"{log.path} is empty or missing")
    return 0
