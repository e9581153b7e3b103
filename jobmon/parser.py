"""The parser of every verb but submit, whose arguments are sbatch's."""

from __future__ import annotations

import argparse
import importlib
from typing import TYPE_CHECKING, NoReturn, Protocol, cast

from jobmon.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

DESCRIPTION = "Submit Slurm jobs and be told, once and correctly, how each one ended and why."
EPILOG = """\
examples:
  jobmon submit train.sbatch            submit as with sbatch, and be told how it ended
  jobmon submit --gres=gpu:4 train.sbatch --epochs 3
  jobmon watch 8123                     watch a job that was submitted otherwise
  jobmon status                         every watched job
  jobmon show 8123                      everything known of one job
  jobmon diagnose 8123                  why it failed; a log file will do, too
  jobmon recover                        after a reboot: bring every monitor back

`jobmon VERB --help` tells more of each verb."""


class Command(Protocol):
    """What each module in jobmon.commands offers."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the verb's arguments, its description and its examples."""

    def run(self, options: argparse.Namespace) -> int:
        """Do it; return the exit code."""


def parser(wanted: str, verbs: Mapping[str, str]) -> argparse.ArgumentParser:
    """Build the parser; only the verb that is wanted is loaded, since each may need its own libraries."""
    whole = _Parser(
        prog="jobmon",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    whole.add_argument("--version", action=_Version)
    subparsers = whole.add_subparsers(dest="verb", metavar="VERB", required=True)
    for verb, summary in verbs.items():
        sub = subparsers.add_parser(
            verb, help=summary, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if verb == wanted:
            command(verb).add_arguments(sub)
    return whole


def command(verb: str) -> Command:
    """Return the module of a verb."""
    return cast("Command", importlib.import_module(f"jobmon.commands.{verb.replace('-', '_')}"))


class _Parser(argparse.ArgumentParser):
    """A parser that complains as the rest of jobmon does: in one line."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; `{self.prog} --help` shows how it is used")


class _Version(argparse.Action):
    """Print the version and leave; it is looked up only then."""

    def __init__(self, option_strings: list[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="show the version and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from jobmon_core import __version__

        print(f"jobmon {__version__}")
        parser.exit()
