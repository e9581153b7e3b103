"""The routes and levels of messages, and the channels that the user configured for them."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, Protocol


class Route(StrEnum):
    """Which of the two default channels a message goes to; a channel may get both routes.

    SUCCESS: completed jobs, what ``messages.also`` adds, and notices of the levels info and progress. ERROR:
    everything else, also cancelled jobs and recoveries.
    """

    SUCCESS = "success"
    ERROR = "error"


class Level(StrEnum):
    """How urgent a message is; the most urgent level comes first."""

    CRITICAL = "critical"  # a crash, no memory, no room on the disk, a failed launch: act now
    WARNING = "warning"  # e.g. a stall, a slowdown, an idle GPU, no response from the scheduler: look at it
    INFO = "info"  # e.g. started, checkpoint saved, completed
    PROGRESS = "progress"  # how far along a running job is

    @property
    def rank(self) -> int:
        """0 for the most urgent level, then 1 and so on."""
        return tuple(Level).index(self)


class ChannelSettings(Protocol):
    """The settings of one channel, as the parser of its type returns them. Immutable."""

    @property
    def fingerprint(self) -> str:
        """A text that identifies the destination without revealing a secret; safe for state files."""


class ConfiguredChannel(NamedTuple):
    """One channel of the configuration."""

    name: str
    kind: str  # the value of ``type`` in the configuration
    routes: tuple[Route, ...]  # of the key ``messages``; not the rules of the key ``routes``
    settings: ChannelSettings
