"""The settings of a Slack channel: an incoming webhook."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.notify.secret import SecretUrl, fingerprint

if TYPE_CHECKING:
    from jobmon_core.domain.config_section import Section


class SlackSettings(NamedTuple):
    """The settings of one Slack channel."""

    webhook: SecretUrl

    @property
    def fingerprint(self) -> str:
        """The host and a checksum of the URL."""
        return fingerprint(f"slack {self.webhook.host}", self.webhook.url)


def parse_channel(section: Section) -> SlackSettings | None:
    """Read one channel; report faults to ``section``, and return None if there is no valid webhook."""
    webhook = section.secret("webhook", _parse, required=True)
    return SlackSettings(webhook) if webhook else None


def _parse(text: str) -> SecretUrl:
    url = SecretUrl.parse(text)
    if url.host.endswith(("discord.com", "discordapp.com")):
        raise ValueError('this is a webhook of Discord: set "type": "discord"')
    return url
