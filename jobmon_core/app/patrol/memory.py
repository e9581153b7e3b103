"""Use case: read and save what the last patrols saw, for each reader: a channel, the log or the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.patrol.model import Memories, Memory
from jobmon_core.store.patrol.memory_file import MemoryFile

if TYPE_CHECKING:
    from jobmon_core.context import Context

_NONE = Memory()


class ReadMemory(NamedTuple):
    """What the last patrol of one reader saw."""

    memory: Memory = _NONE
    problem: str = ""  # why it is not known, one line; empty if it is, or if there was no patrol


def read_memory(ctx: Context, reader: str) -> ReadMemory:
    """Return the memory of a reader; if the file cannot be read, say so: `save_memory` then replaces it."""
    file = MemoryFile(ctx.home.patrol_file)
    try:
        return ReadMemory(file.read_to_change().readers.get(reader, _NONE))
    except StorageFailed:
        problem = f"the memory of the last patrol cannot be read and starts empty: {file.path}"
        return ReadMemory(problem=problem)


def save_memory(ctx: Context, reader: str, memory: Memory) -> None:
    """Replace the memory of a reader.

    Two patrols at once may lose what one of them saw: the next one says it again.

    Raises:
        StorageFailed: the memory cannot be written; the old one stays.
    """
    file = MemoryFile(ctx.home.patrol_file)
    file.write(Memories({**file.read().readers, reader: memory}))
