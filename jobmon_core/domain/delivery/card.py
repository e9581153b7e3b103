"""What jobmon remembers of a job's card: one silent message per job that is edited as the job goes on.

A card is expendable: it is posted and edited when nothing else is to be sent, and dropped when the channel
refuses it. All monitors of a host share the budget of a channel: Discord accepts about 30 messages a minute,
and fewer edits of messages older than an hour. At most ten cards, each looked at once a minute at the
earliest, leave most of that to messages. Times are Unix seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
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
    """A channel whose messages can be edited."""

    @property
    def fingerprint(self) -> str:
        """See `Channel`."""

    def post_card(self, card: Card, at_s: float) -> tuple[Receipt, str]:
        """Make one attempt to post a card, which notifies nobody; return the id by which it can be edited."""

    def edit_card(self, message_id: str, card: Card, at_s: float) -> Receipt:
        """Make one attempt to replace the content of a posted card."""


MAX_CARDS = 10  # of jobs that have not ended
_MAX_PENDING = 5  # a pending job gets a card only while fewer cards than this exist
_SPACING_S = 5.0  # between two requests
_AFTER_FAILURE_S = 60.0  # no card is posted or edited for at least so long: each attempt delays its monitor
_KEPT_S = 3600.0  # a card that is not edited for so long loses its place: its monitor may have died
_MAX_WAIT_S = 2 * 86_400.0  # a later time was written under a wrong clock


@dataclass(frozen=True, slots=True)
class CardBudget:
    """The cards in one channel."""

    next_s: float = 0.0  # no card is posted or edited before
    kept_until_s: dict[str, float] = field(default_factory=dict)  # by state id: how long it keeps its place

    def current(self, now_s: float) -> CardBudget:
        """Return the budget without what is out of date."""
        kept = {
            state_id: until_s
            for state_id, until_s in self.kept_until_s.items()
            if now_s < until_s < now_s + _MAX_WAIT_S
        }
        return CardBudget(self.next_s if self.next_s < now_s + _MAX_WAIT_S else 0.0, kept)


def request_card_turn(
    budget: CardBudget, state_id: str, now_s: float, *, is_posted: bool, is_pending: bool
) -> tuple[CardBudget, tuple[float | None, bool]]:
    """Return the budget with the card of the job in it, and whether to post or edit it now.

    That is when to ask again (None: now), and whether other jobs have all the cards that this one could get.
    """
    budget = budget.current(now_s)
    others = len(budget.kept_until_s.keys() - {state_id})
    if not is_posted and others >= (_MAX_PENDING if is_pending else MAX_CARDS):
        return budget, (now_s + _KEPT_S, True)
    if now_s < budget.next_s:
        return budget, (budget.next_s, False)
    kept = {**budget.kept_until_s, state_id: now_s + _KEPT_S}
    return CardBudget(now_s + _SPACING_S, kept), (None, False)


def record_card_result(
    budget: CardBudget, state_id: str, receipt: Receipt, now_s: float, *, is_closed: bool
) -> CardBudget:
    """Return the budget after an attempt; ``is_closed``: no other follows for this job."""
    budget = budget.current(now_s)
    if is_closed:
        kept = {key: until_s for key, until_s in budget.kept_until_s.items() if key != state_id}
        budget = replace(budget, kept_until_s=kept)
    if receipt.is_delivered:
        return budget
    wait_s = max(_AFTER_FAILURE_S, receipt.retry_after_s or 0.0)
    return replace(budget, next_s=max(budget.next_s, now_s + wait_s))
