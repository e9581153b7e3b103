"""The files that globs name, as they are now, for a program that watches its own outputs."""

from __future__ import annotations

import glob
import os
import stat
from typing import TYPE_CHECKING

from jobmon_core.domain.artifacts.model import ListedFile
from jobmon_core.observe.artifacts.formats.check import check_file
from jobmon_core.observe.artifacts.listing import disk_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jobmon_core.domain.artifacts.model import Disk, FileCheck


def files_of(patterns: Iterable[str], *, folders: bool = False) -> dict[str, ListedFile | None]:
    """Return the regular files that globs match, by path, sorted; with ``folders`` these too, as of 0 bytes.

    A file with the very name of a pattern comes before its wildcards; a pattern without any, and without such
    a file, has None.
    """
    found: dict[str, ListedFile | None] = {}
    for pattern in patterns:
        named = _file(pattern, folders=folders)
        if named or not glob.has_magic(pattern):
            found[pattern] = named
            continue
        for path in glob.glob(pattern):  # noqa: PTH207 - Path.glob takes no absolute pattern
            if file := _file(path, folders=folders):
                found[path] = file
    return dict(sorted(found.items()))


def _file(path: str, *, folders: bool) -> ListedFile | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - a Path would drop a trailing slash
    except (OSError, ValueError):
        return None
    if stat.S_ISREG(status.st_mode):
        return ListedFile(path, status.st_size, status.st_mtime)
    if folders and stat.S_ISDIR(status.st_mode):
        return ListedFile(path, 0, status.st_mtime)
    return None


def checked(path: str, *, still_written: bool = False) -> FileCheck:
    """Return whether a file is whole; if ``still_written``, a program may be writing its end."""
    return check_file(path, still_written=still_written)


def disks_of(patterns: Iterable[str]) -> dict[str, Disk]:
    """Return the file systems of globs, by the deepest existing folder without wildcards."""
    folders = dict.fromkeys(_folder(pattern) for pattern in patterns)
    return {folder: disk for folder in folders if (disk := disk_of(folder))}


def _folder(pattern: str) -> str:
    folder = os.path.dirname(pattern)  # noqa: PTH120 - a text: a Path has no empty one
    while folder.strip("/") and (glob.has_magic(folder) or not os.path.isdir(folder)):  # noqa: PTH112 - Path.is_dir raises without permission
        folder = os.path.dirname(folder)  # noqa: PTH120 - as above
    return os.path.abspath(folder)  # noqa: PTH100 - as above: empty is the current folder
