"""The message about messages that were held back."""

from __future__ import annotations

from collections.abc import Sequence

from jobmon_core.domain.delivery.outbox import Message, Tone
from jobmon_core.domain.messages.digests.listing import listed

_FROM_WORST = (Tone.FAILURE, Tone.ATTENTION, Tone.CANCELLED, Tone.SUCCESS, Tone.RESOLVED)
_COMMAND = "jobmon status"


def held_back_message(first: Message, why: str, others: Sequence[tuple[Tone, str]]) -> Message:
    """Return the message that replaces ``first`` and lists the titles of the ``others``, too.

    ``why`` is e.g. ``muted``. The new message keeps the id and the time of ``first``.
    """
    held = [(first.tone, first.title), *others]
    return Message(
        id=first.id,
        route=first.route,
        tone=min((tone for tone, _ in held), key=_FROM_WORST.index),
        title=f"{len(held)} messages were held back ({why}): {first.title}, and {len(others)} more",
        headline=f"{len(held)} messages were held back",
        evidence=listed((title for _, title in held), _COMMAND),
        advice="`jobmon show JOB` shows more about one of these jobs.",
        created_s=first.created_s,
        stated_level=min(
            (first.level, *(tone.usual_level for tone, _ in others)), key=lambda level: level.rank
        ),
    )
