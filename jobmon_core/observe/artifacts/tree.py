"""List all files below a folder, and compare the content of two files."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon_core.domain.artifacts.completeness import StoredFile
from jobmon_core.observe.logs.open_file import regular_file
from jobmon_core.observe.logs.scan_dirs import is_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_ENTRIES = 1_000_000
_PIECE = 2**20  # bytes


@dataclass(slots=True)
class Tree:
    """The regular files below a folder, by their path within it."""

    files: dict[str, StoredFile] = field(default_factory=dict)
    problem: str = ""  # why a folder could not be listed
    is_partial: bool = False  # there are more entries than `list_tree` may read


def list_tree(folder: str, *, max_entries: int = _MAX_ENTRIES) -> Tree:
    """Return all files below a folder; of a path that is a file, this file, under its name. Never raises.

    A link to a file counts as the file; links to folders are not followed.
    """
    tree = Tree()
    try:
        status = os.stat(folder)  # noqa: PTH116 - the user's path, unchanged
    except (OSError, ValueError) as error:
        tree.problem = _problem(folder, error)
        return tree
    if stat.S_ISREG(status.st_mode):
        tree.files[os.path.basename(folder)] = StoredFile(status.st_size, status.st_mtime)  # noqa: PTH119 - as above
        return tree
    left = max_entries
    waiting = [folder]
    while waiting and left > 0:
        for entry in _entries(waiting.pop(), tree):
            left -= 1
            if left < 0:
                break
            if is_folder(entry):
                waiting.append(entry.path)
            elif (found := _status(entry)) and stat.S_ISREG(found.st_mode):
                name = entry.path[len(folder) :].lstrip("/")
                tree.files[name] = StoredFile(found.st_size, found.st_mtime)
    tree.is_partial = left < 0 or bool(waiting)
    return tree


def _entries(folder: str, tree: Tree) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except (OSError, ValueError) as error:
        tree.problem = tree.problem or _problem(folder, error)


def _status(entry: os.DirEntry[str]) -> os.stat_result | None:
    try:
        return entry.stat()
    except OSError:  # removed meanwhile, or a link to nothing
        return None


def _problem(folder: str, error: OSError | ValueError) -> str:
    reason = error.strerror if isinstance(error, OSError) else None
    return f"{folder} cannot be read: {(reason or str(error)).lower()}"


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
