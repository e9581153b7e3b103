"""``jobmon ack``: acknowledge what was reported about jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.commands.common import JOB_HELP, open_context, result_text
from jobmon.errors import say
from jobmon_core.app.alerts.ack import acknowledge
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.humanize import count

if TYPE_CHECKING:
    import argparse

DESCRIPTION = """\
Acknowledge all that was reported about jobs so far: jobmon sends no more reminders of it. There are
reminders of critical messages only if the configuration asks for them (messages.reminder_s)."""
EPILOG = """\
examples:
  jobmon ack 8123
  jobmon ack latest"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.add_argument("job", nargs="+", metavar="JOB", help=JOB_HELP)


def run(options: argparse.Namespace) -> int:
    """Acknowledge each job, even after an error with another one; return the highest exit code."""
    ctx = open_context()
    exit_code = 0
    for argument in options.job:
        try:
            subject, reminders = acknowledge(ctx, argument)
        except JobmonError as error:
            say(str(error))
            exit_code = max(exit_code, error.exit_code)
            continue
        ends = f"; {count(reminders, 'reminder')} will not be sent" if reminders else ""
        print(result_text(subject, f"acknowledged{ends}"))
    return exit_code
