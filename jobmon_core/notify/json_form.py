"""A message as a JSON object for programs, in the form that the webhook channel and the log file use.

The keys stay as they are; later versions may add some.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jobmon_core.notify.clean_text import clean, one_line
from jobmon_core.notify.plain_text import fit

if TYPE_CHECKING:
    from jobmon_core.domain.delivery.outbox import OutboxEntry

VERSION = 1
_MAX_TEXT = 4000  # characters of each text
_MAX_LINES = 200
_MAX_FIELDS = 100


def json_form(entry: OutboxEntry) -> dict[str, Any]:
    """Return the message; texts are cleaned, shortened and without secrets, times are Unix seconds."""
    message = entry.message
    return {
        "version": VERSION,
        "id": message.id,
        "created_at": message.created_s,
        "level": message.level.value,
        "kind": message.tone.value,
        "route": message.route.value,
        "title": fit(one_line(message.title), _MAX_TEXT),
        "headline": fit(one_line(message.headline), _MAX_TEXT),
        "summary": _text(message.summary),
        "cause": _text(message.cause),
        "log_lines": [
            fit(one_line(line), _MAX_TEXT)
            for line in clean("\n".join(message.evidence)).split("\n")[-_MAX_LINES:]
            if line
        ],
        "advice": _text(message.advice),
        "also_seen": _text(message.also_seen),
        "log_path": fit(one_line(message.log_path), _MAX_TEXT),
        "fields": [
            {
                "name": fit(one_line(field.name), _MAX_TEXT),
                "value": fit(one_line(field.value), _MAX_TEXT),
                "at": field.at_s,
            }
            for field in message.fields[:_MAX_FIELDS]
        ],
        "results": [{"name": one_line(quote.name), "text": _text(quote.text)} for quote in message.results],
        "possible_repeat": entry.maybe_delivered,
    }


def _text(text: str) -> str:
    return fit(clean(text).strip(), _MAX_TEXT)
