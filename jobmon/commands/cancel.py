"""``jobmon cancel``."""

from __future__ import annotations

from jobmon.commands.common import Errors, Options, Parser, add_jobs, open_context, print_change
from jobmon_core.app.cancel import cancel
from jobmon_core.app.jobs.find import find_ref

DESCRIPTION = """\
Stop watching jobs. The jobs themselves keep running; `scancel` ends a job of Slurm, and Ctrl-C one of
`jobmon run`."""
EPILOG = "examples:\n  jobmon cancel 8123\n  jobmon cancel latest"


def add_arguments(parser: Parser) -> None:
    add_jobs(parser)


def run(options: Options) -> int:
    """Stop watching each job, even after an error with another one; 1: a job needs no monitor any more."""
    ctx, errors = open_context(), Errors()
    for argument in options.job:
        with errors.reported():
            errors.add(print_change(cancel(ctx, find_ref(ctx, argument))))
    return errors.exit_code
