"""Ask before jobs are changed."""

from __future__ import annotations

import sys

from jobmon.errors import UsageError, say


def require_terminal(*, is_confirmed: bool) -> None:
    """Raise UsageError if jobmon would have to ask, and cannot."""
    if not is_confirmed and not sys.stdin.isatty():
        raise UsageError("stdin is not a terminal, so jobmon cannot ask: add --yes")


def confirmed(question: str, refusal: str) -> bool:
    """Ask on the terminal; return whether the user agreed. ``refusal`` says what did not happen."""
    while True:
        print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
        answer = sys.stdin.readline().strip().lower()
        if answer in ("y", "yes"):
            return True
        if answer in ("", "n", "no"):
            say(refusal)
            return False
        say("please answer y or n")
