"""The settings of an Apprise channel: a URL as Apprise defines it, which may hold secrets anywhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.notify.secret import fingerprint, long_enough

if TYPE_CHECKING:
    from jobmon_core.domain.config_section import Section

_URL = re.compile(r"([a-z][a-z0-9+.-]{0,40})://\S+", re.IGNORECASE)
_DISCORD = re.compile(r"https?://[\w.]*discord(?:app)?\.com/api/webhooks/", re.IGNORECASE)


class AppriseSettings(NamedTuple):
    """The settings of one Apprise channel. ``repr`` does not show the URL."""

    url: str

    @property
    def scheme(self) -> str:
        """The part before ``://``, which names the service."""
        return self.url.partition("://")[0].lower()

    @property
    def secrets(self) -> tuple[str, ...]:
        """The parts of the URL that no text may show."""
        return long_enough(*re.split(r"[/:@?&=,]+", self.url.partition("://")[2]))

    @property
    def fingerprint(self) -> str:
        """The scheme and a checksum of the URL."""
        return fingerprint(f"apprise {self.scheme}", self.url)

    def __repr__(self) -> str:
        return f"AppriseSettings({self.scheme}://...)"


def parse_channel(section: Section) -> AppriseSettings | None:
    """Read one channel; report faults to ``section``. Apprise itself checks the URL when it sends."""
    return section.secret("url", _parse, required=True)


def _parse(text: str) -> AppriseSettings:
    match = _URL.fullmatch(text)
    if match is None:
        raise ValueError("not a URL of Apprise, which looks like service://...")
    if match[1].lower() == "discord" or _DISCORD.match(text):
        raise ValueError(
            'jobmon sends to Discord itself, with its rate limits: set "type": "discord" and put the URL '
            "that Discord shows into `webhook`"
        )
    return AppriseSettings(text)
