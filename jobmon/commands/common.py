"""Helpers of several commands: arguments, the context, the console, how results are printed."""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeAlias, TypeVarTuple

from jobmon.errors import UsageError, report, say
from jobmon.views.console import Console
from jobmon.views.text_width import truncated
from jobmon_core.context import Context
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.visible_text import one_line

if TYPE_CHECKING:
    Verbs = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 - argparse has no public name for it
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from jobmon_core.app.recover import RecoveryResult


Parser: TypeAlias = argparse.ArgumentParser
Options: TypeAlias = argparse.Namespace
STDOUT = "-"
# help for an argument that `jobmon_core.app.jobs.find` resolves
JOB_HELP = "a job id (12, 12_3, 12+1), the name of a watched job (the newest of that name), or `latest`"

_DURATION = re.compile(r"([0-9]{1,6})([smhdw])")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0, "w": 7 * 86_400.0}
_MIN_SUBJECT = 20  # columns that a subject keeps at least when it is cut


def add_job(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job", metavar="JOB", help=JOB_HELP)


def add_jobs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("job", nargs="+", metavar="JOB", help=JOB_HELP)


def add_flags(parser: argparse._ActionsContainer, /, **texts: str) -> None:
    """Declare options without a value, each with its help."""
    for name, text in texts.items():
        parser.add_argument(f"--{name.replace('_', '-')}", action="store_true", help=text)


def add_json(parser: argparse._ActionsContainer) -> None:
    add_flags(parser, json="print JSON, as described below")


def job_ref(text: str) -> JobRef:
    """Parse a job id, for argparse."""
    try:
        return JobRef.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def period_s(text: str) -> float:
    """Parse a period such as ``90m`` or ``2d``, in seconds."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a period; expected e.g. 90m, 36h, 2d or 1w")
    return int(match[1]) * _SECONDS[match[2]]


def natural(text: str, least: int = 0, most: int | None = None) -> int:
    """Parse a whole number, for argparse."""
    number = int(text) if text.isascii() and text.isdecimal() else -1
    if number < least or (most is not None and number > most):
        limits = f"of {least} or more" if most is None else f"from {least} to {most}"
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number {limits}")
    return number


positive = partial(natural, least=1)


def add_verb(verbs: Verbs, name: str, summary: str, **defaults: object) -> argparse.ArgumentParser:
    """Add the parser of a verb of a command; its options have ``defaults``, too."""
    parser = verbs.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
    parser.set_defaults(**defaults)
    return parser


def absolute(path: Path | None) -> str:
    """Return the absolute path of what an option names; empty without one."""
    if path:
        return str(path.absolute())
    return ""


def jobmon_command() -> tuple[str, ...]:
    """Return the command that started jobmon, with an absolute path."""
    program = Path(sys.argv[0])
    if program.name == "__main__.py":
        return sys.executable, "-P", "-m", "jobmon"  # -P: cron starts it in the user's home
    return (str(program.absolute()),)


def open_context() -> Context:
    """Return the context of the user who runs this command."""
    return Context.open(os.environ)


def require_terminal(*, is_confirmed: bool) -> None:
    """Raise UsageError if jobmon would have to ask, and cannot."""
    if not is_confirmed and not sys.stdin.isatty():
        raise UsageError("stdin is not a terminal, so jobmon cannot ask: add --yes")


def is_confirmed(question: str, otherwise: str) -> bool:
    """Return whether the user says yes to a question on stderr; if not, print ``otherwise``."""
    while True:
        print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
        answer = sys.stdin.readline().strip().lower()
        if answer in ("y", "yes"):
            return True
        if answer in ("", "n", "no"):
            say(otherwise)
            return False
        say("please answer y or n")


def stdout_console() -> Console:
    """Return the console of stdout."""
    return console_of(sys.stdout)


def table_console() -> Console:
    """Return `stdout_console`; on a pipe, with the width that the user sets with $COLUMNS."""
    console, columns = stdout_console(), os.environ.get("COLUMNS", "")
    if console.width or not columns.isdecimal():
        return console
    return replace(console, width=int(columns))


def console_of(stream: TextIO) -> Console:
    """Return the console of a stream; only a terminal has a width and colours."""
    if not stream.isatty():
        return Console()
    has_colour = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Console(shutil.get_terminal_size().columns, has_colour)


def result_text(subject: str, action: str) -> str:
    """Return ``subject: action`` as one line; on a terminal, wrapped, and with a long subject cut."""
    console = stdout_console()
    subject, action = one_line(subject), one_line(action)
    if console.width:
        subject = truncated(subject, max(console.width - len(action) - len(": "), _MIN_SUBJECT))
    return "\n".join(console.prose(f"{subject}: {action}", hanging="  "))


Record = TypeVarTuple("Record")


def print_change(result: RecoveryResult) -> int:
    """Print what was done for a job, or on stderr why nothing was; return the exit code."""
    if result.is_changed:
        print(result_text(result.subject, result.action))
        return 0
    say(one_line(f"{result.subject}: {result.action}"))
    return 1


def print_lines(lines: Iterable[str]) -> None:
    """Print a result as text."""
    print(*lines, sep="\n")


def print_json(value: object) -> None:
    """Print a result for a program."""
    print(json.dumps(value, indent=2))


def print_result(
    options: argparse.Namespace,
    as_json: Callable[[*Record], object],
    as_lines: Callable[[*Record, Console], Iterable[str]],
    *record: *Record,
) -> None:
    """Print a record: with ``--json`` for a program, else as lines for stdout's console."""
    if options.json:
        print_json(as_json(*record))
    else:
        print_lines(as_lines(*record, stdout_console()))


def one_or_all(objects: Sequence[object]) -> object:
    """Return the only object, or the list of several."""
    if len(objects) == 1:
        return objects[0]
    return objects


class Errors:
    """The errors with single jobs: each is reported, and the command goes on with the others."""

    def __init__(self) -> None:
        """Begin without an error."""
        self.exit_code = 0  # the highest of all

    @contextmanager
    def reported(self, prefix: str = "") -> Iterator[None]:
        """Report a JobmonError that is raised within, after ``prefix``."""
        try:
            yield
        except JobmonError as error:
            self.add(report(error, prefix))

    def add(self, exit_code: int) -> None:
        """Count the exit code of one job."""
        self.exit_code = max(self.exit_code, exit_code)


def write_page(options: Options, page: str, what: str) -> None:
    """Write a page into the file of ``--html``, which only the user can read, or print it.

    Raises:
        UsageError: something else would be printed, too.
        StorageFailed: the file cannot be written.
    """
    from jobmon_core.app.jobs.report import write_report  # few commands write pages

    if options.html != STDOUT:
        write_report(Path(options.html), page)
        say(f"{what} written to {options.html}")
        return
    if options.json:
        raise UsageError("--html - and --json would both print to stdout; give --html the name of a file")
    sys.stdout.write(page)
