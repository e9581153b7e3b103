"""The records of backends that keep jobs in files: one JSON object each, under the ids 1, 2, 3 ..."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeVar

from jobmon_core.domain.errors import StateUnreadable
from jobmon_core.system.files import PRIVATE_FOLDER, write_atomically
from jobmon_core.system.json_codec import from_json, to_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


T = TypeVar("T")

_BACKENDS = ("local", "ray", "ssh", "kubernetes")


def reserve_id(root: Path, create: Callable[[Path], None]) -> Path:
    """Create the path of the next free id in ``root``; concurrent callers get different ones.

    The folders of other backends count, too: in one home, an id shall name one job. ``create`` raises
    FileExistsError if the id is taken.
    """
    folders = [root, *(root.parent / name for name in _BACKENDS)]
    entries = (entry.name for folder in folders if folder.is_dir() for entry in folder.iterdir())
    job_id = max((int(name) for name in entries if name.isdecimal()), default=0) + 1
    while True:
        path = root / str(job_id)
        try:
            create(path)
        except FileExistsError:
            job_id += 1
        else:
            return path


def reserve_folder(root: Path, is_taken: Callable[[int], bool] = lambda _number: False) -> Path:
    """Create the private folder of the next free id."""

    def create(path: Path) -> None:
        if is_taken(int(path.name)):
            raise FileExistsError
        path.mkdir(PRIVATE_FOLDER)

    return reserve_id(root, create)


def read_record(kind: type[T], path: Path) -> T:
    """Read the record in a file."""
    try:
        return from_json(kind, json.loads(path.read_text(encoding="utf-8", errors="replace")))
    except (ValueError, RecursionError) as error:
        raise StateUnreadable(f"{path} is damaged: {error}") from error


def write_record(path: Path, record: object, *, durable: bool = True) -> None:
    """Replace the record; if ``durable``, it survives a power cut."""
    write_atomically(path, json.dumps(to_json(record)).encode(), durable=durable)
