"""Job ids of backends whose jobs have no number: 1, 2, 3 ..., each the name of a file or directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def reserve_id(root: Path, create: Callable[[Path], None]) -> Path:
    """Create the path of the next free id in ``root``; concurrent callers get different ones.

    ``create`` makes it, and raises FileExistsError if the id is taken. Other errors of it pass through.
    """
    job_id = max((int(entry.name) for entry in root.iterdir() if entry.name.isdecimal()), default=0) + 1
    while True:
        path = root / str(job_id)
        try:
            create(path)
        except FileExistsError:
            job_id += 1
        else:
            return path
