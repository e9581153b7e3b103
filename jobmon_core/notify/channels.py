"""The table of channel types. To add a type, put its code in a folder next to this file and an entry here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from jobmon_core.domain.config import ChannelParser
from jobmon_core.notify.base import ChannelType
from jobmon_core.notify.discord import settings as discord_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def _later(module: str, name: str) -> Callable[[Any], Any]:
    """Return a function that calls ``name`` in a module of `jobmon_core.notify`, imported at the call.

    Every command that reads the configuration has this table, and few users have more than one type of
    channel.
    """

    def call(value: Any) -> Any:  # noqa: ANN401 - a section, or the settings of any type
        return getattr(import_module(f"jobmon_core.notify.{module}"), name)(value)

    return call


def _type_in(folder: str, build: str = "build") -> ChannelType[Any]:
    """Return the type in a folder: ``settings.parse_channel``, and ``build`` in its module ``channel``."""
    parser = ChannelParser(_later(f"{folder}.settings", "parse_channel"))
    return ChannelType(parser, _later(f"{folder}.channel", build))


CHANNEL_TYPES: Mapping[str, ChannelType[Any]] = {
    "discord": ChannelType(
        ChannelParser(discord_settings.parse_channel, discord_settings.parse_own_section),
        _later("discord.channel", "DiscordChannel"),
        _later("discord.channel", "DiscordCards"),
    ),
    "slack": _type_in("slack"),
    "email": _type_in("mail", "MailChannel"),
    "teams": _type_in("teams"),
    "telegram": _type_in("telegram"),
    "ntfy": _type_in("ntfy"),
    "pagerduty": _type_in("pagerduty"),
    "matrix": _type_in("matrix"),
    "webhook": _type_in("webhook"),
    "apprise": _type_in("apprise_url", "AppriseChannel"),
    "terminal": _type_in("terminal", "TerminalChannel"),
    "log": _type_in("log_file", "LogFileChannel"),
    "program": _type_in("program", "ProgramChannel"),
}


def parsers(types: Mapping[str, ChannelType[Any]] = CHANNEL_TYPES) -> dict[str, ChannelParser]:
    """Return, by the name of each type, what reads its configuration."""
    return {kind: channel_type.parser for kind, channel_type in types.items()}
