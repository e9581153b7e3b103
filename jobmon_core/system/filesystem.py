"""The file system of a folder, and how far its locks reach."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
_OCTAL = re.compile(r"\\([0-7]{3})")  # how mountinfo writes blanks and other special characters, proc(5)


class LockScope(StrEnum):
    """How far locks reach; the value completes the sentence "locks hold ..." of `jobmon init`."""

    HOSTS = "between hosts"
    DISK = "on this host, and no other host sees this disk"
    HOST = "on this host only"
    NOWHERE = "nowhere: this file system has no locks"
    UNKNOWN = "on this host; whether they hold between hosts is unknown"


@dataclass(frozen=True, slots=True)
class Filesystem:
    """The file system that a folder is on."""

    kind: str  # as the kernel calls it: "ext4", "nfs4"; empty if unknown
    mounted_at: str
    options: frozenset[str]  # of the mount and of the file system

    @classmethod
    def of(cls, folder: Path) -> Filesystem:
        """Return the file system of ``folder``, which need not exist."""
        try:
            return filesystem_at(_MOUNTS.read_text(errors="surrogateescape"), os.path.realpath(folder))
        except OSError:
            return _UNKNOWN

    @property
    def lock_scope(self) -> LockScope:
        """How far flock(2) reaches."""
        by_option = (scope for option, scope in _BY_OPTION.items() if option in self.options)
        return next(by_option, _BY_KIND.get(self.kind, LockScope.UNKNOWN))


_UNKNOWN = Filesystem("", "/", frozenset())
_LOCAL = (
    *("bcachefs", "btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "jfs", "ntfs3", "overlay"),
    *("ramfs", "reiserfs", "tmpfs", "vfat", "xfs", "zfs"),
)
_BY_KIND = {
    **dict.fromkeys(_LOCAL, LockScope.DISK),
    # nfs: since Linux 2.6.12 the client asks the server for a lock of the whole file, flock(2)
    **dict.fromkeys(("ceph", "gfs2", "nfs", "nfs4", "ocfs2"), LockScope.HOSTS),
    # beegfs: by default; tuneUseGlobalFileLocks changes it, in a file that users may not be able to read
    **dict.fromkeys(("beegfs", "fuse.sshfs"), LockScope.HOST),
    "lustre": LockScope.NOWHERE,
}
_BY_OPTION = {
    # of nfs(5), mount.lustre(8), gfs2 and ocfs2, mount.cifs(8)
    **dict.fromkeys(("nolock", "local_lock=all", "local_lock=flock"), LockScope.HOST),
    **dict.fromkeys(("localflock", "localflocks", "nobrl"), LockScope.HOST),
    "flock": LockScope.HOSTS,  # mount.lustre(8)
}


def filesystem_at(mountinfo: str, path: str) -> Filesystem:
    """Return the file system of an absolute path without links, from the text of ``/proc/self/mountinfo``."""
    best = _UNKNOWN
    for line in mountinfo.splitlines():
        mount_part, _, filesystem_part = line.partition(" - ")
        mount, filesystem = mount_part.split(" "), filesystem_part.split(" ")
        if len(mount) < 6 or len(filesystem) < 3:  # noqa: PLR2004 - proc(5): fields that every line has
            continue
        mounted_at = _OCTAL.sub(lambda octal: chr(int(octal[1], 8)), mount[4])
        # of two mounts at the same place the later one covers the earlier
        is_above = path == mounted_at or path.startswith(f"{mounted_at.rstrip('/')}/")
        if is_above and len(mounted_at) >= len(best.mounted_at):
            options = frozenset(f"{mount[5]},{filesystem[2]}".split(","))
            best = Filesystem(filesystem[0], mounted_at, options)
    return best
