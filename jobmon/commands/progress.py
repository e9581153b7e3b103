"""``jobmon progress``."""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from jobmon.commands.common import (
    Options,
    Parser,
    add_flags,
    one_or_all,
    open_context,
    print_json,
    print_lines,
    stdout_console,
)
from jobmon.commands.jobs_or_files import named_jobs
from jobmon.errors import UsageError, say
from jobmon.views.artifacts import artifacts_json
from jobmon.views.progress import NOTHING_FOUND, progress_line, progress_lines, report_json
from jobmon.views.running import launch_json
from jobmon.views.telemetry import live_json
from jobmon_core.app.jobs.find import STDIN, find_job
from jobmon_core.app.jobs.output import FollowOutput
from jobmon_core.app.jobs.overview import current_status
from jobmon_core.app.jobs.progress import LogProgress, follow_stream, logs_of_job, progress_of_stream
from jobmon_core.app.live.tasks import phase_of
from jobmon_core.app.live.telemetry import tasks_with_agents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from jobmon.views.model import Json
    from jobmon_core.app.jobs.progress import ProgressReport
    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.slurm.job_ids import JobRef


DESCRIPTION = """\
Show how far along a job or any program is: what its log says of steps, epochs or items, loss, learning
rate, speed and the time that is left. 12 is a job, 12_3 an array task; a name stands for the newest watched
job of that name, `latest` for the newest of all. An argument that is an existing file is a log, unless it
is the script of a watched job. Logs need no job and no Slurm: several files are the logs of one program,
e.g. its stdout and stderr; the counts of files named worker_0.log, worker_1.log ... are summed. A
trainer_state.json of the Hugging Face Trainer is read too. - is standard input. Nothing needs to be
configured."""
EPILOG = """\
The time left is the estimate by the job's monitor; without one, what the log itself says.
The exit code is 0 if all files could be read, else 1.

examples:
  jobmon progress 8123
  jobmon progress latest --follow
  jobmon progress train.log
  jobmon progress slurm-8123.out slurm-8123.err --follow
  jobmon progress worker_*.log --json
  jobmon progress out/checkpoint-500/trainer_state.json
  ssh n17 cat /tmp/train.log | jobmon progress -"""
_INTERVAL_S = 1.0
_ERASE_LINE = "\r\x1b[K"


def add_arguments(parser: Parser) -> None:
    parser.add_argument("what", nargs="+", metavar="JOB|FILE", help="jobs, or log files of one program")
    parser.add_argument(
        "-f",
        "--follow",
        action="store_true",
        help="go on as the log grows, until the job or input ends, or Ctrl-C",
    )
    add_flags(
        parser,
        json="print one JSON object (see docs/progress.md), a list for several tasks; with -f, one a line",
    )


def run(options: Options) -> int:
    if STDIN in options.what and len(options.what) > 1:
        raise UsageError("standard input is a log of its own; read it without other files")
    ctx = open_context()
    jobs = named_jobs(ctx, options.what)
    if jobs:
        return _show_jobs(ctx, jobs, options)
    if options.follow:
        return _follow(_reports(ctx, options.what), as_json=options.json)
    if options.what == [STDIN]:
        report = progress_of_stream(sys.stdin.buffer, ctx.clock.now())
    else:
        report = LogProgress(tuple(options.what)).read(ended=True)
    for reason in report.unread:
        say(reason)
    _print(report, ctx.clock.now(), as_json=options.json)
    return int(bool(report.unread))


def _show_jobs(ctx: Context, jobs: Sequence[JobRef], options: Options) -> int:
    tasks = []
    for named in jobs:
        job, ref = find_job(ctx, str(named))
        tasks += [(job, task_ref, logs) for task_ref, logs in logs_of_job(ctx, job, ref)]
    if options.follow:
        if len(tasks) > 1:
            raise UsageError(
                f"--follow takes one task, and {len(tasks)} have started; `jobmon top` shows all"
            )
        job, ref, logs = tasks[0]
        end = FollowOutput(ctx, job, ref.key, [])
        if caveat := end.caveat():
            say(caveat)
        exit_code = _follow(_reports_of_logs(ctx, logs, end.has_ended), as_json=options.json)
        if end.has_ended():
            say(end.ending())
        return exit_code
    objects, exit_code, now_s = [], 0, ctx.clock.now()
    for job, ref, logs in tasks:
        report = logs.estimated(logs.read(ended=True), now_s)
        for reason in report.unread:
            say(f"job {ref}: {reason}")
            exit_code = 1
        if options.json:
            found = report_json(report, now_s) | artifacts_json(logs.artifacts)
            objects.append(_about(ctx, job, ref, now_s) | found)
            continue
        print(stdout_console().bold(f"{ref} {job.name}".rstrip()))
        _print(report, now_s, as_json=False)
    if options.json:
        print_json(one_or_all(objects))
    return exit_code


def _about(ctx: Context, job: WatchedJob, ref: JobRef, now_s: float) -> Json:
    status, progress = current_status(ctx, job), ctx.progress_file(job.id).read()
    about = {"job_id": str(ref), "name": job.name, "phase": phase_of(status, progress, now_s)}
    tasks = [live for live in tasks_with_agents(ctx, status, progress, now_s) if live.ref == str(ref)]
    return about | live_json(tasks, now_s) | launch_json(tasks)


def _print(report: ProgressReport, now_s: float, *, as_json: bool) -> None:
    if as_json:
        print_json(report_json(report, now_s))
    elif report.progress is not None:
        print_lines(progress_lines(report, report.progress, now_s, stdout_console()))
    elif len(report.unread) < len(report.logs):
        say(NOTHING_FOUND)


def _reports(ctx: Context, paths: Sequence[str]) -> Iterator[tuple[ProgressReport, float]]:
    if paths == [STDIN]:
        for report in follow_stream(sys.stdin.buffer):
            yield report, ctx.clock.now()
        return
    yield from _reports_of_logs(ctx, LogProgress(tuple(paths)))


def _reports_of_logs(
    ctx: Context, logs: LogProgress, has_ended: Callable[[], bool] = lambda: False
) -> Iterator[tuple[ProgressReport, float]]:
    while True:
        is_last, now_s = has_ended(), ctx.clock.now()
        yield logs.estimated(logs.read(), now_s), now_s
        if is_last:
            break
        ctx.clock.wait(_INTERVAL_S)


def _follow(reports: Iterator[tuple[ProgressReport, float]], *, as_json: bool) -> int:
    console, shown, unread = stdout_console(), "", frozenset[str]()
    with suppress(KeyboardInterrupt):  # the way to end it
        for report, now_s in reports:
            for reason in report.unread:
                if reason not in unread:
                    say(reason)
            unread = frozenset(report.unread)
            text = _text(report, now_s, as_json=as_json)
            if text and text != shown:
                shown = text
                sys.stdout.write(f"{_ERASE_LINE}{text}" if console.width and not as_json else f"{text}\n")
                sys.stdout.flush()
    if shown and console.width and not as_json:
        print()
    return int(bool(unread))


def _text(report: ProgressReport, now_s: float, *, as_json: bool) -> str:
    if as_json:
        return json.dumps(report_json(report, now_s))
    if report.progress:
        return progress_line(report, report.progress, now_s, stdout_console())
    return ""
