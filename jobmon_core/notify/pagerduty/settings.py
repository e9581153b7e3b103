"""The settings of a PagerDuty channel: the integration key of a service."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.notify.secret import Secret, SecretUrl, fingerprint

if TYPE_CHECKING:
    from jobmon_core.domain.config_section import Section

SERVER = "https://events.pagerduty.com"
_parse_key = Secret.matching(
    re.compile(r"[A-Za-z0-9]{32}"),
    "not an integration key: it has 32 letters and digits (service, Integrations, Events API v2)",
)


class PagerDutySettings(NamedTuple):
    """The settings of one PagerDuty channel."""

    routing_key: Secret
    server: SecretUrl = SecretUrl(SERVER)

    @property
    def fingerprint(self) -> str:
        """The host and a checksum of the key."""
        return fingerprint(f"pagerduty {self.server.host}", self.routing_key.value)


def parse_channel(section: Section) -> PagerDutySettings | None:
    """Read one channel; report faults to ``section``, and return None if there is no valid key."""
    key = section.secret("routing_key", _parse_key, required=True)
    server = section.parsed("server", SecretUrl.parse) or SecretUrl(SERVER)
    return PagerDutySettings(key, server) if key else None
