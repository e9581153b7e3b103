"""``jobmon cancel``: stop watching jobs, which themselves keep running."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.commands.common import JOB_HELP, open_context, result_text
from jobmon.errors import say
from jobmon.views.console import one_line
from jobmon_core.app.cancel import cancel
from jobmon_core.app.jobs.find import find_ref
from jobmon_core.domain.errors import JobmonError

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Stop watching jobs. The jobs themselves keep running; `scancel` ends a job of Slurm, and Ctrl-C one "
        "of `jobmon run`."
    )
    parser.epilog = "examples:\n  jobmon cancel 8123\n  jobmon cancel latest"
    parser.add_argument("job", nargs="+", metavar="JOB", help=JOB_HELP)


def run(options: argparse.Namespace) -> int:
    """Stop watching each job, even after an error with another one; return the highest exit code.

    It is 1 for a job that needs no monitor any more.
    """
    ctx = open_context()
    exit_code = 0
    for argument in options.job:
        try:
            result = cancel(ctx, find_ref(ctx, argument))
        except JobmonError as error:
            say(str(error))
            exit_code = max(exit_code, error.exit_code)
        else:
            if result.is_changed:
                print(result_text(result.subject, result.action))
            else:
                say(one_line(f"{result.subject}: {result.action}"))
                exit_code = max(exit_code, 1)
    return exit_code
