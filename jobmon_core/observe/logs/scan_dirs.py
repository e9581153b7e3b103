"""Look into folders of any size, for no longer than a budget allows."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_IN_A_FOLDER = 5_000
_MOST_IN_ALL = 20_000


@dataclass(frozen=True, slots=True)
class Found:
    """A regular file with text in it."""

    path: str
    modified_ns: int  # since the epoch
    identity: tuple[int, int]  # device and inode: one file, whatever its names


class ScanBudget:
    """How many more entries of folders may be looked at."""

    def __init__(self) -> None:
        """Begin with all that one search may spend."""
        self._left = _MOST_IN_ALL

    def entries(self, folder: str) -> list[os.DirEntry[str]]:
        """Return the entries of a folder, by name; fewer where it has too many, none if it can't be read.

        Names that can't be shown are left out.
        """
        try:
            with os.scandir(folder) as scan:
                looked_at = list(islice(scan, min(self._left, _MOST_IN_A_FOLDER)))
        except (OSError, ValueError):
            return []
        self._left -= len(looked_at)
        shown = (entry for entry in looked_at if entry.name.isprintable())
        return sorted(shown, key=lambda entry: entry.name)


def own_file(path: str) -> Found | None:
    """Return what is known of ``path`` if it is a regular file of this user with text in it.

    A link is none: what it leads to may be anything.
    """
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(status.st_mode) or not status.st_size or status.st_uid != os.geteuid():
        return None
    return Found(path, status.st_mtime_ns, (status.st_dev, status.st_ino))


def own_files(folder: str, wanted: Callable[[str], bool], budget: ScanBudget) -> list[Found]:
    """Return the files of this user in a folder whose names are ``wanted``."""
    paths = [entry.path for entry in budget.entries(folder) if wanted(entry.name)]
    return [found for path in paths if (found := own_file(path))]


def tree(folder: str, wanted: Callable[[str], bool], budget: ScanBudget, levels: int) -> list[Found]:
    """Return what ``own_files`` finds in a folder and in those within it, ``levels`` folders in all."""
    found: list[Found] = []
    level = [folder]
    for _ in range(levels):
        entries = [entry for name in level for entry in budget.entries(name)]
        found += [file for entry in entries if wanted(entry.name) and (file := own_file(entry.path))]
        level = [entry.path for entry in entries if is_folder(entry)]
    return found


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Tell whether an entry is a folder itself, no link to one."""
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False
