"""``jobmon diagnose``: explain why a job failed, or what a log file shows."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from jobmon.api.records import explanation_of
from jobmon.commands.common import Errors, open_context, print_json, print_lines, stdout_console
from jobmon.commands.jobs_or_files import named_jobs
from jobmon.errors import UsageError, say
from jobmon.views.diagnosis import report_json, report_lines
from jobmon_core.app.diagnose import DiagnoseCommand, Report
from jobmon_core.app.outcome import ANSWERS
from jobmon_core.app.patterns import read_own_patterns, titles
from jobmon_core.domain.job.tracking.user_override import UserOverride

if TYPE_CHECKING:
    import argparse

    from jobmon_core.context import Context

DESCRIPTION = """\
Explain why a job failed: the cause, the log lines that prove it, and what to do. For a running job,
say first what is wrong with it now, by its logs and by what agents measure. Works for any log file too,
without a job and without Slurm. 12 is a job, 12_3 an array task, 12+1 a het job component;
for an array, the worst task is explained. A name stands for the newest watched job of that name,
`latest` for the newest of all. An argument that is an existing file is a log, unless it is the
script of a watched job; - is standard input."""
EPILOG = """\
The exit code is 0 if the job or all files could be read, whatever the diagnosis, else nonzero.
`jobmon patrol` has an exit code by the worst problem of all watched jobs.

examples:
  jobmon diagnose 8123
  jobmon diagnose 8123_7 --json
  jobmon diagnose latest
  jobmon diagnose 8123 8124 train
  jobmon diagnose train-8123.out train-8123.err
  jobmon diagnose slurm-8123.out --state "CANCELLED by 1000" --exit-code 0:15
  ssh n17 cat /tmp/train.log | jobmon diagnose -"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", nargs="+", metavar="JOB|FILE", help="jobs, or log files of one run")
    parser.add_argument(
        "--stacks",
        action="store_true",
        help="for a running job, also show where its Python processes are (py-spy); takes up to 90 s",
    )
    parser.add_argument("--state", help="final state as printed by sacct, e.g. TIMEOUT")
    parser.add_argument("--exit-code", metavar="N[:SIGNAL]", help="exit code as printed by sacct, e.g. 1:0")
    parser.add_argument(
        "--json",
        action="store_true",
        help="print one JSON object (see docs/json.md); a list for several jobs",
    )


def run(options: argparse.Namespace) -> int:
    """Print the diagnoses; return 1 if a file cannot be read, else the highest exit code of a job's error."""
    try:
        override = UserOverride.parse(options.state, options.exit_code)
    except ValueError as error:
        raise UsageError(str(error)) from error
    ctx = open_context()
    jobs = named_jobs(ctx, options.what)
    command = DiagnoseCommand(ctx, ctx.scheduler)
    if options.stacks and not jobs:
        raise UsageError("--stacks needs a running job, not a file")
    if not jobs:
        report = command.of_files(options.what, override, sys.stdin.buffer)
        for reason in report.unread:
            say(reason)
        _print(ctx, [report], options)
        if report.unread:
            return 1
        return 0
    if len(jobs) == 1:
        _print(ctx, [command.of_job(jobs[0], override, with_stacks=options.stacks)], options)
        return 0
    reports, errors = [], Errors()
    for ref in jobs:
        with errors.reported():
            reports.append(command.of_job(ref, override, with_stacks=options.stacks))
    _print(ctx, reports, options, as_list=True)
    return errors.exit_code


def _print(
    ctx: Context, reports: list[Report], options: argparse.Namespace, *, as_list: bool = False
) -> None:
    ANSWERS.extend(map(explanation_of, reports))
    if options.json:
        objects = [report_json(report) for report in reports]
        print_json(objects if as_list else objects[0])
        return
    for number, report in enumerate(reports):
        pattern_titles = {}
        if report.diagnosis.symptoms:
            pattern_titles = titles(read_own_patterns(ctx))
        lines = report_lines(report, pattern_titles, stdout_console())
        print_lines(["", *lines] if number else lines)
