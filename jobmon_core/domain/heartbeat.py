"""The dead man's switch: jobmon calls a URL while it works; the service at the URL alerts when calls stop."""

from __future__ import annotations

import re
from typing import NamedTuple

from jobmon_core.domain.webhook import split_address

_MAX_WAIT_S = 600.0
# a slash may be written as in JSON (\/); everything after the host may be a secret
_ADDRESS = re.compile(r"(https?:(?:\\?/){2}[^/\\?#\s'\"]+)[/\\?#][^\s'\"]+", re.IGNORECASE)


class HeartbeatUrl(NamedTuple):
    """The URL to call. ``str`` and ``repr`` show only the host: anyone with the rest can stop the alert."""

    url: str
    host: str

    @classmethod
    def parse(cls, text: str) -> HeartbeatUrl:
        """Read an http(s) URL; the text of a ValueError does not quote it."""
        return cls(text, split_address(text, "not a URL").hostname or "")

    def __str__(self) -> str:
        """Return the host."""
        return self.host

    def __repr__(self) -> str:
        return f"HeartbeatUrl(host={self.host!r})"


def mask_addresses(text: str) -> str:
    """Return ``text`` with everything after the host of each http(s) URL hidden."""
    return _ADDRESS.sub(r"\1/[hidden]", text)


def is_due(now_s: float, last_s: float, interval_s: float, failures: int = 0) -> bool:
    """Return whether to call the URL again: ``interval_s`` after the last call, or if the clock was set back.

    A failed call delays the monitor, so each of the latest ``failures`` doubles the interval, up to 600 s.
    """
    wait_s = min(interval_s * 2.0 ** min(failures, 10), max(_MAX_WAIT_S, interval_s))
    return not 0 <= now_s - last_s < wait_s
