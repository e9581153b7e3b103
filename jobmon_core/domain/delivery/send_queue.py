"""The queue in which the monitors of one host send to one channel: the oldest message goes first.

After an attempt with the result `TRY_AGAIN`, the channel is closed for a while, unless this message alone has
failed for an hour. When it opens again, the oldest message is tried, and the others follow at a pace that the
channel accepts.

A digest is one message for the ends of many single jobs. Each job has its own outbox, and many monitors share
the jobs of a host, so no process has all messages; they meet in this queue.

1. The first ends are sent singly. A message that must wait for its turn is offered: its monitor saves that in
   the outbox entry (``offered_s``), then puts a line about the job into the queue.
2. A message whose turn comes takes all offers of its kind along, if at least ``messages.digest_from`` ends
   are waiting or were sent in the last minute. Its monitor marks these offers as taken before the attempt,
   and adds the receipt to them after it (or frees them if the attempt must be repeated). Each other monitor
   finds the receipt in the queue and applies it to its own outbox entry.
3. An offer that is taken but has no receipt after `TAKEN_LIMIT_S` was interrupted, since its sender died; an
   offer that is missing may have been taken. Both are sent again as possible repeats. An offer that is still
   there has certainly not been sent.
4. Once `digest_from` ends were sent in a minute, the channel pauses for `DIGEST_PACE_S` after each attempt to
   send an end, so that the next ones gather. While the channel accepts messages, an offer waits for such a
   pause and about as long again for its turn; an interrupted digest adds `TAKEN_LIMIT_S`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple

from jobmon_core.domain.channels import DeliveryOutcome, Receipt, Tone
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry, apply_receipt, lose_track, mark_attempt

DIGEST_PACE_S = 15.0
DIGEST_TIMEOUT_S = 20.0  # of an attempt to send a digest
TAKEN_LIMIT_S = DIGEST_TIMEOUT_S + 10.0  # a request may arrive after its sender was killed
RECENT_S = 60.0  # ends sent this recently count towards ``messages.digest_from``
PACE_S = 2.0  # between two messages: Discord accepts 30 a minute in a channel
RETURN_WITHIN_S = 90.0  # an entry expires this long after its turn: its monitor may have died
_MAX_WAIT_S = 2 * 86_400.0  # no real wait exceeds a day: a later time was written under a wrong clock
# if a monitor died with an open offer, the one that replaces it must see that no digest has sent it
_OFFER_KEPT_S = 2 * 86_400.0
_MAX_BLOCKING_S = 3600.0  # how long failures that may concern one message alone delay the others
_RECEIPT_RECHECK_S = 5.0
_BUSY_RECHECK_S = 10.0
_RECEIPT_KEPT_S = 3600.0  # for monitors that die before they save it, and are replaced


@dataclass(frozen=True, slots=True)
class Entry:
    """One message in the queue; times are Unix seconds."""

    JSON_KEYS: ClassVar[dict[str, str]] = {"created_s": "made_s"}

    created_s: int  # when the message was created
    until_s: float  # when the entry expires unless its monitor returns
    trouble_since_s: float | None = None  # since when the message fails for a reason that may be its own
    offer: Offer | None = None  # to digests of other monitors
    taken_by: str = ""  # the message whose monitor sends the digest
    sending_since_s: float = 0.0  # when that attempt began
    receipt: Receipt | None = None  # of that attempt

    @property
    def kept_s(self) -> float:
        """For how long it stays in the queue after it has expired."""
        if self.offer and not self.taken_by:
            return _OFFER_KEPT_S
        return 0.0

    def blocks(self, now_s: float) -> bool:
        """Whether younger messages must wait for this one."""
        failing = self.trouble_since_s is not None and now_s - self.trouble_since_s >= _MAX_BLOCKING_S
        return now_s < self.until_s and not failing and not self.taken_by


@dataclass(frozen=True, slots=True)
class SendQueue:
    """The messages that wait for one channel, by id, and until when the channel is closed."""

    JSON_KEYS: ClassVar[dict[str, str]] = {"entries": "places"}

    shut_until_s: float = 0.0
    entries: dict[str, Entry] = field(default_factory=dict)
    ends_s: dict[str, tuple[float, ...]] = field(default_factory=dict)  # by route: when recent ends were sent

    def current(self, now_s: float) -> SendQueue:
        """Return the queue without what is out of date."""
        shut_until_s = 0.0
        if self.shut_until_s < now_s + _MAX_WAIT_S:
            shut_until_s = self.shut_until_s
        entries = {
            message_id: entry
            for message_id, entry in self.entries.items()
            if now_s - entry.kept_s < entry.until_s < now_s + _MAX_WAIT_S
        }
        ends_s = {
            route: tuple(end_s for end_s in ends_s if 0 <= now_s - end_s < RECENT_S)
            for route, ends_s in self.ends_s.items()
        }
        return SendQueue(shut_until_s, entries, ends_s)

    def busy_until_s(self, now_s: float) -> float | None:
        """Return until when the channel is busy with messages or closed; None if it is not."""
        queue = self.current(now_s)
        if any(entry.blocks(now_s) for entry in queue.entries.values()):
            return max(now_s + _BUSY_RECHECK_S, queue.shut_until_s)
        if queue.shut_until_s > now_s:
            return queue.shut_until_s
        return None

    def ahead_of(self, message: Message, now_s: float) -> set[str]:
        """Return the ids of the messages that go before this one."""
        rank = (message.created_s, message.id)
        return {
            message_id
            for message_id, entry in self.entries.items()
            if entry.blocks(now_s) and (entry.created_s, message_id) < rank
        }

    def companions(self, outgoing: OutboxEntry, now_s: float, digest_from: int) -> dict[str, Entry]:
        """Return the offers to be sent in one digest with a message; empty if it is sent singly."""
        own = offer_of(outgoing)
        if own is None or not digest_from:
            return {}
        offered = {
            message_id: entry
            for message_id, entry in self.entries.items()
            if entry.offer and entry.offer.kind == own.kind and not entry.taken_by and now_s < entry.until_s
        }
        offered.pop(outgoing.message.id, None)
        ends = 1 + len(offered) + len(self.ends_s.get(outgoing.message.route, ()))
        if ends >= digest_from:
            return offered
        return {}


class Turn(NamedTuple):
    """What `request_turn` answers."""

    entry: OutboxEntry  # with the receipt of a digest that included it, if there is one
    again_s: float | None = None  # when to ask again (Unix seconds); None to send it now
    may_offer: bool = False  # whether to offer it to digests meanwhile


def request_turn(
    queue: SendQueue, outgoing: OutboxEntry, now_s: float, digest_from: int = 0
) -> tuple[SendQueue, Turn]:
    """Return the queue with the message in it, and whether to send the message now."""
    queue = queue.current(now_s)
    message = outgoing.message
    own = queue.entries.get(message.id, Entry(message.created_s, 0.0))
    if outgoing.offered_s is not None and own.taken_by and (turn := _turn_in_digest(own, outgoing, now_s)):
        return queue, turn
    if own.taken_by or not own.offer:
        outgoing = lose_track(outgoing)
    ahead = queue.ahead_of(message, now_s)
    wait_s = PACE_S * len(ahead)
    if companions := queue.companions(outgoing, now_s, digest_from):
        # whichever of them comes first takes the others along
        wait_s = min(wait_s, DIGEST_PACE_S)
        ahead -= companions.keys()
    if not ahead and queue.shut_until_s <= now_s:
        own = Entry(own.created_s, now_s + RETURN_WITHIN_S, own.trouble_since_s)
        queue = replace(queue, entries={**queue.entries, message.id: own})
        return queue, Turn(replace(outgoing, offered_s=None))
    turn_s = max(now_s, queue.shut_until_s) + wait_s
    is_offered = outgoing.offered_s is not None
    offer = own.offer if is_offered else None
    own = Entry(own.created_s, turn_s + RETURN_WITHIN_S, own.trouble_since_s, offer)
    queue = replace(queue, entries={**queue.entries, message.id: own})
    may_offer = digest_from > 0 and not is_offered and offer_of(outgoing) is not None
    return queue, Turn(outgoing, turn_s, may_offer)


def _turn_in_digest(own: Entry, outgoing: OutboxEntry, now_s: float) -> Turn | None:
    """Return what a digest that took a message means for it; None if the digest was interrupted."""
    if own.receipt:
        attempt = mark_attempt(outgoing, own.sending_since_s)
        outgoing = apply_receipt(attempt, own.receipt, own.sending_since_s)
        return Turn(outgoing, outgoing.next_try_s)  # the receipt stays, since it is not saved yet
    limit_s = own.sending_since_s + TAKEN_LIMIT_S
    if own.sending_since_s <= now_s < limit_s:
        return Turn(outgoing, min(now_s + _RECEIPT_RECHECK_S, limit_s))
    return None


def add_offer(queue: SendQueue, outgoing: OutboxEntry) -> SendQueue:
    """Return the queue with the offer of a waiting message, whose ``offered_s`` is saved."""
    own = queue.entries.get(outgoing.message.id)
    if own is None:
        return queue
    return replace(
        queue, entries={**queue.entries, outgoing.message.id: replace(own, offer=offer_of(outgoing))}
    )


def withdraw_offer(queue: SendQueue, outgoing: OutboxEntry) -> tuple[SendQueue, OutboxEntry]:
    """Return the queue without an offered message, and the message without its offer.

    It is a possible repeat unless the queue shows that no digest took it.
    """
    entries = dict(queue.entries)
    own = entries.pop(outgoing.message.id, None)
    if own is None or own.taken_by or not own.offer:
        return queue, lose_track(outgoing)
    return replace(queue, entries=entries), replace(outgoing, offered_s=None)


def take_offers(
    queue: SendQueue, outgoing: OutboxEntry, began_s: float, digest_from: int
) -> tuple[SendQueue, tuple[Entry, ...]]:
    """Mark the offers that a message takes along in its digest; return the queue and them, oldest first."""
    queue = queue.current(began_s)
    taken = queue.companions(outgoing, began_s, digest_from)
    until_s = began_s + TAKEN_LIMIT_S + RETURN_WITHIN_S
    entries = dict(queue.entries)
    for message_id, entry in taken.items():
        entries[message_id] = replace(
            entry, taken_by=outgoing.message.id, sending_since_s=began_s, until_s=max(entry.until_s, until_s)
        )
    oldest_first = sorted(taken, key=lambda message_id: (taken[message_id].created_s, message_id))
    return replace(queue, entries=entries), tuple(taken[message_id] for message_id in oldest_first)


def record_result(
    queue: SendQueue,
    outgoing: OutboxEntry,
    receipt: Receipt,
    now_s: float,
    *,
    began_s: float = 0.0,
    digest_from: int = 0,
) -> SendQueue:
    """Return the queue after the attempt that began at ``began_s``; ``outgoing`` is the entry after it."""
    own = queue.entries.get(outgoing.message.id, Entry(outgoing.message.created_s, 0.0))
    taken = {
        message_id: entry
        for message_id, entry in queue.entries.items()
        if entry.taken_by == outgoing.message.id and entry.sending_since_s == began_s and not entry.receipt
    }
    if receipt.outcome is not DeliveryOutcome.TRY_AGAIN:
        until_s = now_s + _RECEIPT_KEPT_S
        for message_id, entry in taken.items():
            taken[message_id] = replace(entry, offer=None, receipt=receipt, until_s=until_s)
        queue = replace(queue, entries={**queue.entries, **taken})
        queue = _count_ends(queue, outgoing, 1 + len(taken), now_s, digest_from)
        # it is done, or its repeat delays no other message
        entries = {key: entry for key, entry in queue.entries.items() if key != outgoing.message.id}
        return replace(queue, entries=entries)
    trouble_since_s = None if receipt.for_all else own.trouble_since_s or now_s
    own = replace(own, until_s=outgoing.next_try_s + RETURN_WITHIN_S, trouble_since_s=trouble_since_s)
    shut_until_s = queue.shut_until_s
    if own.blocks(now_s):
        shut_until_s = outgoing.next_try_s
    released = {message_id: replace(entry, taken_by="") for message_id, entry in taken.items()}
    entries = {**queue.entries, **released, outgoing.message.id: own}
    return replace(queue, shut_until_s=shut_until_s, entries=entries)


def _count_ends(
    queue: SendQueue, outgoing: OutboxEntry, ends: int, now_s: float, digest_from: int
) -> SendQueue:
    if not outgoing.message.digestible or not digest_from:
        return queue
    route = outgoing.message.route.value
    recent = (*queue.ends_s.get(route, ()), *(now_s for _ in range(ends)))
    shut_until_s = queue.shut_until_s
    if len(recent) >= digest_from:
        shut_until_s = max(shut_until_s, now_s + DIGEST_PACE_S)
    return replace(queue, shut_until_s=shut_until_s, ends_s={**queue.ends_s, route: recent})


@dataclass(frozen=True, slots=True)
class Offer:
    """What a digest says about one message."""

    kind: str  # only messages of the same kind share a digest
    tone: Tone
    line: str


def offer_of(entry: OutboxEntry) -> Offer | None:
    """Return the offer of a message; None if it must be sent singly.

    Possible repeats and other messages never share a digest, because the mark of a repeat applies to all of
    it.
    """
    message = entry.message
    if not message.digestible or entry.plain:
        return None
    kind = f"{message.route} repeat" if entry.is_repeat else message.route.value
    return Offer(kind, message.tone, message.title)
