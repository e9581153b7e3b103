"""Job ids on the command line, and the watched jobs that they name."""

from __future__ import annotations

import argparse
import os
import shutil
import sys

from jobmon.views.console import Console
from jobmon_core.context import Context
from jobmon_core.domain.errors import UnknownJob
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.lifecycle.health import find_watched


def job_ref(text: str) -> JobRef:
    """Read a job id from the command line."""
    try:
        return JobRef.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def newest(ctx: Context, ref: JobRef) -> str:
    """Return the state id of the newest watched job that ``ref`` belongs to.

    Raises:
        UnknownJob: there is none.
        StateUnreadable: there is one, whose state file can't be read.
    """
    found = find_watched(ctx, ref)
    if not found:
        raise UnknownJob(f"job {ref} was never watched; `jobmon status --all` lists what was")
    return found[-1].id


def open_context() -> Context:
    """Return the tools of the user's home."""
    return Context.open(os.environ)


def stdout_console() -> Console:
    """Return the sheet of stdout."""
    return Console(shutil.get_terminal_size().columns if sys.stdout.isatty() else 0)
