"""Runs a command of jobmon within this process, which is for one call, and keeps what it prints."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, NamedTuple

from jobmon.errors import run_guarded
from jobmon_core.domain.errors import JobmonError

if TYPE_CHECKING:
    from collections.abc import Callable


class Said(NamedTuple):
    """What a command printed."""

    exit_code: int
    out: str
    notes: str  # on stderr, without the prefix


def captured(run: Callable[[], int]) -> Said:
    """Run something that prints as a command does, and reports its errors so."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        exit_code = run_guarded(run)
    notes = "; ".join(line.strip().removeprefix("jobmon: ") for line in err.getvalue().splitlines())
    return Said(exit_code, out.getvalue(), notes)


def command(name: str, *words: str) -> Said:
    """Run a command; JobmonError if it has no result."""
    from jobmon.cli import run  # what reads the tools does not need it

    said = captured(lambda: run([name, *words]))
    is_empty = said.out.strip() in ("", "[]")
    if is_empty and (said.exit_code or not said.out):
        raise JobmonError(said.notes or f"jobmon {name} ended with exit code {said.exit_code}")
    return said
