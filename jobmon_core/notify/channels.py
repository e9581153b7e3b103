"""What a channel is, and the table of channel types: a new type is a folder beside this file and an entry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from jobmon_core.domain.config import ChannelParser
from jobmon_core.notify.discord import settings as discord_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jobmon_core.domain.delivery.outbox import OutboxEntry, Receipt

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class ResponseAdvice:
    """The result of one attempt, and what the user can do about it (empty after a success)."""

    receipt: Receipt
    advice: str = ""


class Channel(Protocol):
    """One destination of messages."""

    @property
    def name(self) -> str:
        """The name shown to users, without the secret."""

    def deliver(self, entry: OutboxEntry) -> ResponseAdvice:
        """Make one attempt to send a message; the caller has recorded the attempt before."""


@dataclass(frozen=True, slots=True)
class ChannelType(Generic[S]):
    """One type of channel: how its settings (``S``) are read, and how they become a sender."""

    parser: ChannelParser
    build: Callable[[S], Channel]


def _discord(settings: discord_settings.DiscordSettings) -> Channel:
    from jobmon_core.notify.discord.channel import DiscordChannel  # only needed to send

    return DiscordChannel(settings)


CHANNEL_TYPES: Mapping[str, ChannelType[Any]] = {
    "discord": ChannelType(
        ChannelParser(discord_settings.parse_channel, discord_settings.parse_own_section), _discord
    ),
}


def parsers(types: Mapping[str, ChannelType[Any]] = CHANNEL_TYPES) -> dict[str, ChannelParser]:
    """Return how each type is read from the configuration."""
    return {kind: channel_type.parser for kind, channel_type in types.items()}
