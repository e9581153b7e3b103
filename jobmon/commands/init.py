"""``jobmon init``: write the configuration from two webhook URLs."""

from __future__ import annotations

import getpass
import sys
from typing import TYPE_CHECKING

from jobmon.commands.common import open_context
from jobmon.errors import say
from jobmon_core.app.setup import configure, describe_home

if TYPE_CHECKING:
    import argparse

INSTRUCTIONS = """\
jobmon posts to two Discord channels: one for jobs that succeeded, one for all others.
To get the URL of a channel, in Discord: Edit Channel > Integrations > Webhooks > New Webhook >
Copy Webhook URL. Run `jobmon init` and paste both URLs (they may be the same), or pipe them in, one
per line. A webhook URL is a password: jobmon stores it in a file that only you can read, and never
shows it."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = INSTRUCTIONS
    parser.epilog = "examples:\n  jobmon init\n  jobmon init < two-webhook-urls.txt"


def run(options: argparse.Namespace) -> int:
    """Read both webhook URLs from stdin and write the configuration; return 1 if one is missing."""
    del options  # there are none: other users of this machine could see a URL in the arguments
    ctx = open_context()
    success, error = _ask("success"), _ask("error")
    if not success or not error:
        say(f"nothing was written: two webhook URLs are required\n{INSTRUCTIONS}")
        return 1
    configure(ctx, success, error)
    print(f"wrote {ctx.home.config}; `jobmon test-discord` tests every channel")
    print(describe_home(ctx.home.root))
    return 0


def _ask(route: str) -> str:
    if sys.stdin.isatty():
        return getpass.getpass(f"webhook URL for {route} messages (not shown): ").strip()
    return sys.stdin.readline().strip()
