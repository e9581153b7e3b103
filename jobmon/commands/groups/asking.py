"""Refuse to change jobs where the user cannot be asked first."""

from __future__ import annotations

import sys

from jobmon.errors import UsageError


def require_terminal(*, is_confirmed: bool) -> None:
    """Raise UsageError if jobmon would have to ask, and cannot."""
    if not is_confirmed and not sys.stdin.isatty():
        raise UsageError("stdin is not a terminal, so jobmon cannot ask: add --yes")
