"""Find the text of a log that logrotate or a similar tool has moved."""

from __future__ import annotations

import os
import stat

_SUFFIXES = (".1", ".1.gz", ".gz", ".0")


def find_rotated(path: str) -> str:
    """Return ``path``, or its newest non-empty rotated copy if ``path`` does not exist. Never raises.

    An existing empty log is not replaced, because a copy beside it may belong to an earlier job.
    """
    if not path or not _is_missing(path):
        return path
    copies = [(modified, copy) for suffix in _SUFFIXES if (modified := _modified_ns(copy := path + suffix))]
    return max(copies)[1] if copies else path


def _is_missing(path: str) -> bool:
    try:
        os.stat(path)  # noqa: PTH116 - the user's path, unchanged
    except FileNotFoundError:
        return True
    except (OSError, ValueError):
        return False
    return False


def _modified_ns(path: str) -> int:
    """Return the modification time of a non-empty regular file in ns since the epoch; 0 for anything else."""
    try:
        status = os.stat(path)  # noqa: PTH116 - likewise
    except (OSError, ValueError):
        return 0
    return status.st_mtime_ns if stat.S_ISREG(status.st_mode) and status.st_size else 0
