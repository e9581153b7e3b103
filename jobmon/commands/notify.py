"""``jobmon notify``."""

from __future__ import annotations

import sys

from jobmon.commands.common import Options, Parser, open_context
from jobmon.commands.job_options import seconds
from jobmon.errors import UsageError, say
from jobmon_core.app.messages.send import Notified, notify
from jobmon_core.app.outcome import ANSWERS
from jobmon_core.domain.channels import Level
from jobmon_core.domain.visible_text import one_line

DESCRIPTION = """\
Send a message to your channels, e.g. as the last line of a script on any machine. It is saved before it
is sent, so it is not lost: if any channel has not accepted it within ten seconds (--wait), a process in
the background keeps trying through outages, and so do all monitors and `jobmon recover`. An attempt that gets
no response is repeated for about three days.

Levels critical and warning go to the error channels, info and progress to the success channels.
What looks like a password or a token is not sent."""
EPILOG = """\
The text is the arguments, joined by blanks, or what `-` reads from stdin. Without --title, the first line
of the text is the title. A message has room for about 3,500 characters; the rest is cut off.

exit codes:
  0   every channel has it
  1   at least one channel will not get it, e.g. because none is configured
      for it; `jobmon status` says why
  3   it is saved and will be sent; some channel has not accepted it yet
  78  the configuration has faults; nothing was sent

examples:
  jobmon notify 'all three evaluations are done'
  python eval.py && jobmon notify 'eval is done'
  sh all.sh || jobmon notify -l critical 'all.sh failed'
  tail -n 5 eval.log | jobmon notify --title 'results of sweep 7' -"""
NOT_SENT, QUEUED = 1, 3
_MAX_STDIN = 1 << 20  # characters


def add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "-l",
        "--level",
        choices=[each.value for each in Level],
        default=Level.INFO.value,
        help="critical, warning, info (default) or progress",
        metavar="LEVEL",
    )
    parser.add_argument("-t", "--title", default="", metavar="TITLE", help="the title (default: see below)")
    parser.add_argument(
        "--wait",
        type=_wait_s,
        default=10,
        metavar="SECONDS",
        help="how long to wait for the channels (default: 10); 0: save the message and return",
    )
    parser.add_argument("text", nargs="+", metavar="TEXT", help="the text, or - to read it from stdin")


def run(options: Options) -> int:
    sent = notify(open_context(), Level(options.level), options.title, _text(options.text), options.wait)
    ANSWERS.append(sent)
    if sent.was_hidden:
        say("a part that looks like a password or a token was replaced by [hidden]")
    line, exit_code = _result(sent)
    if exit_code:
        say(line)
    else:
        print(line)
    return exit_code


def _wait_s(text: str) -> float:
    if text == "0":
        return 0.0
    return seconds(text)


def _text(words: list[str]) -> str:
    if words != ["-"]:
        return " ".join(words)
    if sys.stdin.isatty():
        raise UsageError("`-` reads the text from a file or a pipe, not from the terminal")
    return sys.stdin.read(_MAX_STDIN)


def _result(sent: Notified) -> tuple[str, int]:
    stored = sent.stored
    channels = ""
    if sent.channels:
        channels = f" to {', '.join(sent.channels)}"
    why = one_line(stored.problem)
    if stored.is_open:
        done = ""
        if channels:
            done = f"sent{channels}; "
        reason = ""
        if why:
            reason = f" ({why})"
        return (
            f"{done}not delivered{'' if not done else ' everywhere'} yet{reason}; jobmon keeps trying",
            QUEUED,
        )
    if stored.given_up:
        return f"{f'sent{channels}, but ' if channels else ''}not sent: {one_line(stored.given_up)}", NOT_SENT
    return f"sent{channels}", 0
