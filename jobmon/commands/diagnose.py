"""``jobmon diagnose``: explain why a job failed, or what a log file shows."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from jobmon.commands.common import open_context, stdout_console
from jobmon.errors import UsageError, say
from jobmon.views.diagnosis import report_json, report_lines
from jobmon_core.app.diagnose import DiagnoseCommand, Report, parse_job
from jobmon_core.app.patterns import own_patterns, titles
from jobmon_core.domain.tracking.user_override import UserOverride

if TYPE_CHECKING:
    import argparse

    from jobmon_core.context import Context

DESCRIPTION = """\
Explain why a job failed: the cause, the log lines that prove it, and what to do. Works for any log
file too, without a job and without Slurm. 12 is a job, 12_3 an array task, 12+1 a het job component;
of an array, the worst task is explained. Any other argument is a log file; - is standard input."""
EPILOG = """\
The exit code is 0 if the job or all files could be read, whatever the diagnosis, else nonzero.

examples:
  jobmon diagnose 8123
  jobmon diagnose 8123_7 --json
  jobmon diagnose train-8123.out train-8123.err
  jobmon diagnose slurm-8123.out --state "CANCELLED by 1000" --exit-code 0:15
  ssh n17 cat /tmp/train.log | jobmon diagnose -"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.add_argument("what", nargs="+", metavar="JOB|FILE", help="one job id, or log files")
    parser.add_argument("--state", help="final state as printed by sacct, e.g. TIMEOUT")
    parser.add_argument("--exit-code", metavar="N[:SIGNAL]", help="exit code as printed by sacct, e.g. 1:0")
    parser.add_argument("--json", action="store_true", help="print one JSON object (see the README)")


def run(options: argparse.Namespace) -> int:
    """Print the diagnosis; return 1 if it was made without a file that could not be read."""
    try:
        override = UserOverride.parse(options.state, options.exit_code)
    except ValueError as error:
        raise UsageError(str(error)) from error
    ctx = open_context()
    report = _report(ctx, options.what, override)
    for reason in report.unread:
        say(reason)
    if options.json:
        print(json.dumps(report_json(report), indent=2))
    else:
        pattern_titles = titles(own_patterns(ctx)) if report.diagnosis.symptoms else {}
        print(*report_lines(report, pattern_titles, stdout_console()), sep="\n")
    return 1 if report.unread else 0


def _report(ctx: Context, arguments: list[str], override: UserOverride) -> Report:
    command = DiagnoseCommand(ctx, ctx.scheduler)
    ref = parse_job(arguments[0])
    if len(arguments) == 1 and ref:
        return command.of_job(ref, override)
    jobs = [argument for argument in arguments if parse_job(argument)]
    if jobs:
        raise UsageError(f"{jobs[0]} is not a file; give one job, or any number of files")
    return command.of_files(arguments, override, sys.stdin.buffer)
