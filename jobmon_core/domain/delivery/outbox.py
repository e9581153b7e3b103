"""What is told to whom: messages, and what became of each attempt to deliver one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar

from jobmon_core.domain.channels import Route


class Tone(StrEnum):
    """How a message is to look: its colour and its mark."""

    SUCCESS = "success"  # green
    FAILURE = "failure"  # red
    CANCELLED = "cancelled"  # grey
    ATTENTION = "attention"  # amber: nothing ended, but somebody should look
    RESOLVED = "relief"  # blue: what was called attention to is over


@dataclass(frozen=True, slots=True)
class Field:
    """One named fact of a message, e.g. ``Exit code`` / ``1 (general error)``; plain text, no markup.

    A time is given as ``at_s`` (Unix seconds) with an empty ``value``: the channel shows it in the
    reader's own time zone.
    """

    name: str
    value: str = ""
    at_s: int | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """What to tell, free of any channel's markup; every text may hold anything a log or a user can."""

    JSON_KEYS: ClassVar[dict[str, str]] = {"fields": "facts", "created_s": "made_s"}

    id: str
    route: Route
    tone: Tone
    title: str
    summary: str = ""
    fields: tuple[Field, ...] = ()
    cause: str = ""
    evidence: tuple[str, ...] = ()  # the lines that prove the cause, oldest first
    advice: str = ""
    log_path: str = ""
    created_s: int = 0  # when it was made, Unix seconds


class DeliveryOutcome(StrEnum):
    """What an attempt to deliver a message came to."""

    DELIVERED = "delivered"
    TRY_AGAIN = "try again"
    MAYBE_DELIVERED = "maybe delivered"  # sent, but the answer was lost: a repeat is possible
    REFUSED_BODY = "refused body"  # this message as it is will never be taken; a plainer one may
    CHANNEL_DEAD = "channel dead"  # nothing sent to this webhook will ever arrive


@dataclass(frozen=True, slots=True)
class Receipt:
    """The verdict on one attempt, why, and how long to wait before the next (seconds)."""

    outcome: DeliveryOutcome
    why: str = ""
    retry_after_s: float | None = None
    for_all: bool = False  # nothing sent there now would fare better: it was not for this message


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """A message that is owed until it is delivered or given up.

    ``attempt_since_s`` is written before an attempt and removed after it: where a restarted monitor
    finds it, the attempt was cut off and may have succeeded, and the next one is marked a possible repeat.
    """

    JSON_KEYS: ClassVar[dict[str, str]] = {"unconfirmed_attempts": "doubts"}

    message: Message
    attempts: int = 0
    next_try_s: float = 0.0
    attempt_since_s: float | None = None
    maybe_delivered: bool = False
    unconfirmed_attempts: int = 0  # attempts that were sent, and whose answer was lost
    plain: bool = False  # send the minimal safe form: the full one was refused
    delivered_s: float | None = None
    given_up: str = ""  # why; empty while there is hope
    channel_was_dead: bool = False  # given up because nothing arrives there
    channel: str = ""  # a mark of the webhook that was tried last; gives nothing of it away

    @property
    def is_open(self) -> bool:
        """Whether this message has still to be sent."""
        return self.delivered_s is None and not self.given_up


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long to wait after the n-th failed attempt: doubling, with a ceiling (seconds)."""

    first_s: float = 2.0
    most_s: float = 300.0

    def wait_s(self, attempts: int) -> float:
        """Return the wait after ``attempts`` failed attempts (at least 1)."""
        return min(self.most_s, self.first_s * 2.0 ** min(attempts - 1, 16))


def mark_attempt(entry: OutboxEntry, now_s: float) -> OutboxEntry:
    """Note that an attempt begins, so that one that is cut off can be told from one that never was."""
    cut_off = entry.attempt_since_s is not None
    return replace(
        entry,
        attempts=entry.attempts + 1,
        attempt_since_s=now_s,
        maybe_delivered=entry.maybe_delivered or cut_off,
    )


_UNDER_WAY_S = 10.0  # how long what was sent may take to arrive, though its sender is gone


def unconfirmed_until_s(entry: OutboxEntry, now_s: float) -> float | None:
    """Return until when an attempt that was cut off may still arrive; None where none can.

    A repeat before that could arrive first: the second one would bear no mark, and overtake what followed.
    """
    if entry.attempt_since_s is None:
        return None
    until_s = entry.attempt_since_s + _UNDER_WAY_S
    return until_s if entry.attempt_since_s <= now_s < until_s else None


_DEFAULT_RETRY = RetryPolicy()


def apply_receipt(
    entry: OutboxEntry, receipt: Receipt, now_s: float, policy: RetryPolicy = _DEFAULT_RETRY
) -> OutboxEntry:
    """Apply the ``receipt`` of the attempt that just ended."""
    ended = replace(entry, attempt_since_s=None)
    wait_s = max(receipt.retry_after_s or 0.0, policy.wait_s(entry.attempts))
    match receipt.outcome:
        case DeliveryOutcome.DELIVERED:
            return replace(ended, delivered_s=now_s)
        case DeliveryOutcome.TRY_AGAIN:
            return replace(ended, next_try_s=now_s + (receipt.retry_after_s or wait_s))
        case DeliveryOutcome.MAYBE_DELIVERED:
            return _doubted(ended, receipt, now_s)
        case DeliveryOutcome.REFUSED_BODY if not entry.plain:
            return replace(ended, next_try_s=now_s, plain=True)
        case DeliveryOutcome.REFUSED_BODY | DeliveryOutcome.CHANNEL_DEAD:
            dead = receipt.outcome is DeliveryOutcome.CHANNEL_DEAD
            return replace(ended, given_up=receipt.why, channel_was_dead=dead)


# Each repeat may be one too many, and none may be one too few: few of them, ever further apart.
_DOUBT_WAITS_S = (10.0, 60.0, 600.0, 3600.0, 21_600.0)


def _doubted(entry: OutboxEntry, receipt: Receipt, now_s: float) -> OutboxEntry:
    """Try again after an attempt that may have succeeded, until it has been doubted too often."""
    doubted = replace(entry, maybe_delivered=True, unconfirmed_attempts=entry.unconfirmed_attempts + 1)
    if entry.unconfirmed_attempts >= len(_DOUBT_WAITS_S):
        times = doubted.unconfirmed_attempts
        why = f"sent {times} times without an answer ({receipt.why}): it has probably arrived"
        return replace(doubted, given_up=why)
    return replace(doubted, next_try_s=now_s + _DOUBT_WAITS_S[entry.unconfirmed_attempts])


def in_order(outbox: tuple[OutboxEntry, ...]) -> tuple[OutboxEntry, ...]:
    """Return the open messages of an outbox, oldest first: no later one may overtake an earlier one."""
    return tuple(entry for entry in outbox if entry.is_open)
