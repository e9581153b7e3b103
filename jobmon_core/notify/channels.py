"""The table of channel types. To add a type, put its code in a folder next to this file and an entry here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jobmon_core.domain.config import ChannelParser
from jobmon_core.notify.base import ChannelType
from jobmon_core.notify.discord import settings as discord_settings
from jobmon_core.notify.program import settings as program_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmon_core.notify.base import CardChannel, Channel


def _build_discord(settings: discord_settings.DiscordSettings) -> Channel:
    from jobmon_core.notify.discord.channel import DiscordChannel  # only needed to send

    return DiscordChannel(settings)


def _build_discord_cards(settings: discord_settings.DiscordSettings) -> CardChannel:
    from jobmon_core.notify.discord.cards import DiscordCards  # only needed to send

    return DiscordCards(settings.webhook)


def _build_program(settings: program_settings.ProgramSettings) -> Channel:
    from jobmon_core.notify.program.channel import ProgramChannel  # only needed to send

    return ProgramChannel(settings)


CHANNEL_TYPES: Mapping[str, ChannelType[Any]] = {
    "discord": ChannelType(
        ChannelParser(discord_settings.parse_channel, discord_settings.parse_own_section),
        _build_discord,
        _build_discord_cards,
    ),
    "program": ChannelType(ChannelParser(program_settings.parse_channel), _build_program),
}


def parsers(types: Mapping[str, ChannelType[Any]] = CHANNEL_TYPES) -> dict[str, ChannelParser]:
    """Return, by the name of each type, what reads its configuration."""
    return {kind: channel_type.parser for kind, channel_type in types.items()}
