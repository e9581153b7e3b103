"""Read what is appended to a log, as ``tail -F`` does."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.logs.diagnosis.log_lines import clean_lines
from jobmon_core.observe.logs.open_file import RegularFile, Unreadable, regular_file

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_BYTES = 4 * 2**20  # read by one call; the next one reads on
_MAX_UNFINISHED = 256 * 1024  # bytes of a line that is kept until it ends


class NewText(NamedTuple):
    """The lines that were completed since the last call, and the text after them."""

    lines: tuple[str, ...] = ()
    unfinished: str = ""  # e.g. a progress bar, as a terminal would finally show it


@dataclass(slots=True)
class LogFollower:
    """Reads one log on; from the start if the file is truncated or replaced."""

    path: str
    offset: int = 0  # bytes
    _inode: int | None = field(default=None, init=False)
    _unfinished: bytes = field(default=b"", init=False)

    @classmethod
    def after(cls, path: str, size: int) -> LogFollower:
        """Return a follower that begins with the line that is unfinished after ``size`` bytes."""
        start = max(0, size - _MAX_UNFINISHED)
        data = b""
        with suppress(Unreadable), regular_file(path) as file:
            data = file.read_at(start, size - start)
        return cls(path, start + data.rfind(b"\n") + 1)

    def read(self) -> NewText:
        """Return the new lines; none while the file is missing or cannot be read."""
        data = b""
        with suppress(Unreadable), regular_file(self.path) as file:
            self._check_identity(file)
            data = file.read_at(self.offset, _MAX_BYTES)
        self.offset += len(data)
        data = self._unfinished + data
        end = data.rfind(b"\n") + 1
        rest = data[end:]
        # a progress bar writes all its states in one line: only the last two are of use
        last_state = max(0, rest.rfind(b"\r", 0, -1))
        rest = rest[max(0, rest.rfind(b"\r", 0, last_state)) :]
        if len(rest) > _MAX_UNFINISHED:
            end, rest = len(data), b""
        self._unfinished = rest
        return NewText(clean_lines(data[:end]), _last_whole_state(rest))

    def rest(self) -> Iterator[NewText]:
        """Yield all that is left as lines, the unfinished one too, in pieces."""
        new, before = NewText(), -1
        while self.offset != before:
            before, new = self.offset, self.read()
            if new.lines:
                yield NewText(new.lines)
        unfinished, self._unfinished = self._unfinished, b""
        if new.unfinished:  # nothing follows it
            yield NewText(clean_lines(unfinished))

    def _check_identity(self, file: RegularFile) -> None:
        inode = os.fstat(file.descriptor).st_ino
        if file.size < self.offset or self._inode not in (None, inode):
            self.offset, self._unfinished = 0, b""
        self._inode = inode


def _last_whole_state(line: bytes) -> str:
    """Return the last state of a line; the one before, if srun has passed on only a part of the last one."""
    states = ["".join(clean_lines(state)).rstrip() for state in line.split(b"\r") if state]
    before, last = ["", "", *states][-2:]
    is_in_part = 0 < len(last) < len(before) and last[-1] != before[-1]
    return before if is_in_part else last
