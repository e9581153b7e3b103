"""The room on a disk; a module of its own, since an agent loads it and nothing else about artifacts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Disk:
    """The room on a file system, as `df` counts it."""

    free_bytes: int = 0  # for this user
    total_bytes: int = 0  # used and free
    free_inodes: int = 0  # so many files can still be created
    total_inodes: int = 0  # 0: the file system has no such limit
    path: str = ""  # a folder on it, if it is one of several

    @classmethod
    def upgraded(cls, data: dict[str, Any]) -> dict[str, Any]:
        """Return the object with its present keys: agents of earlier versions had shorter ones."""
        former = {"free": "free_bytes", "total": "total_bytes", "inodes": "total_inodes"}
        return {former.get(key, key): value for key, value in data.items()}
