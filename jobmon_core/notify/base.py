"""What a channel is, and the HTTP request and response that channels share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jobmon_core.domain.config import ChannelParser
    from jobmon_core.domain.delivery.outbox import OutboxEntry, Receipt

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One POST request. The URL is a secret, so ``repr`` leaves it out."""

    url: str = field(repr=False)
    receiver: str  # the destination without its secret, for errors
    body: bytes  # JSON
    user_agent: str


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """An HTTP response. Header names are in lower case; a long body is truncated."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class NotSent:
    """No part of the body was sent, so a repeat is safe. ``why`` contains no URL."""

    why: str


@dataclass(frozen=True, slots=True)
class MaybeSent:
    """The body was sent but no response arrived, so a repeat may be a duplicate. ``why`` contains no URL."""

    why: str


Answer = HttpResponse | NotSent | MaybeSent


class Post(Protocol):
    """Sends a request; ``http.post`` is the one implementation that uses the network."""

    def __call__(self, request: HttpRequest, timeout_s: float, /) -> Answer:
        """Send a request and return its result; a failure is a value, never an exception."""


@dataclass(frozen=True, slots=True)
class ResponseAdvice:
    """The result of one attempt, and what the user can do about it (empty after a success)."""

    receipt: Receipt
    advice: str = ""


class Channel(Protocol):
    """One destination of messages. ``payload`` and ``interpret`` are pure."""

    @property
    def name(self) -> str:
        """The name shown to users, without the secret."""

    def payload(self, entry: OutboxEntry) -> Mapping[str, object]:
        """Return the message as a JSON object within the channel's limits."""

    def post(self, payload: Mapping[str, object]) -> Answer:
        """Send a payload once."""

    def interpret(self, answer: Answer) -> ResponseAdvice:
        """Return what the result of ``post`` means for the message and the channel."""


@dataclass(frozen=True, slots=True)
class ChannelType(Generic[S]):
    """One type of channel: how its settings (``S``) are read, and how they become a sender."""

    parser: ChannelParser
    build: Callable[[S, Post, str], Channel]  # settings, how requests are sent, jobmon's version


def deliver(channel: Channel, entry: OutboxEntry) -> ResponseAdvice:
    """Make one attempt to send a message; the caller has recorded the attempt before."""
    return channel.interpret(channel.post(channel.payload(entry)))
