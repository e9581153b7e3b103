"""List all files below a folder, and compare the content of two files."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from jobmon_core.domain.artifacts.model import ListedFile, Listing
from jobmon_core.observe.artifacts.listing import status_of, system_reason
from jobmon_core.observe.logs.open_file import regular_file
from jobmon_core.observe.logs.scan_dirs import is_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_ENTRIES = 1_000_000
_PIECE = 2**20  # bytes


def list_tree(folder: str, *, max_entries: int = _MAX_ENTRIES) -> Listing:
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
    """Return the SHA-256 of a file's content, in hexadecimal.

    Raises:
        Unreadable: it is not a regular file or may not be read.
    """
    import hashlib

    digest, at = hashlib.sha256(), 0
    with regular_file(path) as file:
        while piece := file.read_at(at, _PIECE):
            digest.update(piece)
            at += len(piece)
    return digest.hexdigest()
