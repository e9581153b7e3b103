"""``jobmon forget``: remove the records of the given jobs, which are not watched any more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.commands.common import JOB_HELP, Errors, open_context
from jobmon.errors import UsageError, say
from jobmon_core.app.jobs.find import find_ref
from jobmon_core.app.jobs.forget import forget
from jobmon_core.app.messages.undelivered import drop_given_up
from jobmon_core.domain.visible_text import one_line

if TYPE_CHECKING:
    import argparse

DESCRIPTION = """\
Remove jobmon's records of the jobs you name, if they have ended or `jobmon cancel` stopped watching them:
the state file, the log of the monitor, diagnostics bundles, measurements and your notes. The job's own
output is not touched. The records of a job that is still watched, or that has ended but has an undelivered
message, are kept, and jobmon says what to do first. `jobmon prune` removes the records of all old jobs at
once."""
EPILOG = """\
examples:
  jobmon forget 8123
  jobmon forget 8123 8124
  jobmon forget train                   the newest job of that name
  jobmon forget --given-up 8123         even if its message was never delivered
  jobmon forget --messages              given-up messages of no single job, e.g. of a group"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job", nargs="*", metavar="JOB", help=JOB_HELP)
    parser.add_argument("--given-up", action="store_true", help="drop messages that jobmon gave up sending")
    parser.add_argument(
        "--messages", action="store_true", help="drop messages of no single job that jobmon gave up sending"
    )


def run(options: argparse.Namespace) -> int:
    """Remove the records of each job, even after an error with another one; return the highest exit code."""
    if not (options.job or options.messages):
        raise UsageError("name a job, or add --messages")
    ctx, errors = open_context(), Errors()
    for title in drop_given_up(ctx) if options.messages else ():
        print(one_line(f"message {title!r}: dropped"))
    for argument in options.job:
        with errors.reported():
            for removal in forget(ctx, find_ref(ctx, argument), drop_given_up=options.given_up):
                if removal.removed:
                    print(one_line(f"{removal.subject}: forgotten; the job's own output is not touched"))
                else:
                    say(one_line(f"{removal.subject}: not removed: {removal.kept_because}"))
                    errors.add(1)
    return errors.exit_code
