"""``jobmon web``."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING

from jobmon.commands.common import (
    Options,
    Parser,
    add_flags,
    jobmon_command,
    natural,
    open_context,
    period_s,
)
from jobmon.errors import UsageError, say
from jobmon.views.html.refusal import refusal
from jobmon_core.app.web.serve import (
    TOKEN_VALID_S,
    PageProcess,
    WebServer,
    answer_lines,
    forked_pages,
    loopback_port,
    ssh_line,
    user_socket,
)

if TYPE_CHECKING:
    from collections.abc import Callable

DESCRIPTION = """\
Show your jobs in a browser: what needs attention, what runs, waits and ended, each job with its charts and
log, and each group as a table. The pages are up to date while they are visible, and are served to you alone:
at a socket that no other user can open, and only to a browser that opened the address printed here. They are
made from jobmon's own files; only the page of the nodes queries the scheduler, at most once a minute."""
EPILOG = """\
On a login node, `jobmon web` prints a line with ssh to run on your laptop, and the address to open there.
The address works once and for 15 minutes; Enter prints another one. The server ends with Ctrl-C, and after an
hour in which nobody looked.

If the server's ssh forwards no sockets, run `jobmon web --connect HOST` on the laptop, where jobmon must be
installed too: it starts `jobmon web --stdio` there by ssh, and serves its pages here.

--port opens a port of this machine instead of a socket. Every user of the machine can connect to it, and only
the token keeps them out: use it where you are alone, or where ssh forwards no sockets.

examples:
  jobmon web
  jobmon web --allow-actions            also acknowledge, mute and note
  jobmon web --connect login.example    on a laptop
  jobmon web --port 8765"""
_LAPTOP_PORT = 8765
_IDLE_S = 3600.0
_MAX_PORT = 65_535


def add_arguments(parser: Parser) -> None:
    parser.add_argument(
        "--port", type=_port, metavar="N", help="open a port of this machine; 0: any free one"
    )
    parser.add_argument("--connect", metavar="HOST", help="show the jobs of a host or profile, by ssh")
    add_flags(
        parser,
        allow_actions="offer to acknowledge, to mute and to note",
        stdio="answer a `jobmon web --connect` of another machine on stdin and stdout",
    )
    parser.add_argument(
        "--idle",
        type=period_s,
        default=_IDLE_S,
        metavar="TIME",
        help="end after so long without a visitor (default: 1h)",
    )


def run(options: Options) -> int:
    if options.stdio:
        if options.port is not None or options.connect:
            raise UsageError("--stdio opens no port and connects to nothing")
        from jobmon.commands.pages.site import WebPages

        answer_lines(WebPages(open_context(), can_act=options.allow_actions), options.idle)
        return 0
    try:
        _serve(options)
    except KeyboardInterrupt:
        print()
        return 0
    say("nobody has looked for a while, so it ends")
    return 0


def _serve(options: Options) -> None:
    words = ("web", "--stdio", *(["--allow-actions"] if options.allow_actions else []))
    if options.connect:
        pages = PageProcess(_pages_of(options.connect, words))
    else:
        from jobmon.commands.pages.site import WebPages

        answer = WebPages(open_context(), can_act=options.allow_actions)
        pages = forked_pages(answer, (*jobmon_command(), *words))
    if options.port is None and not options.connect:
        with user_socket(os.environ) as (listener, path):
            _server(options, pages, _LAPTOP_PORT, lambda: _explain_socket(path)).serve(listener)
        return
    with loopback_port(options.port or 0) as (listener, port):
        _server(options, pages, port, lambda: _warn(port)).serve(listener)


def _pages_of(host: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """Return what answers with pages of a host: of a profile, by its shared connection."""
    if host.startswith("-"):
        raise UsageError(f"--connect {host}: it is not the name of a host")
    ctx = open_context()
    if host not in ctx.profiles():
        return ("ssh", "-T", host, shlex.join(("jobmon", *words)))
    from jobmon_core.app.remote.profile import RemoteCommand, RemoteJobmon  # only on laptops

    return RemoteJobmon(ctx, host).argv_of(RemoteCommand(words))


def _server(options: Options, pages: PageProcess, port: int, explain: Callable[[], None]) -> WebServer:
    told: list[str] = []

    def announce(token: str) -> None:
        if not told:
            explain()
        told.append(token)
        print(f"  http://127.0.0.1:{port}/?token={token}", flush=True)

    asked_fd = sys.stdin.fileno() if sys.stdin.isatty() else -1
    return WebServer(pages, options.idle, refusal, announce, asked_fd)


def _explain_socket(path: str) -> None:
    print("On your laptop, run this and leave it open (the host as you usually name it):")
    print(f"  {ssh_line(path, _LAPTOP_PORT)}")
    _explain_address()


def _explain_address() -> None:
    minutes = TOKEN_VALID_S / 60
    print(f"Open this in a browser, within {minutes:.0f} minutes. Enter prints another, Ctrl-C ends it.")


def _warn(port: int) -> None:
    say(f"every user of this machine can connect to port {port}; only the token keeps them out")
    _explain_address()


def _port(text: str) -> int:
    return natural(text, most=_MAX_PORT)
