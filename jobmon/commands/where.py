"""``jobmon where``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.commands.common import jobmon_command, open_context, stdout_console
from jobmon_core.app.where import describe_installation

if TYPE_CHECKING:
    import argparse

_NAME_WIDTH = 11  # columns


DESCRIPTION = """\
Show the versions, files and settings that jobmon uses: one screen to paste into a bug report. It contains no
secrets: of a webhook only the host and the last digits of its id."""
EPILOG = "examples:\n  jobmon where"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare nothing."""


def run(options: argparse.Namespace) -> int:
    del options  # there are none
    console = stdout_console()
    for name, value in describe_installation(open_context(), jobmon_command()):
        first, *more = console.prose(value, " " * _NAME_WIDTH)
        print(f"{name:<{_NAME_WIDTH}}{first[_NAME_WIDTH:]}", *more, sep="\n")
    return 0
