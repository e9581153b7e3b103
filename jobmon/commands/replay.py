"""``jobmon replay``."""

from __future__ import annotations

from jobmon.commands.common import Errors, Options, Parser, add_jobs, open_context, print_change
from jobmon_core.app.recover import replay
from jobmon_core.lifecycle.start import MonitorStarter

DESCRIPTION = """\
Send again the messages about jobs that jobmon gave up sending, e.g. because a webhook was deleted and now
exists again. `jobmon show JOB` says which were given up and why. `jobmon recover` sends those of all jobs
whose channel was changed in the configuration; this command sends them in any case."""
EPILOG = """\
examples:
  jobmon replay 8123
  jobmon replay latest"""


def add_arguments(parser: Parser) -> None:
    add_jobs(parser)


def run(options: Options) -> int:
    """Send the messages of each job, even after an error with another one; 1: a job has none."""
    ctx, errors = open_context(), Errors()
    starter = MonitorStarter(ctx)
    for argument in options.job:
        with errors.reported():
            errors.add(print_change(replay(ctx, starter, argument)))
    return errors.exit_code
