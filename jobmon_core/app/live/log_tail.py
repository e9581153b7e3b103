"""The last lines of a log that grows; after the first look, only what was appended is read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.app.jobs.output import OutputText, begin_following

if TYPE_CHECKING:
    from jobmon_core.observe.logs.follow import LogFollower

LINES = 500
_MAX_BYTES = 256 * 1024  # read of the log at first


class LogTail:
    """The last `LINES` lines of one log."""

    def __init__(self, path: str) -> None:
        """Follow the log ``path``, which may not exist yet."""
        self.path = path
        self._text = OutputText(path)
        self._follower: LogFollower | None = None

    def read(self) -> OutputText:
        """Return the last lines; the text says what is wrong if there are none."""
        if self._follower is None or (self._text.problem and not self._text.lines):
            self._text, self._follower = begin_following(self.path, LINES, _MAX_BYTES)
        new = self._follower.read()
        lines = (*self._text.lines, *new.lines)[-LINES:]
        self._text = self._text._replace(lines=lines, unfinished=new.unfinished)
        return self._text
