"""List files: those of a folder that a pattern matches, or all below it; and ask how much room its disk has.

Only a file whose content is compared is opened. Lists are bounded: a folder may hold millions of files, and
on a parallel file system asking for the size of each takes a millisecond.
"""

from __future__ import annotations

import os
import stat
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.artifacts.disk import Disk
from jobmon_core.domain.artifacts.model import ListedFile, Listing
from jobmon_core.observe.logs.open_file import regular_file
from jobmon_core.observe.logs.scan_dirs import ScanBudget, is_folder
from jobmon_core.system.files import usable_bytes

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator


_MAX_ENTRIES = 5_000  # whose names are read
_MAX_FILES = 1_000  # whose sizes and times are read; as many again of those within folders that count
_LEVELS = 3  # of such a folder that are looked at


def list_files(
    folder: str, patterns: Iterable[str], *, folders: bool = False, without: Container[str] = ()
) -> Listing:
    """Return the regular files whose path within ``folder`` matches one of the patterns; never raises.

    The patterns are globs as of a shell, without ``**``; one that ends with ``/`` matches folders only. With
    ``folders``, these count too, with the time of the last write to a file in them. Of several names of one
    file, links included, one counts. If more than 1,000 names match, the last 1,000 in the order of names
    count, links only where fewer than 1,000 others match. At most 5,000 names are read.
    """
    try:
        changed_s = Path(folder).stat().st_mtime
        with os.scandir(folder):
            pass
    except (OSError, ValueError) as error:
        is_missing = isinstance(error, FileNotFoundError)  # a running job may still create it
        return Listing(folder, problem="no such folder yet" if is_missing else folder_problem(error))
    budget = ScanBudget(_MAX_ENTRIES)
    matches = [
        entry
        for entry in _matching(folder, [pattern.split("/") for pattern in patterns], budget)
        if entry.path not in without
    ]
    matches.sort(key=lambda entry: (not entry.is_symlink(), entry.path))
    files: dict[tuple[int, int], ListedFile] = {}
    inner = ScanBudget(_MAX_FILES)
    for entry in reversed(matches[-_MAX_FILES:]):
        if (status := status_of(entry)) and (stat.S_ISREG(status.st_mode) or folders):
            size_bytes, modified_s = 0, status.st_mtime
            if stat.S_ISREG(status.st_mode):
                size_bytes = status.st_size
            else:  # its own time is that of the last file that was added or removed
                modified_s = max(modified_s, _last_write_s(entry.path, inner))
            name = entry.path[len(folder) :].lstrip("/")
            found = ListedFile(name, size_bytes, modified_s, status.st_uid)
            files.setdefault((status.st_dev, status.st_ino), found)
    is_partial = len(matches) > _MAX_FILES or budget.has_left_out
    problem = "too many other files" if is_partial and not files else ""
    return Listing(folder, tuple(files.values()), is_partial, changed_s, problem)


def _last_write_s(folder: str, budget: ScanBudget) -> float:
    statuses = filter(None, map(status_of, budget.walk(folder, _LEVELS)))
    return max((status.st_mtime for status in statuses), default=0.0)


def disk_of(folder: str) -> Disk | None:
    """Return the room on the file system of a folder; None if it cannot be read."""
    try:
        found = os.statvfs(folder)
    except (OSError, ValueError):
        return None
    total_bytes = usable_bytes(found)
    if total_bytes <= 0:
        return None
    return Disk(found.f_bavail * found.f_frsize, total_bytes, found.f_favail, found.f_files)


def folder_problem(error: OSError | ValueError) -> str:
    """Return why a folder cannot be listed."""
    if isinstance(error, FileNotFoundError):
        return "no such folder"
    if isinstance(error, NotADirectoryError):
        return "not a folder"
    return f"cannot be read: {system_reason(error)}"


def system_reason(error: OSError | ValueError) -> str:
    """Return what the system says about an error, in lower case."""
    reason = error.strerror if isinstance(error, OSError) else None
    return (reason or str(error)).lower()


def _matching(folder: str, patterns: list[list[str]], budget: ScanBudget) -> Iterator[os.DirEntry[str]]:
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
    if stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
        return status
    return None


_MAX_TREE_ENTRIES = 1_000_000
_PIECE = 2**20  # bytes


def list_tree(folder: str, *, max_entries: int = _MAX_TREE_ENTRIES) -> Listing:
    """Return all files below a folder; of a path that is a file, this file, under its name. Never raises.

    A link to a file counts as the file; links to folders are not followed.
    """
    try:
        status = os.stat(folder)  # noqa: PTH116 - the user's path, unchanged
    except (OSError, ValueError) as error:
        return Listing(folder, problem=_problem(folder, error))
    if stat.S_ISREG(status.st_mode):
        name = os.path.basename(folder)  # noqa: PTH119 - as above
        return Listing(folder, (ListedFile(name, status.st_size, status.st_mtime),))
    left = max_entries
    waiting, files, problems = [folder], list[ListedFile](), list[str]()
    while waiting and left > 0:
        for entry in _entries(waiting.pop(), problems):
            left -= 1
            if left < 0:
                break
            if is_folder(entry):
                waiting.append(entry.path)
            elif (found := status_of(entry)) and stat.S_ISREG(found.st_mode):
                name = entry.path[len(folder) :].lstrip("/")
                files.append(ListedFile(name, found.st_size, found.st_mtime))
    is_partial = left < 0 or bool(waiting)
    return Listing(folder, tuple(files), is_partial, problem=next(iter(problems), ""))


def _entries(folder: str, problems: list[str]) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except (OSError, ValueError) as error:
        problems.append(_problem(folder, error))


def _problem(folder: str, error: OSError | ValueError) -> str:
    return f"{folder} cannot be read: {system_reason(error)}"


def sha256_of(path: str) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal."""
    import hashlib

    digest, at = hashlib.sha256(), 0
    with regular_file(path) as file:
        while piece := file.read_at(at, _PIECE):
            digest.update(piece)
            at += len(piece)
    return digest.hexdigest()
