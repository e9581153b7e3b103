"""The digest of single jobs that ended within a minute: one line for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from jobmon_core.domain.delivery.outbox import Message, Tone
from jobmon_core.domain.delivery.send_queue import Entry
from jobmon_core.domain.messages.digests.listing import listed

_WORDS = {  # the worst first
    Tone.FAILURE: "failed",
    Tone.ATTENTION: "to check",
    Tone.CANCELLED: "cancelled",
    Tone.SUCCESS: "completed",
    Tone.RESOLVED: "resolved",
}
_PHRASES = {Tone.FAILURE: "failed", Tone.CANCELLED: "were cancelled", Tone.SUCCESS: "completed"}
_COMMAND = "jobmon status"


def digest_message(message: Message, others: Sequence[Entry]) -> Message:
    """Return one message that replaces ``message``, the end of a job, and the queued ``others``.

    Each of these has an offer: its line for a digest (see `jobmon_core.domain.delivery.digest`). The tone is
    the worst of all. The message looks as old as the oldest, so that a delay is visible.
    """
    offers = [entry.offer for entry in others if entry.offer]
    jobs = [(message.tone, message.title), *((offer.tone, offer.line) for offer in offers)]
    tones = Counter(tone for tone, _ in jobs)
    worst_first = sorted(jobs, key=lambda job: list(_WORDS).index(job[0]))
    return Message(
        id=f"{message.id}+{len(offers)}",
        route=message.route,
        tone=worst_first[0][0],
        title=_title(tones),
        evidence=listed((text for _, text in worst_first), _COMMAND),
        advice="" if set(tones) == {Tone.SUCCESS} else "`jobmon show JOB` explains how one of them ended.",
        created_s=min((message.created_s, *(entry.created_s for entry in others))),
    )


def _title(tones: Counter[Tone]) -> str:
    total, tone = tones.total(), next(iter(tones))
    if len(tones) == 1 and tone in _PHRASES:
        return f"{total} jobs {_PHRASES[tone]}"
    counts = ", ".join(f"{tones[tone]} {word}" for tone, word in _WORDS.items() if tones[tone])
    return f"{total} jobs ended: {counts}"
