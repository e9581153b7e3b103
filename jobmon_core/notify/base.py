"""The interface of a channel, and the description of a channel type."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Generic, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.domain.config import ChannelParser
    from jobmon_core.domain.delivery.card import Card
    from jobmon_core.domain.delivery.outbox import OutboxEntry, Receipt

S = TypeVar("S")


class Details(StrEnum):
    """How much of a message a channel gets."""

    FULL = "full"
    SHORT = "short"  # which job, and how it ended: no cause, no log lines, no paths


class AttemptResult(NamedTuple):
    """The result of one attempt to deliver a message, and what the user who sends a test can do about it."""

    receipt: Receipt
    advice: str = ""  # empty after a success

    @property
    def worked(self) -> bool:
        """Whether the channel accepted the message."""
        return self.receipt.is_delivered


class Channel(Protocol):
    """One destination of messages."""

    @property
    def name(self) -> str:
        """The name shown to users, without the secret."""

    def deliver(self, entry: OutboxEntry) -> AttemptResult:
        """Make one attempt to send a message; the caller must have recorded the attempt."""


class CardResult(NamedTuple):
    """The result of one attempt to post a card; without a ``message_id``, it cannot be edited."""

    receipt: Receipt
    message_id: str = ""


class CardChannel(Protocol):
    """A channel whose messages can be edited, so that one of them can show a job as it is now."""

    def post_card(self, card: Card, at_s: float) -> CardResult:
        """Make one attempt to post a card of ``at_s`` (Unix seconds), which notifies nobody."""

    def edit_card(self, message_id: str, card: Card, at_s: float) -> Receipt:
        """Make one attempt to replace the content of a posted card by that of ``at_s`` (Unix seconds)."""


class ChannelType(NamedTuple, Generic[S]):
    """One type of channel: how its settings (``S``) are read, and how a channel is built from them."""

    parser: ChannelParser
    build: Callable[[S], Channel]
    build_cards: Callable[[S], CardChannel] | None = None  # None: its messages cannot be edited
