"""The settings of a Teams channel: the URL of a workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.notify.secret import SecretUrl, fingerprint

if TYPE_CHECKING:
    from jobmon_core.domain.config_section import Section


class TeamsSettings(NamedTuple):
    """The settings of one Teams channel."""

    webhook: SecretUrl

    @property
    def fingerprint(self) -> str:
        """The host and a checksum of the URL."""
        return fingerprint(f"teams {self.webhook.host}", self.webhook.url)


def parse_channel(section: Section) -> TeamsSettings | None:
    """Read one channel; report faults to ``section``, and return None if there is no valid URL."""
    webhook = section.secret("webhook", _parse, required=True)
    return TeamsSettings(webhook) if webhook else None


def _parse(text: str) -> SecretUrl:
    url = SecretUrl.parse(text)
    if url.host.endswith("webhook.office.com"):
        raise ValueError(
            "connectors of this kind are retired: in Teams, make a workflow from the template "
            '"Post to a channel when a webhook request is received", and use its URL'
        )
    return url
