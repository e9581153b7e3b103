"""One message for the ends of many single jobs: what a monitor offers to a digest that another one sends.

Each job has its own outbox, and many monitors share the jobs of a host, so no process has all messages; they
meet in the send queue.

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

from dataclasses import dataclass

from jobmon_core.domain.delivery.outbox import OutboxEntry, Tone

DIGEST_PACE_S = 15.0
DIGEST_TIMEOUT_S = 20.0  # of an attempt to send a digest
TAKEN_LIMIT_S = DIGEST_TIMEOUT_S + 10.0  # a request may arrive after its sender was killed
RECENT_S = 60.0  # ends sent this recently count towards ``messages.digest_from``


@dataclass(frozen=True, slots=True)
class Offer:
    """What a digest says about one message."""

    kind: str  # only messages of the same kind share a digest
    tone: Tone
    line: str


def offer_of(entry: OutboxEntry) -> Offer | None:
    """Return the offer of a message; None if it must be sent singly.

    Possible repeats and other messages never share a digest, because the mark of a repeat applies to the
    whole digest.
    """
    message = entry.message
    if not message.digestible or entry.plain:
        return None
    kind = f"{message.route} repeat" if entry.is_repeat else message.route.value
    return Offer(kind, message.tone, message.title)
