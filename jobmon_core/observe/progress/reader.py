"""Read the progress of a job from its logs as they grow.

The next process goes on from a small state. The pieces in which a log is read do not change the result,
unless one is too large to be read in full.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.domain.logs.progress.log.fold import FileState, LogState, ReaderState, fold
from jobmon_core.domain.logs.progress.log.judge import judge, merged
from jobmon_core.observe.logs.open_file import Unreadable, regular_file
from jobmon_core.observe.progress.match import FormatMatcher
from jobmon_core.observe.progress.updates import end_of_block, split_updates, thinned

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from jobmon_core.domain.logs.progress.model import Progress
    from jobmon_core.observe.logs.open_file import RegularFile

MAX_BYTES = 8 * 2**20  # of a file in one call; of more new bytes, the last 4 MiB are read
_NUMBER_BYTES = 32  # no number is longer
_LAST_NUMBER = re.compile(rb"[\d.,eE+-]{1,%d}\Z" % _NUMBER_BYTES)
# read at the start of a file larger than the limit, at the first call: totals are announced there
_HEAD_BYTES = 2**20


class ProgressReader:
    """Reads the progress from the bytes of one log."""

    def __init__(self, matcher: FormatMatcher, state: LogState | None = None, offset: int = 0) -> None:
        """Go on from ``state``, that after the first ``offset`` bytes."""
        self._matcher = matcher
        self.state = state or LogState()  # after the whole blocks so far
        self.offset = offset  # likewise, in the log
        self._unread = b""  # the block that is not complete

    @property
    def shown(self) -> LogState:
        """The state after all that was read."""
        # the last number may not be complete
        unread, end = self._unread[:-_NUMBER_BYTES], self._unread[-_NUMBER_BYTES:]
        return self._after(thinned(split_updates(unread + _LAST_NUMBER.sub(b"", end))))

    @property
    def progress(self) -> Progress | None:
        """The progress that the log shows."""
        return judge(self.shown)

    def feed(self, chunk: bytes) -> None:
        """Read the next bytes of the log."""
        data = self._unread + chunk
        start, kept = 0, []
        while end := end_of_block(data, start, self.offset):
            kept += thinned(split_updates(data[start:end]))
            start = end
        self.state = self._after(kept)
        self._unread = data[start:]
        self.offset += start

    def _after(self, updates: list[bytes]) -> LogState:
        return fold(self.state, self._matcher.readings(updates, self.state.table))


def read_progress(
    paths: tuple[str, ...],
    state: ReaderState | None = None,
    user_patterns: Mapping[str, str] | None = None,
    max_bytes: int = MAX_BYTES,
    *,
    ended: bool = False,
    worker_logs: Collection[str] = (),
) -> ReaderState:
    """Read what the logs of one job say since ``state``, at most ``max_bytes`` of each file.

    As to ``worker_logs``, see `merged`. With ``ended``, the last line counts even without a newline. Of a
    file that cannot be read, the earlier state is kept, with the reason as its ``problem``.

    Raises:
        Invalid: the shipped formats cannot be read.
        ValueError: a pattern of the user is not valid.
    """
    matcher = FormatMatcher.with_patterns(user_patterns or {})
    known = {each.path: each for each in state.files} if state else {}
    files = []
    for path in paths:
        before = known.get(path, FileState(path))
        try:
            with regular_file(path) as file:
                files.append(_read_on(before, file, matcher, max_bytes, ended=ended))
        except Unreadable as error:
            files.append(replace(before, problem=str(error)))
    return ReaderState(tuple(files), merged([(each.path, each.shown) for each in files], worker_logs))


def _read_on(
    before: FileState, file: RegularFile, matcher: FormatMatcher, max_bytes: int, *, ended: bool
) -> FileState:
    """Return the state after the new bytes of a file."""
    inode = os.fstat(file.descriptor).st_ino
    if file.size < before.size or before.inode not in (None, inode):
        before = FileState(before.path)  # truncated, or another file
    elif file.size == before.size and before.inode is not None and not ended:
        return replace(before, problem="")
    log, offset = before.log, before.offset
    if file.size - offset > max_bytes:
        if offset == 0:
            head = ProgressReader(matcher)
            head.feed(file.read_at(0, min(_HEAD_BYTES, max_bytes // 2)))
            log, offset = head.state, head.offset
        offset = max(offset, file.size - max_bytes // 2)
    reader = ProgressReader(matcher, log, offset)
    data = file.read_at(offset, file.size - offset)
    reader.feed(data)
    size = offset + len(data)
    state, block_end = reader.state, reader.offset
    if ended:
        reader.feed(b"\n")
    return FileState(before.path, state, reader.shown, block_end, size, inode)
