"""What the user's terminal can show."""

from __future__ import annotations

import locale
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# terminals whose font lacks the characters of bars and sparklines
_LIMITED = ("linux", "vt", "ansi", "cons", "sun")


def is_capable(environment: Mapping[str, str]) -> bool:
    """Whether stdin and stdout are a terminal on which text can be placed."""
    if environment.get("TERM", "") in ("", "dumb") or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    try:
        import curses
    except ImportError:  # a Python that was built without it
        return False
    try:
        curses.setupterm()
    except curses.error:  # the terminal is not known here
        return False
    return curses.tigetstr("cup") is not None


def has_unicode(environment: Mapping[str, str]) -> bool:
    """Set the process's locale; return whether it is UTF-8, and the terminal's font presumably complete."""
    with suppress(locale.Error):  # it is not installed: the one that Python started with stays
        locale.setlocale(locale.LC_ALL, "")
    is_utf8 = locale.nl_langinfo(locale.CODESET).replace("-", "").upper() == "UTF8"
    return is_utf8 and not environment.get("TERM", "").startswith(_LIMITED)
