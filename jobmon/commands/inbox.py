"""``jobmon inbox``: a stand-in for Discord on this machine, to try jobmon out."""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING

from jobmon.errors import say
from jobmon.views.discord_preview import RenderOptions, discord_preview
from jobmon_core.app.setup import open_inbox

if TYPE_CHECKING:
    import argparse

DESCRIPTION = """\
Receive messages on this machine and print them as Discord would show them, until Ctrl-C.
It prints two webhook URLs; give them to `jobmon init` in another terminal. They work from this
machine only, and only as long as the inbox is open."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``inbox``."""
    parser.description = DESCRIPTION
    parser.epilog = "examples:\n  jobmon inbox\n  jobmon inbox --port 8080"
    parser.add_argument("--port", type=int, default=0, help="the port to listen on (default: a free one)")


def run(options: argparse.Namespace) -> int:
    """Print what comes in."""
    with open_inbox(options.port) as inbox:
        print(inbox.success_url, inbox.error_url, sep="\n", flush=True)
        say("these are the webhooks for success and error messages; waiting for messages, Ctrl-C ends")
        shown = 0
        while True:
            for received in inbox.wait_for(shown + 1, timeout_s=3600)[shown:]:
                look = RenderOptions(
                    received.at_s, width=shutil.get_terminal_size().columns, colour=sys.stdout.isatty()
                )
                print(f"\n[{received.route} channel]\n{discord_preview(received.payload, look)}", flush=True)
                shown += 1
