"""Rotated logs: where the text of a log is after a tool has moved it out of the way."""

from __future__ import annotations

import os
import stat

_SUFFIXES = (".1", ".1.gz", ".gz", ".0")


def standing_in_for(path: str) -> str:
    """Return the path of the file that holds what ``path`` held.

    That is ``path`` itself, unless it is missing while a rotated copy of it has text: then the youngest of
    those. An empty log speaks for itself: a copy beside it may be of an earlier job. Never raises.
    """
    if not path or not _is_missing(path):
        return path
    found = [(modified, name) for suffix in _SUFFIXES if (modified := _age(name := path + suffix))]
    return max(found)[1] if found else path


def _is_missing(path: str) -> bool:
    try:
        os.stat(path)  # noqa: PTH116 - a path of the user's, used as it was given
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False
    return False


def _age(path: str) -> int:
    """Return when a file with text was last changed, in ns since the epoch; 0 if it is no such file."""
    try:
        status = os.stat(path)  # noqa: PTH116 - likewise
    except (OSError, ValueError):
        return 0
    return status.st_mtime_ns if stat.S_ISREG(status.st_mode) and status.st_size else 0
