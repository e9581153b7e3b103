"""The settings of the terminal channel: the file through which an open `jobmon top` gets the messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from jobmon_core.domain.config_section import Section

FEED = "state/terminal.jsonl"  # in jobmon's home
REFRESH_S = 2.0  # of `jobmon top`, unless the user sets another
_MIN_REFRESH_S, _MAX_REFRESH_S = 0.5, 60


class TerminalSettings(NamedTuple):
    """The settings of the terminal channel."""

    path: str
    refresh_s: float = REFRESH_S  # seconds between two looks of `jobmon top`

    @property
    def fingerprint(self) -> str:
        """The path: it is no secret."""
        return f"terminal {self.path}"


def parse_channel(section: Section) -> TerminalSettings:
    """Read one channel."""
    refresh_s = section.number("refresh_rate", REFRESH_S, _MIN_REFRESH_S, _MAX_REFRESH_S)
    return TerminalSettings(section.beside(FEED), refresh_s)
