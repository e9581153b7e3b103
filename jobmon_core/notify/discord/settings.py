"""The settings of a Discord channel: the webhook, and the users and roles that a failure mentions."""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.channels import ConfiguredChannel, Route
from jobmon_core.domain.webhook import Webhook

if TYPE_CHECKING:
    from jobmon_core.domain.config_section import Section

WEBHOOK_VARIABLES = {Route.SUCCESS: "JOBMON_SUCCESS_WEBHOOK", Route.ERROR: "JOBMON_ERROR_WEBHOOK"}
_MENTION = re.compile(r"<@(&?)(\d{1,20})>")


class Mentions(NamedTuple):
    """The users and roles that a failure mentions, by their numeric ids."""

    users: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()


class DiscordSettings(NamedTuple):
    """The settings of one Discord channel."""

    webhook: Webhook
    mentions: Mentions = Mentions()

    @property
    def fingerprint(self) -> str:
        """The redacted webhook and a checksum of its URL, because a new token changes only the checksum."""
        return f"{self.webhook} ({zlib.crc32(self.webhook.url.encode()):08x})"


def parse_channel(section: Section) -> DiscordSettings | None:
    """Read one named channel; report faults to ``section``, and return None if the webhook has one."""
    webhook = section.secret("webhook", Webhook.parse, required=True)
    mentions = _mentions(section)
    return DiscordSettings(webhook, mentions) if webhook else None


def parse_own_section(section: Section) -> tuple[ConfiguredChannel, ...]:
    """Read the ``discord`` section: one optional channel for each route, named like the route."""
    webhooks = {
        route: section.secret(f"{route}_webhook", Webhook.parse, variable=variable)
        for route, variable in WEBHOOK_VARIABLES.items()
    }
    mentions = _mentions(section)
    return tuple(
        ConfiguredChannel(route.value, "discord", (route,), DiscordSettings(webhook, mentions))
        for route, webhook in webhooks.items()
        if webhook
    )


def _mentions(section: Section) -> Mentions:
    key = "mention_on_failure"
    users: list[str] = []
    roles: list[str] = []
    for text in section.texts(key):
        match = _MENTION.fullmatch(text.strip())
        if match is None:
            section.fault(key, f"expected <@USER_ID> or <@&ROLE_ID>, found {text!r}")
        else:
            (roles if match[1] else users).append(match[2])
    return Mentions(tuple(users), tuple(roles))
