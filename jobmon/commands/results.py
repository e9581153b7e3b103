"""How commands print their results, and what they do after an error with one of several jobs."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVarTuple

from jobmon.commands.common import result_text, stdout_console
from jobmon.errors import report, say
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.visible_text import one_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from jobmon.views.console import Console
    from jobmon_core.app.recover import RecoveryResult

Record = TypeVarTuple("Record")


def print_change(result: RecoveryResult) -> int:
    """Print what was done for a job, or on stderr why nothing was; return the exit code, then 1."""
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
    """Return the only object, or the list of several: what ``--json`` prints about one job or several."""
    if len(objects) == 1:
        return objects[0]
    return objects


class Errors:
    """The errors with single jobs: each is reported, and the command goes on with the other jobs."""

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
