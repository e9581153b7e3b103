"""What stands where a file of ours belongs: a folder, a pipe, a device, somebody else's file."""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def blocking_file(path: Path) -> str:
    """Say what stands where a file of ours belongs, and what to do; empty where nothing is in the way."""
    try:
        status = path.lstat()
    except OSError:
        return ""
    kind = _KINDS.get(stat.S_IFMT(status.st_mode))
    if kind:
        return f"it is a {kind}, where jobmon keeps a file: move it away"
    if not stat.S_ISLNK(status.st_mode) and status.st_uid != os.geteuid():
        return f"it belongs to {user_name(status.st_uid)}, not to you: have it removed, or remove it"
    return ""


def because(path: Path, error: OSError) -> str:
    """Say why a file of ours could not be used: what is in its way, else what the system says."""
    return (error.errno in _IN_THE_WAY and blocking_file(path)) or error.strerror or str(error)


_IN_THE_WAY = (errno.EISDIR, errno.EEXIST, errno.EACCES, errno.EPERM)


def is_own(path: Path) -> bool:
    """Whether there is a regular file of ours; a link is none."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()


_KINDS = {
    stat.S_IFDIR: "folder",
    stat.S_IFIFO: "named pipe",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}


def user_name(uid: int) -> str:
    """Return the name of a user; the number where it has no name."""
    import pwd

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
