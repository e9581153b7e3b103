"""The seams of telling people: what a channel is, and how one request goes out and is answered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmon_core.domain.delivery.outbox import OutboxEntry, Receipt


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request to be posted. The URL is a secret and is in no representation."""

    url: str = field(repr=False)
    receiver: str  # who gets it, as it may be shown to people
    body: bytes  # JSON
    user_agent: str


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """The other side answered. Names of headers are in lower case; a long body is cut."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class NotSent:
    """Nothing of the message left this machine: a repeat is safe. ``why`` holds no URL."""

    why: str


@dataclass(frozen=True, slots=True)
class MaybeSent:
    """The message went out, but the answer was lost: a repeat may be a second one."""

    why: str


Answer = HttpResponse | NotSent | MaybeSent


class Post(Protocol):
    """How a request goes out; the one implementation that uses a network is ``http.post``."""

    def __call__(self, outgoing: HttpRequest, timeout_s: float) -> Answer:
        """Post a request and return what came of it; a failure is a value, never an exception."""


class Channel(Protocol):
    """One way to tell people: a payload, a verdict and a post. The first two are pure."""

    @property
    def name(self) -> str:
        """What it is called in front of people, without its secret."""

    def payload(self, entry: OutboxEntry) -> Mapping[str, object]:
        """Return the JSON object that tells what is owed, within every limit of the channel."""

    def receipt(self, answer: Answer) -> Receipt:
        """Judge what came of a post."""

    def post(self, payload: Mapping[str, object]) -> Answer:
        """Send a payload, once."""


def deliver(channel: Channel, entry: OutboxEntry) -> Receipt:
    """Make one attempt to deliver what is owed; the caller has noted before that it begins."""
    return channel.receipt(channel.post(channel.payload(entry)))
