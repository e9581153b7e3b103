"""The argument parsers of ``jobmon`` and of each command.

`submit` and `check` only describe their options, for the help: most of their arguments are for sbatch.
"""

from __future__ import annotations

import argparse
import importlib
import shutil
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, cast

from jobmon.errors import UsageError
from jobmon.views.text_width import fill
from jobmon_core import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from jobmon.views.console import Lines


_MAX_COLUMNS = 80
ALIASES = {"prune": "forget", "test-alerts": "test"}
DESCRIPTION = """\
Submit Slurm jobs and get one message when each ends: how it ended, and why.
Type `jobmon submit` where you would type `sbatch`; jobmon does the rest."""
EPILOG = """\
examples:
  jobmon init                           once: connect jobmon to Discord
  jobmon submit train.sbatch            submit as with sbatch
  jobmon submit --gres=gpu:4 train.sbatch --epochs 3
  jobmon status                         how are my jobs?
  jobmon logs -f 8123                   follow the output of a job
  jobmon diagnose 8123                  why did it fail? also takes log files

`jobmon help COMMAND` shows the options and examples of a command."""


class Command(Protocol):
    """The interface of a command's module; ``run`` of `submit` and `check` takes the arguments unparsed."""

    DESCRIPTION: str
    EPILOG: str  # examples, and what follows the list of options

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the command's arguments."""

    def run(self, options: argparse.Namespace) -> int:
        """Run the command; return the exit code."""


def build_parser(groups: Mapping[str, Mapping[str, str]], further: Iterable[str]) -> argparse.ArgumentParser:
    """Build the parser of ``jobmon`` without a command."""
    parser = _Parser(
        prog="jobmon",
        usage="jobmon COMMAND [OPTIONS]",
        description="\n".join((DESCRIPTION, "", *_overview(groups), f"further: {', '.join(further)}")),
        epilog=EPILOG,
    )
    parser.add_argument(
        "-V", "--version", action="version", version=f"jobmon {__version__}", help="show the version and exit"
    )
    parser.add_argument(
        "--profile",
        metavar="NAME",
        help="before COMMAND: run it on a cluster, one of `profiles` in config.json, by ssh "
        "(default: $JOBMON_PROFILE)",
    )
    parser.add_argument(
        "--log-level",
        metavar="LEVEL",
        help="before COMMAND: write a log of what it does: debug (each program and HTTP request), info, "
        "warning or error (default: $JOBMON_LOG_LEVEL)",
    )
    parser.add_argument(
        "--log-file",
        metavar="FILE",
        help="before COMMAND: append the log to a file (default: $JOBMON_LOG_FILE, else stderr)",
    )
    return parser


def command_parser(name: str) -> argparse.ArgumentParser:
    """Build the parser of one command, and import its module."""
    command = load_command(name)
    parser = _Parser(prog=f"jobmon {name}", description=command.DESCRIPTION, epilog=command.EPILOG)
    command.add_arguments(parser)
    return parser


def load_command(name: str) -> Command:
    """Return the module of a command."""
    module = ALIASES.get(name, name).replace("-", "_")
    return cast("Command", importlib.import_module(f"jobmon.commands.{module}"))


def _overview(groups: Mapping[str, Mapping[str, str]]) -> Lines:
    width = max(len(name) for commands in groups.values() for name in commands)
    for title, commands in groups.items():
        yield f"{title}:"
        yield from (f"  {name:<{width}}  {summary}" for name, summary in commands.items())
        yield ""


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Wraps texts to the terminal, but never a command of the examples."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=min(shutil.get_terminal_size().columns, _MAX_COLUMNS))

    def _fill_text(self, text: str, width: int, indent: str) -> str:  # noqa: ARG002 - argparse passes it
        return fill(text, width)


class _Parser(argparse.ArgumentParser):
    """A parser that raises `UsageError` instead of printing its usage, and suggests options."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - those of argparse, by name
        settings["formatter_class"] = _HelpFormatter  # for the parsers of subcommands too
        super().__init__(**settings, allow_abbrev=False)

    def parse_known_args(  # type: ignore[override]  # argparse has overloads for other namespaces
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse the arguments; raise UsageError for an unknown one."""
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(self._unknown(unknown[0]))
        return options, unknown

    def error(self, message: str) -> NoReturn:
        """Raise the UsageError for a wrong command line."""
        message = message.replace("the following arguments are required: ", "required: ", 1)
        raise UsageError(f"{message}; see `{self.prog} --help`")

    def _unknown(self, argument: str) -> str:
        if not argument.startswith("-"):
            return f"unexpected argument {argument!r}"
        from difflib import get_close_matches

        name = argument.partition("=")[0]
        known = {option.lstrip("-"): option for option in self._option_string_actions}
        similar = get_close_matches(name.lstrip("-"), known, n=1)  # the dashes are no similarity
        hint = ""
        if similar:
            hint = f" (did you mean {known[similar[0]]}?)"
        return f"unknown option {name}{hint}"
