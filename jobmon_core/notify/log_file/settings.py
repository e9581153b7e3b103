"""The settings of a log file channel: the path of the file."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from jobmon_core.domain.config_section import Section

DEFAULT_PATH = "logs/messages.jsonl"


class LogFileSettings(NamedTuple):
    """The settings of one log file channel."""

    path: str

    @property
    def fingerprint(self) -> str:
        """The path: it is no secret."""
        return f"log {self.path}"


def parse_channel(section: Section) -> LogFileSettings:
    """Read one channel; a relative path counts from the folder of the configuration."""
    return LogFileSettings(section.path("path", DEFAULT_PATH))
