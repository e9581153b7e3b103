"""What a channel is, and what describes a type of channel to the rest of jobmon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.domain.config import ChannelParser
    from jobmon_core.domain.delivery.outbox import OutboxEntry, Receipt

S = TypeVar("S")


class ResponseAdvice(NamedTuple):
    """The result of one attempt, and what the user can do about it (empty after a success)."""

    receipt: Receipt
    advice: str = ""


class Channel(Protocol):
    """One destination of messages."""

    @property
    def name(self) -> str:
        """The name shown to users, without the secret."""

    def deliver(self, entry: OutboxEntry) -> ResponseAdvice:
        """Make one attempt to send a message; the caller has recorded the attempt before."""


class ChannelType(NamedTuple, Generic[S]):
    """One type of channel: how its settings (``S``) are read, and how they become a sender."""

    parser: ChannelParser
    build: Callable[[S], Channel]
