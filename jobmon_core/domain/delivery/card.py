"""What jobmon remembers of a job's card: one silent message per job that is edited as the job goes on.

A card is expendable, unlike a message of the outbox: it is posted and edited when nothing else is to be sent,
and dropped when the channel refuses it. Times are Unix seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from jobmon_core.domain.channels import Receipt, Tone
from jobmon_core.domain.delivery.outbox import Field


class CardTone(StrEnum):
    """How a card looks while nothing is wrong and nothing has ended; else it looks like a message."""

    PENDING = "pending"  # dark grey
    RUNNING = "running"  # violet


@dataclass(frozen=True, slots=True)
class Card:
    """The content of a card, without any channel's markup. Its texts may hold anything."""

    tone: Tone | CardTone
    title: str
    text: str = ""
    fields: tuple[Field, ...] = ()


class CardPhase(StrEnum):
    """The phase of a job; a change of it is shown at once."""

    NONE = ""  # no card was attempted yet
    PENDING = "pending"
    RUNNING = "running"
    OVER = "over"  # its end was reported, or it is not watched any more


@dataclass(frozen=True, slots=True)
class JobCard:
    """The card of one job."""

    message_id: str = ""  # by which the channel edits it; empty: it is not posted
    fingerprint: str = ""  # of the channel that has it
    phase: CardPhase = CardPhase.NONE  # of the job when the card was last looked at
    shown: str = ""  # a checksum of its content
    next_s: float = 0.0  # when to look at it again, if the phase does not change before
    closed: bool = False  # nothing is to be posted or edited any more
    problem: str = ""  # why it was closed early

    @property
    def is_open(self) -> bool:
        """Whether it is posted and may still be edited."""
        return bool(self.message_id) and not self.closed


@runtime_checkable
class CardChannel(Protocol):
    """A channel whose messages can be edited, so that one of them can show a job as it is now."""

    @property
    def fingerprint(self) -> str:
        """See `Channel`."""

    def post_card(self, card: Card, at_s: float) -> tuple[Receipt, str]:
        """Make one attempt to post a card of ``at_s`` (Unix seconds), which notifies nobody.

        Return its result, and the id by which the card can be edited; empty without one.
        """

    def edit_card(self, message_id: str, card: Card, at_s: float) -> Receipt:
        """Make one attempt to replace the content of a posted card by that of ``at_s`` (Unix seconds)."""
