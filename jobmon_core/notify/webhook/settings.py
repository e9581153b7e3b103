"""The settings of a webhook channel: a URL of the user's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.notify.secret import Secret, SecretUrl, fingerprint

if TYPE_CHECKING:
    from jobmon_core.domain.config_section import Section


class WebhookSettings(NamedTuple):
    """The settings of one webhook channel."""

    url: SecretUrl
    authorization: Secret | None = None  # the value of the header Authorization

    @property
    def fingerprint(self) -> str:
        """The host and a checksum of the URL and the header."""
        header = self.authorization.value if self.authorization else ""
        return fingerprint(f"webhook {self.url.host}", self.url.url, header)


def parse_channel(section: Section) -> WebhookSettings | None:
    """Read one channel; report faults to ``section``, and return None if there is no valid URL."""
    url = section.secret("url", SecretUrl.parse, required=True)
    authorization = section.secret("authorization", _parse_header)
    return WebhookSettings(url, authorization) if url else None


def _parse_header(text: str) -> Secret:
    if not text.isascii() or not text.isprintable():
        raise ValueError("not the value of a header: it has characters outside printable ASCII")
    return Secret(text)
