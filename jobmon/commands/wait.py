"""``jobmon wait``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from jobmon.commands.common import (
    JOB_HELP,
    Options,
    Parser,
    add_flags,
    open_context,
    period_s,
    print_json,
    print_lines,
    stdout_console,
)
from jobmon.errors import report, say
from jobmon.views.waiting import Known, wait_json, wait_line
from jobmon_core.app.jobs.overview import statuses
from jobmon_core.app.wait import Result, WaitForJobs, overall, target_finder, wait_until_complete
from jobmon_core.domain.errors import StateUnreadable, UnknownGroup, UnknownJob

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.app.wait import Waited
    from jobmon_core.context import Context

DESCRIPTION = """\
Wait until jobs are over: their outcome is known, their logs are analysed, and their messages are on their
way. Then print one line. The exit code says how they ended:

  0  all succeeded
  1  at least one failed, was cancelled, or can never start
  3  --for has passed, and at least one is not over yet; wait again
  4  none failed, but the outcome of at least one is not known, and will not be:
     jobmon has no record of it, does not watch it any more, or found no proof
     of how it ended, or a run of the group was not submitted. The line says
     why, and of a single job mostly also what to do. If jobmon has no record
     of a named job or group from the start, it waits for nothing, prints no
     JSON, and exits with 4.

Without --for, jobmon waits for as long as a job runs or can still start. If your tool or shell has a
limit of its own, give a shorter --for. A job whose monitor is gone gets a new one, as by `jobmon recover`; if
none can be started within a minute, or by the end of --for, the outcome counts as unknown. So a wait never
hangs because jobmon itself has died."""
EPILOG = """\
Waiting costs Slurm nothing: jobmon reads its own files, which the monitors of the jobs keep up to
date, so even 20 simultaneous waits cause no extra query. While Slurm does not respond, a job counts as
running. A doubtful success (see `jobmon status --help`) is a success here, and a failure if
`messages.doubtful_success` in config.json is `error`. Wrong usage has exit code 2.

--json prints an object: result (success, failure, running, unknown), exit_code, waited_s
(seconds), and jobs, a list of objects with the keys of `jobmon status --json`, the result of the job,
why (why it is unknown or can never start; of a job whose record was removed, the outcome that its group
remembers; else an empty text), and run, its name in the group, if a group was given.
Of a job without a readable record, only job_id, result, why and run are there.

examples:
  jobmon wait 8123 && jobmon submit eval.sbatch
  jobmon wait 8123 --for 590s           in a tool that kills what takes 10 minutes
  jobmon wait 8123 8124 8125_7
  jobmon wait latest --for 0s           no waiting: is it over?
  jobmon wait sweep1                    all jobs of a group
  while jobmon wait 8123 --for 9m; [ $? -eq 3 ]; do jobmon progress 8123; done"""
EXIT_CODES = {Result.SUCCESS: 0, Result.FAILURE: 1, Result.RUNNING: 3, Result.UNKNOWN: 4}


def add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "job", nargs="+", metavar="JOB|GROUP", help=f"the name of a group (all of its jobs), or {JOB_HELP}"
    )
    parser.add_argument(
        "--for",
        dest="at_most_s",
        type=period_s,
        metavar="TIME",
        help="wait no longer than this, e.g. 590s, 9m (default: until the jobs are over)",
    )
    add_flags(parser, json="print a JSON object, as described below")


def run(options: Options) -> int:
    return wait_for(open_context(), options.job, options.at_most_s, as_json=options.json)


def wait_for(ctx: Context, arguments: Sequence[str], at_most_s: float | None, *, as_json: bool) -> int:
    """Wait for the named jobs and groups, print the answer, and return its exit code."""
    started_s = ctx.clock.now()
    deadline_s = None if at_most_s is None else started_s + at_most_s
    try:
        find, waiting = target_finder(ctx, arguments), WaitForJobs(ctx, say)
        if sys.stderr.isatty() and at_most_s != 0:
            _say_what_is_awaited(ctx, waiting.wait(find, started_s))
        answers = waiting.wait(find, deadline_s)
        if all(answer.result is not Result.RUNNING for answer in answers):
            wait_until_complete(ctx, set(arguments).intersection(ctx.groups.names()), deadline_s)
    except (UnknownJob, UnknownGroup, StateUnreadable) as error:
        report(error)
        return EXIT_CODES[Result.UNKNOWN]
    return _print_answers(ctx, answers, ctx.clock.now() - started_s, as_json=as_json)


def _say_what_is_awaited(ctx: Context, answers: Sequence[Waited]) -> None:
    if any(answer.result is Result.RUNNING for answer in answers):
        say(f"{wait_line(answers, _known(ctx, answers))}; waiting (Ctrl-C stops this; the jobs go on)")


def _known(ctx: Context, answers: Sequence[Waited]) -> Known:
    jobs = [answer.job for answer in answers if answer.job]
    progress = {job.id: ctx.progress_file(job.id).read() for job in jobs if not job.closed}
    return Known({each.job.id: each for each in statuses(ctx, jobs)}, progress, ctx.clock.now())


def _print_answers(ctx: Context, answers: Sequence[Waited], waited_s: float, *, as_json: bool) -> int:
    known, result = _known(ctx, answers), overall(answer.result for answer in answers)
    if as_json:
        whole = {"result": result, "exit_code": EXIT_CODES[result], "waited_s": round(waited_s, 1)}
        print_json({**whole, "jobs": wait_json(answers, known)})
    else:
        print_lines(stdout_console().prose(wait_line(answers, known)))
    return EXIT_CODES[result]
