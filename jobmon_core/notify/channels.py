"""The table of channel types. To add a type, put its code in a folder next to this file and an entry here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from jobmon_core.domain.config import ChannelParser
from jobmon_core.notify.base import ChannelType
from jobmon_core.notify.discord import settings as discord_settings
from jobmon_core.notify.program import settings as program_settings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    from jobmon_core.notify.base import CardChannel, Channel


def _build_discord(settings: discord_settings.DiscordSettings) -> Channel:
    from jobmon_core.notify.discord.channel import DiscordChannel  # only needed to send

    return DiscordChannel(settings)


def _build_discord_cards(settings: discord_settings.DiscordSettings) -> CardChannel:
    from jobmon_core.notify.discord.cards import DiscordCards  # only needed to send

    return DiscordCards(settings.webhook)


def _type_in(folder: str) -> ChannelType[Any]:
    """Return the type in a folder, by its functions ``settings.parse_channel`` and ``channel.build``.

    Both modules are imported when they are needed: every command that reads the configuration has this table,
    and few users have more than one type of channel.
    """

    def module(name: str) -> ModuleType:
        return import_module(f"jobmon_core.notify.{folder}.{name}")

    return ChannelType(
        ChannelParser(lambda section: module("settings").parse_channel(section)),
        lambda settings: module("channel").build(settings),
    )


def _build_program(settings: program_settings.ProgramSettings) -> Channel:
    from jobmon_core.notify.program.channel import ProgramChannel  # only needed to send

    return ProgramChannel(settings)


CHANNEL_TYPES: Mapping[str, ChannelType[Any]] = {
    "discord": ChannelType(
        ChannelParser(discord_settings.parse_channel, discord_settings.parse_own_section),
        _build_discord,
        _build_discord_cards,
    ),
    "slack": _type_in("slack"),
    "email": _type_in("mail"),
    "teams": _type_in("teams"),
    "telegram": _type_in("telegram"),
    "ntfy": _type_in("ntfy"),
    "pagerduty": _type_in("pagerduty"),
    "matrix": _type_in("matrix"),
    "webhook": _type_in("webhook"),
    "apprise": _type_in("apprise_url"),
    "terminal": _type_in("terminal"),
    "log": _type_in("log_file"),
    "program": ChannelType(ChannelParser(program_settings.parse_channel), _build_program),
}


def parsers(types: Mapping[str, ChannelType[Any]] = CHANNEL_TYPES) -> dict[str, ChannelParser]:
    """Return, by the name of each type, what reads its configuration."""
    return {kind: channel_type.parser for kind, channel_type in types.items()}
