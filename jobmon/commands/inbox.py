"""``jobmon inbox``."""

from __future__ import annotations

import shutil
import sys
from functools import partial
from typing import NoReturn

from jobmon.commands.common import Options, Parser, natural
from jobmon.errors import interrupted, say
from jobmon.views.console import Console
from jobmon.views.discord_preview import discord_preview
from jobmon_core.app.setup import open_inbox

_MAX_PORT = 65_535
DESCRIPTION = """\
Receive messages on this machine and print them as Discord would show them, until Ctrl-C.
Prints a webhook URL for each channel: paste them into `jobmon init` in another terminal. The URLs
work only on this machine and only while this command runs."""
EPILOG = "examples:\n  jobmon inbox\n  jobmon inbox --port 8080"


def add_arguments(parser: Parser) -> None:
    port = partial(natural, most=_MAX_PORT)
    parser.add_argument(
        "--port", type=port, default=0, metavar="N", help="port to listen on (default: any free port)"
    )


def run(options: Options) -> int:
    try:
        _print_messages(options.port)
    except KeyboardInterrupt:
        return interrupted("stopped; the two URLs no longer work", exit_code=0)


def _print_messages(port: int) -> NoReturn:
    with open_inbox(port) as inbox:
        print(f"success: {inbox.success_url}", f"error: {inbox.error_url}", sep="\n", flush=True)
        say("paste these URLs into `jobmon init`; waiting (Ctrl-C to stop)")
        printed = 0
        while True:
            for received in inbox.wait_for(printed + 1, timeout_s=3600)[printed:]:
                console = Console(shutil.get_terminal_size().columns, sys.stdout.isatty())
                change = ""
                if received.is_edit:
                    change = ", an earlier message edited"
                text = discord_preview(received.payload, received.at_s, console)
                files = "".join(f"\nattached: {file}" for file in received.files)
                print(f"\n[{received.route} channel{change}]\n{text}{files}", flush=True)
                printed += 1
