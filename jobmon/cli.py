"""The command line: one parser, one table from verbs to commands."""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from typing import Protocol, cast

from jobmon.errors import guarded

DESCRIPTION = "Submit Slurm jobs and be told, once and correctly, how each one ended and why."
EPILOG = """\
examples:
  jobmon submit train.sbatch            submit as with sbatch, and be told how it ended
  jobmon submit --gres=gpu:4 train.sbatch --epochs 3
  jobmon watch 8123                     watch a job that was submitted otherwise
  jobmon status                         every watched job
  jobmon show 8123                      everything known of one job
  jobmon recover                        after a reboot: bring every monitor back

`jobmon VERB --help` tells more of each verb."""

# Verb -> what it does, in a few words. Each is the module of the same name in jobmon.commands.
VERBS = {
    "submit": "submit a job as sbatch does, and watch it",
    "watch": "watch a job that was submitted otherwise",
    "status": "show every watched job",
    "show": "show everything known of one job",
    "logs": "show a monitor's own log",
    "cancel": "stop watching a job; the job itself goes on",
    "recover": "restart monitors that a reboot or a kill ended",
    "test-discord": "post a message of the worst size to both channels",
    "init": "write config.json from two webhook URLs",
    "inbox": "receive messages here instead of in Discord, to try jobmon out",
}


class Command(Protocol):
    """What each module in jobmon.commands offers."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the verb's arguments, its description and its examples."""

    def run(self, options: argparse.Namespace) -> int:
        """Do it; return the exit code."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run jobmon with ``arguments``, by default the process's own; return the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    return guarded(lambda: _run(given))


def _run(given: list[str]) -> int:
    if given[:1] == ["submit"]:
        from jobmon.commands import submit

        return submit.run(given[1:])
    options = _parser(given[0] if given else "").parse_args(given)
    return _command(options.verb).run(options)


def _parser(wanted: str) -> argparse.ArgumentParser:
    """Build the parser; only the verb that is wanted is loaded, since each may need its own libraries."""
    parser = argparse.ArgumentParser(
        prog="jobmon",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action=_Version)
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for verb, summary in VERBS.items():
        sub = verbs.add_parser(
            verb, help=summary, allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        if verb == wanted:
            _command(verb).add_arguments(sub)
    return parser


def _command(verb: str) -> Command:
    return cast("Command", importlib.import_module(f"jobmon.commands.{verb.replace('-', '_')}"))


class _Version(argparse.Action):
    """Print the version and leave; it is looked up only then."""

    def __init__(self, option_strings: list[str], dest: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="show the version and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from jobmon_core import __version__

        print(f"jobmon {__version__}")
        parser.exit()
