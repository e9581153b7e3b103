"""``jobmon ack``."""

from __future__ import annotations

from jobmon.commands.common import Errors, Options, Parser, add_jobs, open_context, result_text
from jobmon_core.app.messages.mute import acknowledge
from jobmon_core.domain.humanize import count

DESCRIPTION = """\
Acknowledge all that was reported about jobs so far: jobmon sends no more reminders of it. There are
reminders of critical messages only if the configuration asks for them (messages.reminder_s)."""
EPILOG = """\
examples:
  jobmon ack 8123
  jobmon ack latest"""


def add_arguments(parser: Parser) -> None:
    add_jobs(parser)


def run(options: Options) -> int:
    ctx, errors = open_context(), Errors()
    for argument in options.job:
        with errors.reported():
            subject, reminders = acknowledge(ctx, argument)
            ends = ""
            if reminders:
                ends = f"; {count(reminders, 'reminder')} will not be sent"
            print(result_text(subject, f"acknowledged{ends}"))
    return errors.exit_code
