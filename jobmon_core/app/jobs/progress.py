"""Use case: read the progress of a program from its logs, without a job and without Slurm."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon_core.observe.progress.match import FormatMatcher
from jobmon_core.observe.progress.reader import ProgressReader, read_progress

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from jobmon_core.domain.progress.log.reader_state import ReaderState
    from jobmon_core.domain.progress.model import Progress

STDIN = "-"
_PIECE = 2**20  # bytes of standard input read at once


@dataclass(frozen=True, slots=True)
class ProgressReport:
    """The progress that logs show."""

    progress: Progress | None
    updated_s: float | None = None  # when the newest of the logs was modified, in Unix seconds
    unread: tuple[str, ...] = ()  # why files could not be read
    logs: tuple[str, ...] = ()


@dataclass(slots=True)
class LogProgress:
    """The logs of one program, read as they grow."""

    paths: tuple[str, ...]
    _state: ReaderState | None = field(default=None, init=False)

    def read(self, *, ended: bool = False) -> ProgressReport:
        """Read on. ``ended`` takes the last line as complete, even if it does not end with a newline."""
        self._state = read_progress(self.paths, self._state, ended=ended)
        unread = tuple(f"{each.path} {each.problem}" for each in self._state.files if each.problem)
        return ProgressReport(self._state.progress, self._modified_s(), unread, self.paths)

    def _modified_s(self) -> float | None:
        times = []
        for path in self.paths:
            with suppress(OSError, ValueError):
                times.append(os.stat(path).st_mtime)  # noqa: PTH116 - the user's path, unchanged
        return max(times, default=None)


def progress_of_stream(stream: BinaryIO, now_s: float) -> ProgressReport:
    """Read a stream to its end."""
    reader = ProgressReader(FormatMatcher.with_patterns({}))
    while piece := stream.read(_PIECE):
        reader.feed(piece)
    reader.feed(b"\n")
    return ProgressReport(reader.progress, now_s, logs=(STDIN,))


def follow_stream(stream: BinaryIO) -> Iterator[ProgressReport]:
    """Yield the progress after each piece of a stream, and once more at its end."""
    reader = ProgressReader(FormatMatcher.with_patterns({}))
    read = getattr(stream, "read1", stream.read)
    while piece := read(_PIECE):
        reader.feed(piece)
        yield ProgressReport(reader.progress, logs=(STDIN,))
    reader.feed(b"\n")
    yield ProgressReport(reader.progress, logs=(STDIN,))
