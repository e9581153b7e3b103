"""Job ids on the command line, and the watched jobs that they name."""

from __future__ import annotations

import argparse
import os
import shutil
import sys

from jobmon.views.console import Sheet
from jobmon_core.context import Workshop
from jobmon_core.domain.errors import UnknownJob
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.lifecycle.health import watched


def job_ref(text: str) -> JobRef:
    """Read a job id from the command line."""
    try:
        return JobRef.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def newest(shop: Workshop, ref: JobRef) -> str:
    """Return the state id of the newest watched job that ``ref`` belongs to.

    Raises:
        UnknownJob: there is none.
        StateUnreadable: there is one, whose state file can't be read.
    """
    found = watched(shop, ref)
    if not found:
        raise UnknownJob(f"job {ref} was never watched; `jobmon status --all` lists what was")
    return found[-1].id


def open_shop() -> Workshop:
    """Return the tools of the user's home."""
    return Workshop.open(os.environ)


def stdout_sheet() -> Sheet:
    """Return the sheet of stdout."""
    return Sheet(shutil.get_terminal_size().columns if sys.stdout.isatty() else 0)
