"""``jobmon progress``: show how far a program is, from its logs."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from jobmon.commands.common import open_context, stdout_console
from jobmon.errors import UsageError, say
from jobmon.views.progress import NOTHING_FOUND, one_line, progress_lines, report_json
from jobmon_core.app.jobs.progress import STDIN, LogProgress, follow_stream, progress_of_stream

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from jobmon_core.app.jobs.progress import ProgressReport
    from jobmon_core.context import Context

DESCRIPTION = """\
Show how far a program is: what its log says of steps, epochs or items, loss, learning rate, speed and
the time that is left. Works for any log, without a job and without Slurm, and needs no configuration.
Several files are the logs of one program, e.g. its stdout and stderr; the counts of files named
worker_0.log, worker_1.log ... are summed. - is standard input."""
EPILOG = """\
The time left is the one that the log shows. The exit code is 0 if all files could be read, else 1.

examples:
  jobmon progress train.log
  jobmon progress slurm-8123.out slurm-8123.err --follow
  jobmon progress worker_*.log --json
  ssh n17 cat /tmp/train.log | jobmon progress -"""
_INTERVAL_S = 1.0
_ERASE_LINE = "\r\x1b[K"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    parser.add_argument("what", nargs="+", metavar="FILE", help="log files of one program")
    parser.add_argument(
        "-f", "--follow", action="store_true", help="go on as the log grows, until Ctrl-C or the end of input"
    )
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object (see the README); with -f, one a line"
    )


def run(options: argparse.Namespace) -> int:
    """Print the progress; return 1 if a file could not be read."""
    if STDIN in options.what and len(options.what) > 1:
        raise UsageError("standard input is a log of its own; read it without other files")
    ctx = open_context()
    if options.follow:
        return _follow(_reports(ctx, tuple(options.what)), as_json=options.json)
    if options.what == [STDIN]:
        report = progress_of_stream(sys.stdin.buffer, ctx.clock.now())
    else:
        report = LogProgress(tuple(options.what)).read(ended=True)
    for reason in report.unread:
        say(reason)
    _print(report, as_json=options.json)
    return 1 if report.unread else 0


def _print(report: ProgressReport, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(report_json(report), indent=2))
    elif report.progress is not None:
        print(*progress_lines(report.progress, stdout_console()), sep="\n")
    elif len(report.unread) < len(report.logs):
        say(NOTHING_FOUND)


def _reports(ctx: Context, paths: tuple[str, ...]) -> Iterator[ProgressReport]:
    """Yield the progress again and again: of files for ever, of standard input until its end."""
    if paths == (STDIN,):
        yield from follow_stream(sys.stdin.buffer)
        return
    logs = LogProgress(paths)
    while True:
        yield logs.read()
        ctx.clock.wait(_INTERVAL_S)


def _follow(reports: Iterator[ProgressReport], *, as_json: bool) -> int:
    """Print each change: on a terminal in one line that is overwritten, else in a line of its own."""
    console, shown, unread = stdout_console(), "", frozenset[str]()
    try:
        for report in reports:
            for reason in report.unread:
                if reason not in unread:
                    say(reason)
            unread = frozenset(report.unread)
            text = _text(report, as_json=as_json)
            if text and text != shown:
                shown = text
                sys.stdout.write(f"{_ERASE_LINE}{text}" if console.width and not as_json else f"{text}\n")
                sys.stdout.flush()
    except KeyboardInterrupt:
        pass
    if shown and console.width and not as_json:
        print()
    return 1 if unread else 0


def _text(report: ProgressReport, *, as_json: bool) -> str:
    if as_json:
        return json.dumps(report_json(report))
    return one_line(report.progress, stdout_console()) if report.progress else ""
