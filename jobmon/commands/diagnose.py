"""``jobmon diagnose``."""

from __future__ import annotations

import sys
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING

from jobmon.api.records import explanation_of
from jobmon.commands.common import (
    Errors,
    Options,
    Parser,
    add_flags,
    open_context,
    print_json,
    print_lines,
    stdout_console,
)
from jobmon.commands.jobs_or_files import named_jobs
from jobmon.errors import UsageError, say
from jobmon.views.diagnosis import report_json, report_lines
from jobmon.views.health import health_json, health_lines
from jobmon.views.pending import why_json, why_lines
from jobmon_core.app.diagnose import DiagnoseCommand, NotStarted, Report
from jobmon_core.app.health.collect import collect_health
from jobmon_core.app.outcome import ANSWERS, ERRORS
from jobmon_core.app.patterns import read_own_patterns, titles
from jobmon_core.app.why import PendingAnswer, why_pending
from jobmon_core.domain.errors import JobmonError, UnknownJob
from jobmon_core.domain.job.tracking.user_override import UserOverride

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobmon.views.console import Lines
    from jobmon.views.model import Json
    from jobmon_core.context import Context
    from jobmon_core.domain.node.health.model import HealthReport
    from jobmon_core.domain.slurm.job_ids import JobRef


DESCRIPTION = """\
Say what is wrong with a job. Of one that has ended, explain why it failed: the cause, the log lines that
prove it, and what to do. Of a running one, say first what is wrong with it now, by its logs and by what
agents measure, and whether it is healthy. Of a pending one, say what it waits for. Works for any log file
too, without a job and without Slurm. 12 is a job, 12_3 an array task, 12+1 a het job component;
for an array, the worst task is explained. A name stands for the newest watched job of that name,
`latest` for the newest of all. An argument that is an existing file is a log, unless it is the
script of a watched job; - is standard input."""
EPILOG = """\
The exit code is 0 if the job or all files could be read, whatever the diagnosis, else nonzero. About
a pending job, --json prints what `jobmon why --help` describes; of a running one that is watched, `health`
is what `jobmon health --help` describes.
`jobmon patrol` has an exit code by the worst problem of all watched jobs.

examples:
  jobmon diagnose 8123
  jobmon diagnose 8123_7 --json
  jobmon diagnose latest
  jobmon diagnose 8123 8124 train
  jobmon diagnose train-8123.out train-8123.err
  jobmon diagnose slurm-8123.out --state "CANCELLED by 1000" --exit-code 0:15
  ssh n17 cat /tmp/train.log | jobmon diagnose -"""


def add_arguments(parser: Parser) -> None:
    parser.add_argument("what", nargs="+", metavar="JOB|FILE", help="jobs, or log files of one run")
    add_flags(
        parser,
        stacks="for a running job, also show where its Python processes are (py-spy); takes up to 90 s",
    )
    parser.add_argument("--state", help="final state as printed by sacct, e.g. TIMEOUT")
    parser.add_argument("--exit-code", metavar="N[:SIGNAL]", help="exit code as printed by sacct, e.g. 1:0")
    add_flags(parser, json="print one JSON object (see docs/json.md); a list for several jobs")


def run(options: Options) -> int:
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
        return int(bool(report.unread))
    found: list[Report | PendingAnswer] = []
    errors = Errors()
    for ref in jobs:
        with errors.reported() if len(jobs) > 1 else nullcontext():
            found.append(_of_job(ctx, command, ref, override, with_stacks=options.stacks))
    _print(ctx, found, options, as_list=len(jobs) > 1)
    return errors.exit_code


def _of_job(
    ctx: Context, command: DiagnoseCommand, ref: JobRef, override: UserOverride, *, with_stacks: bool
) -> Report | PendingAnswer:
    """Return the diagnosis of a job; of a pending one, what it waits for."""
    try:
        return command.of_job(ref, override, with_stacks=with_stacks)
    except NotStarted as error:
        ERRORS.append(error)  # for a caller in Python
        with suppress(JobmonError):
            answer = why_pending(ctx, str(ref))
            if answer.is_pending:
                return answer
        raise


def _print(
    ctx: Context,
    found: Sequence[Report | PendingAnswer],
    options: Options,
    *,
    as_list: bool = False,
) -> None:
    ANSWERS.extend(explanation_of(each) for each in found if isinstance(each, Report))
    now_s = ctx.clock.now()
    if options.json:
        objects = [_json(ctx, each, now_s) for each in found]
        print_json(objects if as_list else objects[0])
        return
    for number, each in enumerate(found):
        if number:
            print()
        print_lines(_lines(ctx, each, now_s))


def _json(ctx: Context, found: Report | PendingAnswer, now_s: float) -> Json:
    if isinstance(found, PendingAnswer):
        return why_json(found, now_s)
    known = report_json(found)
    for report in _health(ctx, found):
        known["health"] = health_json(report)
    return known


def _lines(ctx: Context, found: Report | PendingAnswer, now_s: float) -> Lines:
    console = stdout_console()
    if isinstance(found, PendingAnswer):
        yield from why_lines(found, now_s, console)
        return
    names: Mapping[str, str] = {}
    if found.diagnosis.symptoms:
        names = titles(read_own_patterns(ctx))
    yield from report_lines(found, names, console)
    for report in _health(ctx, found):
        yield from ("", *health_lines(report, console))


def _health(ctx: Context, found: Report) -> Sequence[HealthReport]:
    if found.live is None or found.subject is None:
        return ()
    try:
        return collect_health(ctx, [str(found.subject.ref)])
    except UnknownJob:
        return ()
