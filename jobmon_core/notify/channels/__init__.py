"""The table of channel types. A new type is a module beside this file and a line in the table."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from jobmon_core.domain.delivery.routing import ChannelType
from jobmon_core.notify.discord import channel as discord

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmon_core.domain.config_section import Section
    from jobmon_core.domain.delivery.routing import Channel


def _type_in(module: str, *, shares_digests: bool = True, notifies: bool = True) -> ChannelType:
    """Return the type whose ``parse`` is in a module beside this file, imported at the call: few need it."""

    def parse(section: Section) -> Channel | None:
        channel: Channel | None = import_module(f"{__name__}.{module}").parse(section)
        return channel

    return ChannelType(parse, shares_digests=shares_digests, notifies=notifies)


CHANNEL_TYPES: Mapping[str, ChannelType] = {
    "discord": ChannelType(discord.parse, discord.parse_own_section),
    "slack": _type_in("slack"),
    "email": _type_in("mail"),
    "teams": _type_in("teams"),
    "telegram": _type_in("telegram"),
    "ntfy": _type_in("ntfy"),
    "pagerduty": _type_in("pagerduty", shares_digests=False),
    "matrix": _type_in("matrix"),
    "webhook": _type_in("webhook"),
    "apprise": _type_in("apprise_url"),
    "terminal": _type_in("terminal", notifies=False),
    "log": _type_in("log_file", notifies=False),
    "program": _type_in("program", notifies=False),
}
