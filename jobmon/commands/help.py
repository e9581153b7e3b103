"""``jobmon help``: show the help of a command, as ``jobmon COMMAND --help`` does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.cli import main

if TYPE_CHECKING:
    import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "Show the help of a command; without one, list the commands."
    parser.epilog = "examples:\n  jobmon help submit"
    parser.add_argument("command", nargs="?", metavar="COMMAND", help="the command")


def run(options: argparse.Namespace) -> int:
    """Print the help."""
    return main([options.command, "--help"] if options.command else ["--help"])
