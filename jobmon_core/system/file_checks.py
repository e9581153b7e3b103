"""Checks that a path is a regular file of the user; otherwise says what is in its place."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

from jobmon_core.system.process import user_name

if TYPE_CHECKING:
    from pathlib import Path

_FOREIGN_KINDS = {
    stat.S_IFDIR: "folder",
    stat.S_IFIFO: "named pipe",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}
_BLOCKED = (errno.EISDIR, errno.EEXIST, errno.EACCES, errno.EPERM)


def blocking_file(path: Path) -> str:
    """Return what blocks ``path``, where jobmon keeps a file, and what to do; empty if nothing does."""
    try:
        status = path.lstat()
    except OSError:
        return ""
    kind = _FOREIGN_KINDS.get(stat.S_IFMT(status.st_mode))
    if kind:
        return f"it is a {kind}, but jobmon keeps a file there; move it away"
    if not stat.S_ISLNK(status.st_mode) and status.st_uid != os.geteuid():
        owner = user_name(status.st_uid)
        return f"it belongs to user {owner}, not to you; remove it or ask {owner} to remove it"
    return ""


def failure_reason(path: Path, error: OSError) -> str:
    """Return why an operation on ``path`` failed: what blocks the path, else the system's message."""
    return (error.errno in _BLOCKED and blocking_file(path)) or error.strerror or str(error)


def is_own(path: Path) -> bool:
    """Return whether the path is a regular file of the user; a link is not."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
