"""The routes of messages, and the channels that the user configured for them."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, Protocol


class Route(StrEnum):
    """What a message reports: a successful job, or anything else. A channel lists the routes it gets."""

    SUCCESS = "success"
    ERROR = "error"


class ChannelSettings(Protocol):
    """The settings of one channel, as the parser of its type returns them. Immutable."""

    @property
    def fingerprint(self) -> str:
        """A text that identifies the destination without revealing a secret; safe for state files."""


class ConfiguredChannel(NamedTuple):
    """One channel of the configuration."""

    name: str
    kind: str  # the key of its type in the table of channel types
    routes: tuple[Route, ...]
    settings: ChannelSettings
