"""The argument parser of every command but ``submit``, whose arguments belong to sbatch."""

from __future__ import annotations

import argparse
import importlib
from typing import TYPE_CHECKING, NoReturn, Protocol, cast

from jobmon.errors import UsageError
from jobmon_core import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

DESCRIPTION = "Submit Slurm jobs and get one correct message when each ends: how it ended, and why."
EPILOG = """\
examples:
  jobmon submit train.sbatch            submit as with sbatch, get a message when it ends
  jobmon submit --gres=gpu:4 train.sbatch --epochs 3
  jobmon watch 8123                     watch a job not submitted through jobmon
  jobmon status                         list the watched jobs
  jobmon show 8123                      everything known about one job
  jobmon diagnose 8123                  explain why it failed; also takes log files
  jobmon recover                        after a reboot: restart the monitors

Run `jobmon COMMAND --help` for the options and examples of a command."""


class Command(Protocol):
    """The interface of each module in jobmon.commands."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command's arguments, its description and its examples."""

    def run(self, options: argparse.Namespace) -> int:
        """Run the command; return the exit code."""


def build_parser(name: str, summaries: Mapping[str, str]) -> argparse.ArgumentParser:
    """Build the parser of the commands in ``summaries``; import only the module of ``name``, to be fast."""
    parser = _Parser(
        prog="jobmon",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--version", action="version", version=f"jobmon {__version__}", help="show the version and exit"
    )
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for each, summary in summaries.items():
        sub = subparsers.add_parser(
            each, help=summary, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if each == name:
            load_command(each).add_arguments(sub)
    return parser


def load_command(name: str) -> Command:
    """Return the module of a command."""
    return cast("Command", importlib.import_module(f"jobmon.commands.{name.replace('-', '_')}"))


class _Parser(argparse.ArgumentParser):
    """A parser that raises `UsageError` instead of printing its usage."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see `{self.prog} --help`")
