"""Messages that each report several events: ends within a minute, or messages that were held back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from jobmon_core.domain.channels import Tone
from jobmon_core.domain.delivery.outbox import Message
from jobmon_core.domain.delivery.send_queue import Entry
from jobmon_core.domain.redaction import redacted

_MAX_CHARS = 2000  # of all lines: about a screen
_MAX_LINE_CHARS = 200
_COMMAND = "jobmon status"  # shows those that do not fit
_WORDS = {  # the worst first
    Tone.FAILURE: "failed",
    Tone.ATTENTION: "to check",
    Tone.CANCELLED: "cancelled",
    Tone.SUCCESS: "completed",
    Tone.RESOLVED: "resolved",
}
_PHRASES = {Tone.FAILURE: "failed", Tone.CANCELLED: "were cancelled", Tone.SUCCESS: "completed"}


def digest_message(message: Message, others: Sequence[Entry]) -> Message:
    """Return one message that replaces ``message``, the end of a job, and the queued ``others``.

    It has the worst tone, and looks as old as the oldest, so that a delay is visible.
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
        evidence=_listed(text for _, text in worst_first),
        advice="" if set(tones) == {Tone.SUCCESS} else "`jobmon show JOB` explains how one of them ended.",
        created_s=min((message.created_s, *(entry.created_s for entry in others))),
    )


def _title(tones: Counter[Tone]) -> str:
    total, tone = tones.total(), next(iter(tones))
    if len(tones) == 1 and tone in _PHRASES:
        return f"{total} jobs {_PHRASES[tone]}"
    counts = ", ".join(f"{tones[tone]} {word}" for tone, word in _WORDS.items() if tones[tone])
    return f"{total} jobs ended: {counts}"


def held_back_message(first: Message, why: str, others: Sequence[tuple[Tone, str]]) -> Message:
    """Return the message that replaces ``first``, with its id and time, and lists the ``others``, too."""
    held = [(first.tone, first.title), *others]
    return Message(
        id=first.id,
        route=first.route,
        tone=min((tone for tone, _ in held), key=list(_WORDS).index),
        title=f"{len(held)} messages were held back ({why}): {first.title}, and {len(others)} more",
        headline=f"{len(held)} messages were held back",
        evidence=_listed(title for _, title in held),
        advice="`jobmon show JOB` shows more about one of these jobs.",
        created_s=first.created_s,
        stated_level=min(
            (first.level, *(tone.usual_level for tone, _ in others)), key=lambda level: level.rank
        ),
    )


def _listed(texts: Iterable[str]) -> tuple[str, ...]:
    """Return a line for each text, as many as fit, then how many more there are."""
    lines = [_line(text) for text in texts]
    shown: list[str] = []
    room = _MAX_CHARS
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            return (*shown, f"and {len(lines) - len(shown)} more: {_COMMAND}")
        shown.append(line)
    return tuple(shown)


def _line(text: str) -> str:
    line = " ".join(redacted(text).split())  # secrets are hidden first: half of one would not be recognised
    if len(line) <= _MAX_LINE_CHARS:
        return line
    return f"{line[: _MAX_LINE_CHARS - 1]}…"
