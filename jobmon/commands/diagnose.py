"""``jobmon diagnose``: why a job failed, or what any log shows."""

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
Say why a job failed: the cause, the lines that prove it, what to do. Any log will do: without a
job, and without Slurm. 12 is a job or the worst part of it, 12_3 an array task, 12+1 a het component;
what is no such id, or names a file, is a log. - is standard input."""
EPILOG = """\
The exit code tells only whether there is a diagnosis: 0 if so, 1 if the job or a FILE can't be read.

examples:
  jobmon diagnose 8123
  jobmon diagnose 8123_7 --json
  jobmon diagnose train-8123.out train-8123.err
  jobmon diagnose slurm-8123.out --state "CANCELLED by 1000" --exit-code 0:15
  ssh n17 cat /tmp/train.log | jobmon diagnose -"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``diagnose``."""
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.add_argument("what", nargs="+", metavar="JOB|FILE", help="one job id, or log files")
    parser.add_argument("--state", help="how the job ended, in a word of sacct")
    parser.add_argument("--exit-code", metavar="N[:SIGNAL]", help="its exit code, as sacct prints it")
    parser.add_argument("--json", action="store_true", help="one object, documented in the README")


def run(options: argparse.Namespace) -> int:
    """Print the diagnosis."""
    try:
        said = UserOverride.parse(options.state, options.exit_code)
    except ValueError as error:
        raise UsageError(str(error)) from error
    ctx = open_context()
    report = _report(ctx, options.what, said)
    for fault in report.unread:
        say(fault)
    if options.json:
        print(json.dumps(report_json(report), indent=2))
    else:
        named = titles(own_patterns(ctx)) if report.diagnosis.symptoms else {}
        print(*report_lines(report, named, stdout_console()), sep="\n")
    return 1 if report.unread else 0


def _report(ctx: Context, what: list[str], said: UserOverride) -> Report:
    inquest = DiagnoseCommand(ctx, ctx.scheduler)
    ref = parse_job(what[0])
    if len(what) == 1 and ref:
        return inquest.of_job(ref, said)
    jobs = [word for word in what if parse_job(word)]
    if jobs:
        raise UsageError(f"{jobs[0]} is no file; one job is diagnosed at a time, or any number of files")
    return inquest.of_files(what, said, sys.stdin.buffer)
