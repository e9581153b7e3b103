"""``jobmon help``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.cli import main
from jobmon.errors import UsageError

if TYPE_CHECKING:
    import argparse


DESCRIPTION = "Show the help of a command; without one, list the commands."
EPILOG = "examples:\n  jobmon help submit\n  jobmon help group submit"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("command", nargs="?", metavar="COMMAND", help="the command")
    parser.add_argument("action", nargs="?", metavar="ACTION", help="an action of `group` or `patterns`")


def run(options: argparse.Namespace) -> int:
    # `run` and `submit` would take it for their own
    if options.action and options.command not in ("group", "patterns"):
        raise UsageError(f"unexpected argument {options.action!r}; see `jobmon help {options.command}`")
    return main([*filter(None, (options.command, options.action)), "--help"])
