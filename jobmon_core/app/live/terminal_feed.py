"""The messages that the terminal channel passes to an open `jobmon top`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.app.live.changed_files import ChangedFiles
from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.notify.terminal.channel import read_lines
from jobmon_core.notify.terminal.settings import FEED, REFRESH_S, TerminalSettings
from jobmon_core.system.files import read_own

if TYPE_CHECKING:
    from pathlib import Path

    from jobmon_core.context import Context
    from jobmon_core.domain.channels import Level

_SHOWN_S = 900.0
_MAX_BYTES = 262_144


class LiveMessage(NamedTuple):
    """The newest message."""

    id: str
    created_s: int  # Unix seconds
    level: Level
    text: str  # its title


class TerminalFeed:
    """Reads the messages of a home again after each change."""

    def __init__(self, ctx: Context) -> None:
        """Read nothing yet."""
        self._path = ctx.home.root / FEED
        self._files = ChangedFiles(_read)

    def newest(self, now_s: float) -> LiveMessage | None:
        """Return the newest message, unless it is older than a quarter of an hour."""
        (message,) = self._files.contents([self._path])
        return message if message and now_s - message.created_s <= _SHOWN_S else None


def refresh_s(ctx: Context) -> float:
    """Return the seconds between two looks of `jobmon top`, as configured for the terminal channel."""
    try:
        channels = ctx.configuration().channels
    except ConfigInvalid:
        return REFRESH_S  # other commands report the faults
    settings = (channel.settings for channel in channels)
    return next((each.refresh_s for each in settings if isinstance(each, TerminalSettings)), REFRESH_S)


def _read(path: Path) -> LiveMessage | None:
    try:
        lines = read_lines(read_own(path, _MAX_BYTES))
    except OSError:
        return None  # there is no terminal channel, or no message yet
    return LiveMessage(*lines[-1]) if lines else None
