"""``jobmon mute``."""

from __future__ import annotations

import argparse
import shlex

from jobmon.commands.common import (
    JOB_HELP,
    Options,
    Parser,
    add_flags,
    open_context,
    period_s,
    print_json,
    result_text,
)
from jobmon.errors import UsageError, say
from jobmon.views.model import clock
from jobmon_core.app.messages.mute import mute, muted, unmute

DESCRIPTION = """\
Send no messages about a job, about the jobs of a group, or about all jobs for a while. When the
mute ends, one message lists what was not sent. Critical messages (e.g. about a crash) are held and then sent
in full. Without arguments, list what is muted."""
EPILOG = """\
examples:
  jobmon mute 8123 2h
  jobmon mute sweep1 1d        a group
  jobmon mute all 30m
  jobmon mute all --off
  jobmon mute                  list what is muted

--json prints a list: subject, muted_until (Unix seconds)."""
_MAX_S = 30 * 86_400.0


def add_arguments(parser: Parser) -> None:
    parser.add_argument("target", nargs="?", metavar="JOB|GROUP|all", help=f"a group, `all`, or {JOB_HELP}")
    parser.add_argument(
        "time", nargs="?", type=_time_s, metavar="TIME", help="e.g. 30m, 2h or 1d; at most 30d"
    )
    add_flags(
        parser,
        off="end the mute now",
        json="list what is muted as JSON",
    )


def run(options: Options) -> int:
    ctx = open_context()
    if options.target is None:
        return _list(muted(ctx), ctx.clock.now(), as_json=options.json)
    if options.json:
        raise UsageError("--json lists what is muted and takes no arguments")
    if options.off == (options.time is not None):
        raise UsageError(f"give a time or --off, e.g. `jobmon mute {shlex.quote(options.target)} 2h`")
    if options.off:
        subject, was_muted = unmute(ctx, options.target)
        if not was_muted:
            say(f"{subject}: not muted; nothing was changed")
            return 1
        print(result_text(subject, "not muted any more; what was held back follows within 5 minutes"))
        return 0
    subject, until_s = mute(ctx, options.target, options.time)
    until = clock(until_s, ctx.clock.now())
    print(
        result_text(subject, f"muted until {until}; critical messages and a list of the others follow then")
    )
    return 0


def _list(mutes: list[tuple[str, float]], now_s: float, *, as_json: bool) -> int:
    if as_json:
        print_json([{"subject": subject, "muted_until": until_s} for subject, until_s in mutes])
        return 0
    for subject, until_s in mutes:
        print(result_text(subject, f"muted until {clock(until_s, now_s)}"))
    if not mutes:
        print("nothing is muted")
    return 0


def _time_s(text: str) -> float:
    seconds = period_s(text)
    if not 0 < seconds <= _MAX_S:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time of at most 30d, e.g. 2h")
    return seconds
