"""How far the logs of a job are read, and what they have shown: the next look goes on from there."""

from __future__ import annotations

from dataclasses import dataclass

from jobmon_core.domain.logs.progress.log.fold import LogState
from jobmon_core.domain.logs.progress.model import Progress


@dataclass(frozen=True, slots=True)
class FileState:
    """How far one log is read."""

    path: str
    log: LogState = LogState()  # after the whole blocks before the offset
    shown: LogState = LogState()  # after all that was read
    offset: int = 0  # bytes; the block after it is read again
    size: int = 0  # bytes, when it was read
    inode: int | None = None
    problem: str = ""  # why the file could not be read; completes a sentence that starts with the path


@dataclass(frozen=True, slots=True)
class ReaderState:
    """What is known of the logs of a job."""

    files: tuple[FileState, ...] = ()
    progress: Progress | None = None
