"""The file system of a folder, and which processes its file locks exclude."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
_OCTAL = re.compile(r"\\([0-7]{3})")  # how mountinfo escapes blanks and some other characters, proc(5)


class LockScope(StrEnum):
    """Where a lock excludes other processes: a sentence about the home, for its user."""

    HOSTS = "several hosts can use it at once: file locks hold between hosts"
    DISK = "only jobmon on this host knows these jobs"  # a local disk
    ONE_HOST = "file locks hold on this host only"  # although other hosts share the file system
    NOWHERE = "this file system has no file locks"
    UNKNOWN = "file locks hold on this host; whether they hold between hosts is unknown"


@dataclass(frozen=True, slots=True)
class Filesystem:
    """The file system that a folder is on."""

    kind: str  # its type in the kernel's spelling, e.g. "ext4" or "nfs4"; empty if unknown
    mounted_at: str  # the mount point
    options: frozenset[str]  # of the mount and of the file system

    @classmethod
    def of(cls, folder: Path) -> Filesystem:
        """Return the file system of ``folder``, which need not exist; of unknown kind if /proc shows none."""
        try:
            return filesystem_at(_MOUNTS.read_text(errors="surrogateescape"), os.path.realpath(folder))
        except OSError:
            return _UNKNOWN

    @property
    def lock_scope(self) -> LockScope:
        """Where locks of flock(2) exclude other processes; mount options take precedence over the type."""
        by_option = (scope for option, scope in _BY_OPTION.items() if option in self.options)
        return next(by_option, _BY_KIND.get(self.kind, LockScope.UNKNOWN))


_UNKNOWN = Filesystem("", "/", frozenset())
_LOCAL = (
    *("bcachefs", "btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "jfs", "ntfs3", "overlay"),
    *("ramfs", "reiserfs", "tmpfs", "vfat", "xfs", "zfs"),
)
_BY_KIND = {
    **dict.fromkeys(_LOCAL, LockScope.DISK),
    # nfs: since Linux 2.6.12 the client turns a flock(2) into a lock of the whole file on the server
    **dict.fromkeys(("ceph", "gfs2", "nfs", "nfs4", "ocfs2"), LockScope.HOSTS),
    # beegfs: by default; tuneUseGlobalFileLocks extends locks to all hosts, but users may not see its value
    **dict.fromkeys(("beegfs", "fuse.sshfs"), LockScope.ONE_HOST),
    "lustre": LockScope.NOWHERE,
}
_BY_OPTION = {
    # nolock, local_lock: nfs(5); localflock: mount.lustre(8); localflocks: gfs2, ocfs2; nobrl: mount.cifs(8)
    **dict.fromkeys(("nolock", "local_lock=all", "local_lock=flock"), LockScope.ONE_HOST),
    **dict.fromkeys(("localflock", "localflocks", "nobrl"), LockScope.ONE_HOST),
    "flock": LockScope.HOSTS,  # mount.lustre(8)
}


def filesystem_at(mountinfo: str, path: str) -> Filesystem:
    """Return the file system of ``path``, absolute and without links, by ``/proc/self/mountinfo``.

    The kind is empty if no mount point is above it.
    """
    best = _UNKNOWN
    for line in mountinfo.splitlines():
        mount_part, _, filesystem_part = line.partition(" - ")
        mount, filesystem = mount_part.split(" "), filesystem_part.split(" ")
        if len(mount) < 6 or len(filesystem) < 3:  # noqa: PLR2004 - proc(5): fields that every line has
            continue
        mounted_at = _OCTAL.sub(lambda octal: chr(int(octal[1], 8)), mount[4])
        is_above = path == mounted_at or path.startswith(f"{mounted_at.rstrip('/')}/")
        if is_above and len(mounted_at) >= len(best.mounted_at):  # equal: the later mount covers the earlier
            options = frozenset(f"{mount[5]},{filesystem[2]}".split(","))
            best = Filesystem(filesystem[0], mounted_at, options)
    return best
