"""Look at the paths that a script names. Nothing is changed; about 64 MiB of a file are read at most."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.before.checks.facts import PathFact, PathKind, Quota
from jobmon_core.observe.logs.open_file import read_regular
from jobmon_core.system.filesystem import Filesystem
from jobmon_core.system.runner import Ran

if TYPE_CHECKING:
    from jobmon_core.system.runner import Runner

# Sources: quota(1) of Linux quota tools (``-w``: one line a file system, ``-p``: each column has a value)
# and lfs-quota(1) of Lustre. Both print: file system, KiB, soft and hard limit, grace; files, soft and hard
# limit, grace. ``*`` marks what is exceeded, 0 is no limit.
_TIMEOUT_S = 5.0
_KIB = 1024
_COLUMNS = 8  # after the name of the file system
_NUMBERS = 6  # of them, without the two columns of grace
_LUSTRE = "lustre"

_MAX_ENTRIES = 20  # of a folder that are counted
_MAX_LIST_BYTES = 64 * 1024 * 1024  # of a text from which each array task takes a line
_MAX_TEXT_BYTES = 2 * 1024 * 1024
_BLOCK = 1024 * 1024


def look_at(path: str, *, counts_lines: bool = False) -> PathFact:
    """Return what is at an absolute path; never raises."""
    above = _nearest_folder(path)
    place = PathFact(path, above=above, can_write_above=_has_access(above, os.W_OK | os.X_OK))
    try:
        status = os.stat(path)  # noqa: PTH116 - pathlib drops the slash of "file/" and would find the file
    except (FileNotFoundError, NotADirectoryError):
        return _of_kind(place, PathKind.MISSING)
    except (OSError, ValueError):
        return place
    kind = _kind(status.st_mode)
    is_folder = kind is PathKind.FOLDER
    return PathFact(
        path,
        kind,
        can_read=_has_access(path, os.R_OK | (os.X_OK if is_folder else 0)),
        can_write=_has_access(path, os.W_OK | (os.X_OK if is_folder else 0)),
        can_run=_has_access(path, os.X_OK),
        size_bytes=status.st_size,
        entries=_entries(path) if is_folder else 0,
        above=above,
        can_write_above=place.can_write_above,
        lines=_lines(path) if counts_lines and kind is PathKind.FILE else None,
    )


def _of_kind(place: PathFact, kind: PathKind) -> PathFact:
    return PathFact(place.path, kind, above=place.above, can_write_above=place.can_write_above)


def _kind(mode: int) -> PathKind:
    if stat.S_ISREG(mode):
        return PathKind.FILE
    return PathKind.FOLDER if stat.S_ISDIR(mode) else PathKind.OTHER


def _has_access(path: str, mode: int) -> bool:
    with suppress(ValueError):  # a NUL in the path
        return bool(path) and os.access(path, mode)
    return False


def _nearest_folder(path: str) -> str:
    """Return the nearest folder above ``path`` that exists."""
    folder = os.path.dirname(path)  # noqa: PTH120 - as above
    while folder.strip("/"):
        if os.path.isdir(folder):  # noqa: PTH112 - as above
            return folder
        folder = os.path.dirname(folder)  # noqa: PTH120 - as above
    return folder


def _entries(folder: str) -> int:
    try:
        with os.scandir(folder) as entries:
            return sum(1 for _ in islice(entries, _MAX_ENTRIES))
    except OSError:  # it cannot be read, as `can_read` says
        return 0


def _lines(path: str) -> int | None:
    """Return the number of lines of a file; None if it cannot be read or is too large."""
    try:
        with Path(path).open("rb") as file:
            newlines = bytes_read = 0
            ends_with_newline = True
            for block in iter(lambda: file.read(_BLOCK), b""):
                newlines += block.count(b"\n")
                bytes_read += len(block)
                ends_with_newline = block.endswith(b"\n")
                if bytes_read > _MAX_LIST_BYTES:
                    return None
    except OSError:
        return None
    return newlines + (not ends_with_newline)


def read_text(path: str) -> str | None:
    """Return the first 2 MiB of a regular file as text; None if there is none or it cannot be read."""
    content = read_regular(path, _MAX_TEXT_BYTES)
    return None if content is None else content.decode(errors="replace")


def existing_folder(folder: str) -> str:
    """Return a folder, or the nearest folder above it that exists."""
    return folder if os.path.isdir(folder) else _nearest_folder(folder)  # noqa: PTH112 - as above


def quota_of(runner: Runner, folder: str, user: str) -> Quota | None:
    """Return the user's quota where a folder is; None without one, or without the tools."""
    found = Filesystem.of(Path(folder))
    if found.kind == _LUSTRE:
        command = ["lfs", "quota", "-q", "-u", user, found.mounted_at]
    else:
        command = ["quota", "-w", "-p", "-f", found.mounted_at]
    answer = runner.capture(command, _TIMEOUT_S)  # quota exits with 1 if a quota is exceeded
    return read_quota(answer.stdout) if isinstance(answer, Ran) else None


def read_quota(text: str) -> Quota | None:
    """Return the first quota in the output of either tool; None if there is none. Pure."""
    for line in text.splitlines():
        columns = [each.rstrip("*") for each in line.split()[-_COLUMNS:]]
        numbers = [each for each in (*columns[:3], *columns[4:7]) if each.isascii() and each.isdigit()]
        if len(columns) == _COLUMNS and len(numbers) == _NUMBERS:
            used, soft, hard, files, soft_files, hard_files = map(int, numbers)
            limit, files_limit = hard or soft, hard_files or soft_files
            return Quota(used * _KIB, limit * _KIB or None, files, files_limit or None)
    return None
