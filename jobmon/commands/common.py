"""Helpers of several commands: job ids as arguments, the context, the console."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from jobmon.views.console import Console, one_line, truncated
from jobmon_core.context import Context
from jobmon_core.domain.errors import UnknownJob
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.lifecycle.health import find_watched

_MIN_SUBJECT = 20  # columns


def job_ref(text: str) -> JobRef:
    """Parse a job id; if it is invalid, raise the ArgumentTypeError that argparse expects."""
    try:
        return JobRef.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def newest_state_id(ctx: Context, ref: JobRef) -> str:
    """Return the state id of the newest watched job that ``ref`` belongs to.

    Raises:
        UnknownJob: jobmon never watched this job.
        StateUnreadable: the job has a state file that cannot be read.
    """
    jobs = find_watched(ctx, ref)
    if not jobs:
        raise UnknownJob(f"job {ref} was never watched; `jobmon status --all` lists the jobs that were")
    return jobs[-1].id


def jobmon_command() -> tuple[str, ...]:
    """Return the command that started jobmon, with an absolute path."""
    program = Path(sys.argv[0])
    if program.name == "__main__.py":
        return sys.executable, "-m", "jobmon"
    return (str(program.absolute()),)


def open_context() -> Context:
    """Return the context of the user who runs this command."""
    return Context.open(os.environ)


def stdout_console() -> Console:
    """Return the console of stdout."""
    return Console(shutil.get_terminal_size().columns if sys.stdout.isatty() else 0)


def result_line(subject: str, action: str) -> str:
    """Return ``subject: action`` as one line; on a terminal, a long subject is cut, so that both fit."""
    subject, action = one_line(subject), one_line(action)
    if sys.stdout.isatty():
        room = shutil.get_terminal_size().columns - len(action) - len(": ")
        subject = truncated(subject, max(room, _MIN_SUBJECT))
    return f"{subject}: {action}"
