"""List folders and find files in them, up to a number of entries."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MAX_PER_FOLDER = 5_000
_MAX_TOTAL = 20_000


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A non-empty regular file."""

    path: str
    modified_ns: int  # since the epoch
    identity: tuple[int, int]  # device and inode: equal for all names of one file
    size_bytes: int


@dataclass(slots=True)
class ScanBudget:
    """The number of folder entries that one search may still read."""

    remaining: int = _MAX_TOTAL
    has_left_out: bool = False  # a folder had more entries than could be read

    def entries(self, folder: str) -> list[os.DirEntry[str]]:
        """Return the entries of a folder that have printable names, sorted by name; at most 5,000."""
        try:
            with os.scandir(folder) as scan:
                entries = list(islice(scan, min(self.remaining, _MAX_PER_FOLDER)))
                self.has_left_out |= next(scan, None) is not None
        except (OSError, ValueError):
            return []
        self.remaining -= len(entries)
        printable = (entry for entry in entries if entry.name.isprintable())
        return sorted(printable, key=lambda entry: entry.name)

    def walk(self, folder: str, levels: int) -> Iterator[os.DirEntry[str]]:
        """Yield the entries of a folder and below, without following links; 1 level is ``folder`` alone."""
        folders = [folder]
        for _ in range(levels):
            entries = [entry for name in folders for entry in self.entries(name)]
            yield from entries
            folders = [entry.path for entry in entries if is_folder(entry)]


def stat_own_file(path: str) -> FoundFile | None:
    """Return the file at ``path`` if it is a non-empty regular file of this user, not a link."""
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode) or not status.st_size or status.st_uid != os.geteuid():
        return None
    return FoundFile(path, status.st_mtime_ns, (status.st_dev, status.st_ino), status.st_size)


def find_files(
    folder: str, accepts: Callable[[str], bool], budget: ScanBudget, levels: int
) -> list[FoundFile]:
    """Return this user's files with an accepted name in ``folder`` and below; as to levels, see `walk`."""
    accepted = (entry.path for entry in budget.walk(folder, levels) if accepts(entry.name))
    return list(filter(None, map(stat_own_file, accepted)))


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a folder, and no link."""
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False
