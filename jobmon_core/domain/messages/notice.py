"""A message whose text the user, or a script, wrote."""

from __future__ import annotations

from jobmon_core.domain.channels import Level, Route, Tone
from jobmon_core.domain.delivery.outbox import Message

MAX_TITLE_CHARS = 200
MAX_TEXT_CHARS = 3_500
_TONES = {
    Level.CRITICAL: Tone.FAILURE,
    Level.WARNING: Tone.ATTENTION,
    Level.INFO: Tone.SUCCESS,
    Level.PROGRESS: Tone.SUCCESS,
}
_CUT = " […]"


def notice(message_id: str, level: Level, title: str, text: str, now_s: float) -> Message:
    """Return the message for a text; without a title, its first line is the title.

    Critical ones and warnings take the route of errors, the others that of successes. What is too long is cut
    at the end, and the cut is shown.
    """
    text = text.strip()
    if not title.strip():
        title, _, text = text.partition("\n")
    return Message(
        id=message_id,
        route=Route.ERROR if level in (Level.CRITICAL, Level.WARNING) else Route.SUCCESS,
        tone=_TONES[level],
        title=_cut(" ".join(title.split()), MAX_TITLE_CHARS),
        summary=_cut(text.strip(), MAX_TEXT_CHARS),
        created_s=int(now_s),
        stated_level=level,
    )


def _cut(text: str, chars: int) -> str:
    if len(text) <= chars:
        return text
    return text[: chars - len(_CUT)] + _CUT
