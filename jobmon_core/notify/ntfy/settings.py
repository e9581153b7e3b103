"""The settings of an ntfy channel: a topic, whose name is a password unless the server asks for a token."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.notify.base import Details
from jobmon_core.notify.secret import Secret, SecretUrl, fingerprint, parse_token

if TYPE_CHECKING:
    from jobmon_core.domain.config_section import Section

SERVER = "https://ntfy.sh"
_parse_topic = Secret.matching(
    re.compile(r"[A-Za-z0-9_-]{1,64}"),
    "not a topic: it has 1 to 64 letters, digits, - or _ (without the server)",
)


class NtfySettings(NamedTuple):
    """The settings of one ntfy channel. ``details`` are short unless the user says otherwise."""

    topic: Secret
    server: SecretUrl = SecretUrl(SERVER)
    token: Secret | None = None
    details: Details = Details.SHORT

    @property
    def fingerprint(self) -> str:
        """The host and a checksum of the topic and the token."""
        token = self.token.value if self.token else ""
        return fingerprint(f"ntfy {self.server.host}", self.topic.value, token)


def parse_channel(section: Section) -> NtfySettings | None:
    """Read one channel; report faults to ``section``, and return None if there is no valid topic."""
    topic = section.secret("topic", _parse_topic, required=True)
    server = section.parsed("server", SecretUrl.parse) or SecretUrl(SERVER)
    token = section.secret("token", parse_token)
    details = Details(section.choice("details", tuple(Details), Details.SHORT))
    return NtfySettings(topic, server, token, details) if topic else None
