"""``jobmon watch``: attach a monitor to a job that was submitted otherwise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from jobmon.commands.common import job_ref, open_context
from jobmon.errors import say
from jobmon_core.app.submit import SubmitJob
from jobmon_core.app.watch import WatchJob
from jobmon_core.context import backend_names
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.tracking.model import LogPaths
from jobmon_core.lifecycle.start import MonitorStarter

if TYPE_CHECKING:
    import argparse

DESCRIPTION = """\
Watch jobs that were not submitted through jobmon: waiting, running, or over (then the job is
analysed and told at once). 12 is a job or a whole array, 12_3 one task, 12+1 a het component."""
EPILOG = """\
examples:
  jobmon watch 8123
  jobmon watch 8123_7 --error /scratch/me/run-7.err"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``watch``."""
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.add_argument("job", nargs="+", type=job_ref, help="job ids")
    parser.add_argument("--error", type=Path, metavar="FILE", help="the job's stderr, if Slurm can't tell")
    parser.add_argument("--output", type=Path, metavar="FILE", help="the job's stdout, if Slurm can't tell")
    parser.add_argument("--backend", choices=backend_names(), help="the scheduler that has the job")


def run(options: argparse.Namespace) -> int:
    """Watch each job; one that can't be watched keeps none of the others from it."""
    ctx = open_context()
    attachment = WatchJob(SubmitJob(ctx, MonitorStarter(ctx), say))
    logs = LogPaths(_absolute(options.output or options.error), _absolute(options.error or options.output))
    worst = 0
    for ref in options.job:
        try:
            attachment.watch(ref, options.backend, logs)
        except JobmonError as error:
            say(str(error))
            worst = max(worst, error.exit_code)
        else:
            say(f"watching job {ref}; `jobmon show {ref}` tells what is known")
    return worst


def _absolute(path: Path | None) -> str:
    return str(path.absolute()) if path else ""
