"""The JSON object that a program of the user gets on its standard input."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from jobmon_core.domain.redaction import redacted, redacted_lines

if TYPE_CHECKING:
    from jobmon_core.domain.delivery.outbox import OutboxEntry

VERSION = 1


def event_json(entry: OutboxEntry) -> str:
    """Return one line of JSON about a message or a change of state; it shows no secret."""
    message = entry.message
    event: dict[str, Any] = {
        "version": VERSION,
        "event": "state" if message.changes else "message",
        "id": message.id,
        "job_id": message.ref,
        "level": message.level,
        "outcome": message.outcome,
        "title": redacted(message.title),
        "at": message.created_s,
        "repeat": entry.maybe_delivered,
    }
    if message.changes:
        event["changes"] = [
            {"job_id": each.ref, "from": each.before or None, "to": each.after} for each in message.changes
        ]
        return json.dumps(event)
    return json.dumps(
        event
        | {
            "headline": redacted(message.headline),
            "summary": redacted(message.summary),
            "cause": redacted(message.cause),
            "advice": redacted(message.advice),
            "evidence": redacted_lines(message.evidence),
            "fields": {
                field.name: redacted(field.value) if field.at_s is None else field.at_s
                for field in message.fields
            },
            "log": message.log_path,
        }
    )
