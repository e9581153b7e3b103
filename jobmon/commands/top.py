"""``jobmon top``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from jobmon.commands.common import JOB_HELP, Options, Parser, add_flags, open_context, table_console
from jobmon_core.app.jobs.find import find_job

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.slurm.job_ids import JobRef

DESCRIPTION = """\
Follow the progress of the running jobs: how far each is, when it will end, how fast it is and its loss,
as their monitors read it from the logs. Running jobs come first. With job ids, only these jobs are
shown; a single task is opened at once. Only jobmon's own files and, of an opened task, its logs are read;
nothing here changes a job or its monitor."""
EPILOG = """\
Keys: arrows, j and k select; enter opens a task, page down shows the rest of its page; l shows its log; /
filters; esc goes back; ? lists all keys; q or Ctrl-C quits, and the jobs go on. A letter before a job says
what is wrong: S stalled, F launch failed, E error in its log, N a log is missing or empty, D diverged, T its
agents found a problem, L will not make its time limit, W slow, ! has no monitor, ? its data are old. GPU is
the mean utilisation of the GPUs of a job, MEM the share of its memory limit in use, as its agent measures
them.

On a pipe, or if $TERM is empty or "dumb", the list, or the whole page of a single task, is printed once;
$COLUMNS sets its width there. Where the locale is not UTF-8, bars are plain ASCII. $NO_COLOR turns colours
off.

examples:
  jobmon top
  jobmon top 8123
  jobmon top 8123_7 train
  jobmon top --once | grep -v PENDING"""


def add_arguments(parser: Parser) -> None:
    parser.add_argument("job", nargs="*", metavar="JOB", help=f"show only these jobs: {JOB_HELP}")
    add_flags(
        parser,
        once="print the list once",
        ascii="draw bars in plain ASCII",
    )


def run(options: Options) -> int:
    ctx = open_context()
    refs = [find_job(ctx, argument)[1] for argument in options.job]
    show_screen(ctx, refs, once=options.once, ascii_only=options.ascii)
    return 0


def show_screen(
    ctx: Context, refs: Sequence[JobRef], *, once: bool = False, ascii_only: bool = False
) -> bool:
    """Show the screen of the jobs that ``refs`` name, or of all, until the user quits; return True then.

    Without a terminal, or with ``once``, print it and return False.
    """
    from jobmon.views.console import has_unicode, is_capable
    from jobmon.views.top.drawing import ASCII, UNICODE
    from jobmon.views.top.session import Session
    from jobmon_core.app.live.jobs import LiveJobs, refresh_s

    symbols = ASCII
    if has_unicode(os.environ) and not ascii_only:
        symbols = UNICODE
    session = Session(LiveJobs(ctx, refs), symbols, opens_single=bool(refs))
    console = table_console()
    if not once and is_capable(os.environ):
        from jobmon.views.full_screen import show

        show(session, has_colour=console.colour, refresh_s=refresh_s(ctx))
        return True
    for line in session.plain(console.width):
        print("".join(console.styled(span.text, span.style) for span in line).rstrip())
    return False
