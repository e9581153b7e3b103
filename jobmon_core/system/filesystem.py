"""Which file system a folder lies on, and how far a lock that is taken there reaches."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
_OCTAL = re.compile(r"\\([0-7]{3})")  # how mountinfo writes blanks and the like, proc(5)


class LockScope(StrEnum):
    """Whom a lock keeps out."""

    HOSTS = "between hosts"
    DISK = "on this host, and no other host sees this disk"
    HOST = "on this host only"
    NOWHERE = "nowhere: this file system has none"
    UNKNOWN = "on this host; whether between hosts too is not known"


@dataclass(frozen=True, slots=True)
class Filesystem:
    """What a folder lies on."""

    kind: str  # as the kernel calls it: "ext4", "nfs4"; empty where nobody knows
    mounted_at: str
    options: frozenset[str]  # of the mount, and of the file system

    @classmethod
    def of(cls, folder: Path) -> Filesystem:
        """Return what ``folder`` lies on; it need not exist."""
        try:
            return found(_MOUNTS.read_text(errors="surrogateescape"), os.path.realpath(folder))
        except OSError:
            return _NOBODY_KNOWS

    @property
    def lock_scope(self) -> LockScope:
        """How far flock(2) reaches here."""
        if self.kind in _DISKS:
            return LockScope.DISK
        otherwise, by_option = _SHARED.get(self.kind, (LockScope.UNKNOWN, {}))
        return next((reach for option, reach in by_option.items() if option in self.options), otherwise)


_NOBODY_KNOWS = Filesystem("", "/", frozenset())
_DISKS = {
    *("bcachefs", "btrfs", "exfat", "ext2", "ext3", "ext4", "f2fs", "jfs", "ntfs3", "overlay"),
    *("ramfs", "reiserfs", "tmpfs", "vfat", "xfs", "zfs"),
}
_ON_SERVER = {"nolock": LockScope.HOST, "local_lock=all": LockScope.HOST, "local_lock=flock": LockScope.HOST}
_DLM = {"localflocks": LockScope.HOST}
_SHARED: dict[str, tuple[LockScope, dict[str, LockScope]]] = {
    # since Linux 2.6.12 a lock of the whole file is asked of the server: flock(2), nfs(5)
    "nfs": (LockScope.HOSTS, _ON_SERVER),
    "nfs4": (LockScope.HOSTS, _ON_SERVER),
    # the option is part of what the administrator mounts: mount.lustre(8) lists all three
    "lustre": (LockScope.NOWHERE, {"flock": LockScope.HOSTS, "localflock": LockScope.HOST}),
    "ceph": (LockScope.HOSTS, {}),
    "gfs2": (LockScope.HOSTS, _DLM),
    "ocfs2": (LockScope.HOSTS, _DLM),
    # unless tuneUseGlobalFileLocks is set in a file that need not be readable; it is not by default
    "beegfs": (LockScope.HOST, {}),
    # sent to the server since Linux 5.5, if the server knows them: flock(2)
    "cifs": (LockScope.UNKNOWN, {"nobrl": LockScope.HOST}),
    "smb3": (LockScope.UNKNOWN, {"nobrl": LockScope.HOST}),
    "fuse.sshfs": (LockScope.HOST, {}),
}


def found(mountinfo: str, path: str) -> Filesystem:
    """Return what an absolute path without links lies on, by the text of ``/proc/self/mountinfo``."""
    best = _NOBODY_KNOWS
    for line in mountinfo.splitlines():
        fields, _, rest = line.partition(" - ")
        mount, system = fields.split(" "), rest.split(" ")
        if len(mount) < 6 or len(system) < 3:  # noqa: PLR2004 - proc(5): what every line has
            continue
        at = _OCTAL.sub(lambda octal: chr(int(octal[1], 8)), mount[4])
        # of two at the same place the later one covers the earlier
        if len(at) >= len(best.mounted_at) and _is_below(path, at):
            best = Filesystem(system[0], at, frozenset(f"{mount[5]},{system[2]}".split(",")))
    return best


def _is_below(path: str, folder: str) -> bool:
    return folder in ("/", path) or path.startswith(f"{folder}/")
