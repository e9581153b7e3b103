"""The file that holds what the last patrols saw; a patrol replaces it as a whole."""

from __future__ import annotations

from dataclasses import dataclass

from jobmon_core.domain.patrol.model import Memories
from jobmon_core.store.json_file import JsonFile

_MAX_BYTES = 64 * 2**20  # far more than a few hundred bytes for each of ten thousand jobs


@dataclass(frozen=True, slots=True)
class MemoryFile(JsonFile[Memories]):
    """The memory of all patrols of a home, see `Home.patrol_file`."""

    kind: type[Memories] = Memories
    max_bytes: int = _MAX_BYTES
    durable: bool = False  # after a power cut, a patrol repeats what it said
