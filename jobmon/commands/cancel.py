"""``jobmon cancel``: stop watching; the job itself is never touched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.commands.common import job_ref, open_context
from jobmon.errors import say
from jobmon.views.text_width import one_line
from jobmon_core.app.cancel import cancel
from jobmon_core.domain.errors import JobmonError

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``cancel``."""
    parser.description = "Stop watching jobs. The jobs themselves go on: scancel ends a job."
    parser.epilog = "examples:\n  jobmon cancel 8123"
    parser.add_argument("job", nargs="+", type=job_ref, help="job ids")


def run(options: argparse.Namespace) -> int:
    """Stop each monitor; one that can't be stopped keeps none of the others from it."""
    ctx = open_context()
    worst = 0
    for ref in options.job:
        try:
            finding = cancel(ctx, ref)
        except JobmonError as error:
            say(str(error))
            worst = max(worst, error.exit_code)
        else:
            print(one_line(f"{finding.subject}: {finding.action}"))
    return worst
