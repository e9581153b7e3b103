"""The files that globs name, as they are now, for a program that watches its own outputs."""

from __future__ import annotations

import glob
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.artifacts.model import ListedFile
from jobmon_core.observe.artifacts.formats.check import check_file
from jobmon_core.observe.artifacts.listing import disk_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jobmon_core.domain.artifacts.file_check import FileCheck
    from jobmon_core.domain.artifacts.model import Disk


def named_files(patterns: Iterable[str], *, folders: bool = False) -> dict[str, ListedFile | None]:
    """Return the regular files that globs match, by their paths, sorted.

    A pattern without wildcards whose file does not exist is in the result, too, with None. ``folders``:
    folders count as files of 0 bytes, as a checkpoint may be one.
    """
    found: dict[str, ListedFile | None] = {}
    for pattern in patterns:
        paths = glob.glob(pattern) if glob.has_magic(pattern) else [pattern]  # noqa: PTH207 - any path
        for path in paths:
            file = _file(path, folders=folders)
            if file or not glob.has_magic(pattern):
                found[path] = file
    return dict(sorted(found.items()))


def _file(path: str, *, folders: bool) -> ListedFile | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - any path
    except (OSError, ValueError):
        return None
    if stat.S_ISREG(status.st_mode):
        return ListedFile(path, status.st_size, status.st_mtime)
    return ListedFile(path, 0, status.st_mtime) if folders and stat.S_ISDIR(status.st_mode) else None


def checked(path: str, *, still_written: bool = False) -> FileCheck:
    """Return whether a file is whole, by its format; see `check_file`."""
    return check_file(path, still_written=still_written)


def disks_of(patterns: Iterable[str]) -> dict[str, Disk]:
    """Return the file systems that the files of globs are on, by the deepest folder without wildcards."""
    folders = dict.fromkeys(_folder(pattern) for pattern in patterns)
    return {folder: disk for folder in folders if (disk := disk_of(folder))}


def _folder(pattern: str) -> str:
    """Return the deepest existing folder above a glob that contains no wildcard."""
    parents = Path(pattern).absolute().parents
    return str(next(each for each in parents if not glob.has_magic(str(each)) and each.is_dir()))
