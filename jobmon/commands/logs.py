"""``jobmon logs``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from jobmon.commands.common import Options, Parser, add_flags, add_job, natural, open_context, stdout_console
from jobmon.errors import say
from jobmon.views.console import OutputScreen
from jobmon.views.model import age, pending_reason
from jobmon_core.app.jobs.find import find_job
from jobmon_core.app.jobs.output import FollowOutput, job_output, last_lines, wait_for_start
from jobmon_core.app.jobs.overview import current_status, ending_of, is_waiting, state_text
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.slurm.job_ids import IndexSet

if TYPE_CHECKING:
    from jobmon_core.app.jobs.output import JobOutput
    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.slurm.job_ids import JobRef

DESCRIPTION = """\
Show the end of a job's own output: its stdout and stderr, each under a header if they are different
files, then the logs that its job configuration names. For an array, it shows the task with the worst outcome;
`12_3` selects another. Rotated and compressed logs are read too. Control characters are removed, and of a
progress bar only the last state is shown."""
EPILOG = """\
-f follows the output until the job has ended or until Ctrl-C; if the job is pending, it waits for the start.
--monitor shows what jobmon's monitor of the job saw and did, from its beginning.

examples:
  jobmon logs 8123
  jobmon logs -f latest
  jobmon logs 8123_7 --err -n 100
  jobmon logs train -f                  the newest job of that name
  jobmon logs 8123 --monitor"""
_LINES = 20
_INTERVAL_S = 1.0


def add_arguments(parser: Parser) -> None:
    add_job(parser)
    parser.add_argument("-f", "--follow", action="store_true", help="keep printing what the job writes")
    parser.add_argument(
        "-n",
        "--lines",
        type=natural,
        metavar="N",
        help=f"show the last N lines of each file (default: {_LINES})",
    )
    which = parser.add_mutually_exclusive_group()
    add_flags(
        which,
        out="show only stdout",
        err="show only stderr",
        monitor="show the log of the job's monitor instead",
    )


def run(options: Options) -> int:
    ctx = open_context()
    job, ref = find_job(ctx, options.job)
    if options.monitor:
        return _show_monitor_log(ctx, job, options)
    output = job_output(ctx, job, ref)
    if output is None and options.follow and not (job.closed or job.ended):
        say(f"{_not_started(ctx, job, ref)}; waiting for its output (Ctrl-C stops waiting)")
        job = wait_for_start(ctx, job, ref)
        output = job_output(ctx, job, ref)
    if output is None:
        raise JobmonError(_why_no_output(ctx, job, ref))
    _say_which(job, ref, output)
    files = output.files(out=not options.err, err=not options.out)
    lines = options.lines
    if options.lines is None:
        lines = _LINES
    if options.follow:
        return _follow(FollowOutput(ctx, job, output.task.key, files), lines)
    return _show(files, lines)


def _show(files: list[str], lines: int) -> int:
    """Print the end of each file; return 1 if none can be read."""
    screen = _screen(files)
    texts = [last_lines(path, lines) for path in files]
    for text in texts:
        sys.stdout.write(screen.text(text))
        if text.problem and not screen.has_headers:
            say(f"{text.path} {text.problem}")
    return int(not any(text.is_readable for text in texts))


def _follow(follow: FollowOutput, lines: int) -> int:
    screen = _screen(follow.files)
    try:
        for text in follow.begin(lines):
            _write(screen.text(text))
        if caveat := follow.caveat():
            say(caveat)
        while not follow.has_ended():
            follow.ctx.clock.wait(_INTERVAL_S)
            for text in follow.new_text():
                _write(screen.text(text))
    except KeyboardInterrupt:
        _write(screen.end())
        return 0
    for text in follow.rest():
        _write(screen.text(text))
    _write(screen.end())
    say(follow.ending())
    return 0


def _screen(files: list[str]) -> OutputScreen:
    console = stdout_console()
    return OutputScreen(console, has_headers=len(files) > 1 or bool(console.width))  # width 0: not a terminal


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _show_monitor_log(ctx: Context, job: WatchedJob, options: Options) -> int:
    log = ctx.monitor_log(job.id)
    if options.follow:
        lines = options.lines
        if options.lines is None:
            lines = _LINES
        return _follow(FollowOutput(ctx, job, "", [str(log.path)]), lines)  # "": of no single task
    text = log.read()
    if not text:
        say(f"{log.path} is empty or missing")
        return 1
    if options.lines is not None:
        text = "".join(text.splitlines(keepends=True)[-options.lines :] if options.lines else [])
    sys.stdout.write(text)
    return 0


def _say_which(job: WatchedJob, ref: JobRef, output: JobOutput) -> None:
    count = len(job.tasks) + len(IndexSet.parse(job.pending_indices))
    if not ref.key and count > 1:
        end = output.task.end
        # the log shows the start of a task before the scheduler reports it
        state = output.task.raw_state
        if is_waiting(output.task):
            state = "started"
        state = state_text(end) if end else state
        noun, sign = ("task", "_") if output.ref.component is None else ("component", "+")
        shown = f"{noun} {output.ref} ({state or 'state unknown'}) of {count}"
        say(f"{shown}; `jobmon logs {ref}{sign}N` shows another")


def _why_no_output(ctx: Context, job: WatchedJob, ref: JobRef) -> str:
    named = [task for task in job.tasks.values() if ref.key in ("", task.key)]
    if job.concluded_s is not None or (named and all(task.end or ending_of(task) for task in named)):
        return f"job {ref} ended, but is not known to have started, so jobmon knows of no output"
    if job.unwatched_s is not None:
        again = f"`jobmon watch {job.ref}` watches it again"
        return f"job {ref} is no longer watched, and jobmon never saw it start; {again}"
    return f"{_not_started(ctx, job, ref)}; `jobmon logs -f {ref}` waits for its output"


def _not_started(ctx: Context, job: WatchedJob, ref: JobRef) -> str:
    """Explain why a watched job had not started when the scheduler last answered."""
    answered_s = current_status(ctx, job).job.answered_s
    if answered_s is None:
        return f"the scheduler has not answered about job {ref} yet"
    reason = pending_reason(job)
    why = ""
    if reason:
        why = f", {reason}"
    asked = age(ctx.clock.now() - answered_s)
    return f"job {ref} has not started (PENDING{why}, as of {asked} ago)"
