"""The table of channel types. A new type is one folder beside this file and one entry here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jobmon_core.domain.config import ChannelParser
from jobmon_core.notify.base import ChannelType
from jobmon_core.notify.discord import settings as discord_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmon_core.domain.channels import ConfiguredChannel
    from jobmon_core.notify.base import Channel, Post


def _discord(settings: discord_settings.DiscordSettings, send: Post, version: str) -> Channel:
    from jobmon_core.notify.discord.channel import DiscordChannel  # only needed to send

    return DiscordChannel(settings.webhook, send, version, settings.mentions)


CHANNEL_TYPES: Mapping[str, ChannelType[Any]] = {
    "discord": ChannelType(
        ChannelParser(discord_settings.parse_channel, discord_settings.parse_own_section), _discord
    ),
}


def parsers(types: Mapping[str, ChannelType[Any]] = CHANNEL_TYPES) -> dict[str, ChannelParser]:
    """Return how each type is read from the configuration."""
    return {kind: channel_type.parser for kind, channel_type in types.items()}


def open_channel(
    types: Mapping[str, ChannelType[Any]], channel: ConfiguredChannel, send: Post, version: str
) -> Channel:
    """Return what sends to a configured channel; ``version`` is that of jobmon."""
    return types[channel.kind].build(channel.settings, send, version)
