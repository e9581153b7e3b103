"""The dead-man's switch: an address that is called while all is well, and whose silence is the alarm."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon_core.domain.webhook import split_address

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jobmon_core.domain.tracking.model import WatchedJob

_LONGEST_WAIT_S = 600.0
# a slash may stand as in JSON (\/); what follows the host may be a secret
_ADDRESS = re.compile(r"(https?:(?:\\?/){2}[^/\\?#\s'\"]+)[/\\?#][^\s'\"]+", re.IGNORECASE)


@dataclass(frozen=True, slots=True, repr=False)
class HeartbeatUrl:
    """An http(s) address that ``str`` and ``repr`` do not show: whoever holds it can silence the alarm."""

    url: str = field(repr=False)
    host: str

    @classmethod
    def parse(cls, text: str) -> HeartbeatUrl:
        """Read an address.

        Raises:
            ValueError: it is none; the message repeats nothing of it.
        """
        return cls(text, split_address(text, "no address").hostname or "")

    def __str__(self) -> str:
        """Return the host."""
        return self.host

    def __repr__(self) -> str:
        """Return ``str`` in the form of a constructor."""
        return f"HeartbeatUrl({self})"


def mask_addresses(text: str) -> str:
    """Return ``text`` with all that follows the host of any web address hidden."""
    return _ADDRESS.sub(r"\1/[hidden]", text)


def heard_s(jobs: Iterable[WatchedJob]) -> float | None:
    """Return when the scheduler last answered about these jobs (Unix seconds).

    None where it does not for any that is still followed: who can't see a part must not look well.
    """
    live = [job for job in jobs if not job.closed]
    if any(job.stale_since_s is not None for job in live):
        return None
    return max((job.answered_s for job in live if job.answered_s is not None), default=None)


def is_due(now_s: float, last_s: float, every_s: float) -> bool:
    """Tell whether the address is to be called again; a clock that was set back makes it so."""
    return not 0 <= now_s - last_s < every_s


def wait_after(failures: int, every_s: float) -> float:
    """Return how long to wait after so many failed calls in a row: each one holds the watch up a little."""
    return min(every_s * 2.0 ** min(failures, 10), max(_LONGEST_WAIT_S, every_s))
