"""``jobmon where``."""

from __future__ import annotations

from jobmon.commands.common import Options, Parser, jobmon_command, open_context, stdout_console
from jobmon_core.app.where import describe_installation

_NAME_WIDTH = 11  # columns


DESCRIPTION = """\
Show the versions, files and settings that jobmon uses: one screen to paste into a bug report. It contains no
secrets: of a webhook only the host and the last digits of its id."""
EPILOG = "examples:\n  jobmon where"


def add_arguments(parser: Parser) -> None:
    """Declare nothing."""


def run(options: Options) -> int:
    del options  # there are none
    console = stdout_console()
    for name, value in describe_installation(open_context(), jobmon_command()):
        first, *more = console.prose(value, " " * _NAME_WIDTH)
        print(f"{name:<{_NAME_WIDTH}}{first[_NAME_WIDTH:]}", *more, sep="\n")
    return 0
