"""List the files of a folder that a pattern matches, and ask how much room its disk has.

Nothing is opened. Lists are bounded: a folder may hold millions of files, and on a parallel file system
asking for the size of each takes a millisecond.
"""

from __future__ import annotations

import os
import stat
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.artifacts.model import Disk, ListedFile, Listing
from jobmon_core.observe.logs.scan_dirs import ScanBudget, is_folder

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

_MAX_ENTRIES = 5_000  # whose names are read
_MAX_FILES = 1_000  # whose sizes and times are read


def list_files(
    folder: str, patterns: Iterable[str], *, folders: bool = False, without: Container[str] = ()
) -> Listing:
    """Return the regular files whose path within ``folder`` matches one of the patterns; never raises.

    Args:
        folder: an absolute path.
        patterns: globs as of a shell, without ``**``; one that ends with ``/`` matches folders only.
        folders: whether folders count too.
        without: the absolute paths of files that do not count.

    Of several names of one file, links included, one counts. If more than 1,000 names match, the last 1,000
    in the order of names count, links only where fewer than 1,000 others match. At most 5,000 names are read.
    """
    try:
        changed_s = Path(folder).stat().st_mtime
        with os.scandir(folder):
            pass
    except (OSError, ValueError) as error:
        return Listing(folder, problem=_not_listed(error))
    budget = ScanBudget(_MAX_ENTRIES)
    matches = [
        entry
        for entry in _matching(folder, [pattern.split("/") for pattern in patterns], budget)
        if entry.path not in without
    ]
    matches.sort(key=lambda entry: (not entry.is_symlink(), entry.path))
    files: dict[tuple[int, int], ListedFile] = {}
    for entry in reversed(matches[-_MAX_FILES:]):
        if (status := status_of(entry)) and (stat.S_ISREG(status.st_mode) or folders):
            size_bytes = status.st_size if stat.S_ISREG(status.st_mode) else 0
            found = ListedFile(entry.path[len(folder) :].lstrip("/"), size_bytes, status.st_mtime)
            files.setdefault((status.st_dev, status.st_ino), found)
    is_partial = len(matches) > _MAX_FILES or budget.has_left_out
    problem = "too many other files" if is_partial and not files else ""
    return Listing(folder, tuple(files.values()), is_partial, changed_s, problem)


def disk_of(folder: str) -> Disk | None:
    """Return the room on the file system of a folder; None if it cannot be read."""
    try:
        found = os.statvfs(folder)
    except (OSError, ValueError):
        return None
    total_blocks = found.f_blocks - found.f_bfree + found.f_bavail  # some may be reserved for root
    if total_blocks <= 0:
        return None
    return Disk(found.f_bavail * found.f_frsize, total_blocks * found.f_frsize, found.f_favail, found.f_files)


def _not_listed(error: OSError | ValueError) -> str:
    """Return why a folder cannot be listed; if it is missing, a running job may still create it."""
    return "no such folder yet" if isinstance(error, FileNotFoundError) else folder_problem(error)


def folder_problem(error: OSError | ValueError) -> str:
    """Return why a folder cannot be listed."""
    if isinstance(error, FileNotFoundError):
        return "no such folder"
    if isinstance(error, NotADirectoryError):
        return "not a folder"
    reason = error.strerror if isinstance(error, OSError) else None
    return f"cannot be read: {(reason or str(error)).lower()}"


def _matching(folder: str, patterns: list[list[str]], budget: ScanBudget) -> Iterator[os.DirEntry[str]]:
    """Yield the entries in and below a folder that one of the patterns, each a list of names, matches."""
    for entry in budget.entries(folder):
        rests = [rest for name, *rest in patterns if _is_named(entry.name, name)]
        if [] in rests or ([""] in rests and is_folder(entry)):
            yield entry
        deeper = [rest for rest in rests if rest not in ([], [""])]
        if deeper and is_folder(entry):
            yield from _matching(entry.path, deeper, budget)


def _is_named(name: str, pattern: str) -> bool:
    """Whether a glob matches a name; hidden files need a pattern that begins with a dot."""
    return fnmatchcase(name, pattern) and (pattern.startswith(".") or not name.startswith("."))


def status_of(entry: os.DirEntry[str]) -> os.stat_result | None:
    """Return the status of a regular file or folder, or of that to which a link leads; None for others."""
    try:
        status = entry.stat()
    except OSError:  # removed meanwhile, or a link to nothing
        return None
    return status if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode) else None
