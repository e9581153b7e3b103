"""Posts each message as JSON to a URL of the user's own; the keys are those of `json_form`.

Sent without Apprise, whose JSON has only a title and a text. The header ``Idempotency-Key`` is the same for
every repeat of a message, so that the receiver can drop repeats.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from jobmon_core.notify.http_channel import TEST_AGAIN, HttpChannel, JsonRequest, Service
from jobmon_core.notify.json_form import json_form
from jobmon_core.notify.secret import long_enough

if TYPE_CHECKING:
    from jobmon_core.domain.delivery.outbox import OutboxEntry
    from jobmon_core.notify.webhook.settings import WebhookSettings

WEBHOOK = Service("webhook", f"Check the URL and, if the receiver asks for it, `authorization`. {TEST_AGAIN}")


def build(settings: WebhookSettings) -> HttpChannel:
    """Return the channel of a URL."""
    header = settings.authorization.value if settings.authorization else ""
    secrets = long_enough(*settings.url.secrets, header, *header.split())
    return HttpChannel(
        f"webhook ({settings.url})",
        settings.url.host,
        WEBHOOK,
        lambda entry: _request(settings, entry),
        secrets,
    )


def _request(settings: WebhookSettings, entry: OutboxEntry) -> JsonRequest:
    headers = {"Idempotency-Key": idempotency_key(entry)}
    if settings.authorization:
        headers["Authorization"] = settings.authorization.value
    return JsonRequest(settings.url.url, json_form(entry), headers)


def idempotency_key(entry: OutboxEntry) -> str:
    """Return what identifies the message to this channel, the same for every repeat."""
    text = f"{entry.message.id}|{entry.message.created_s}|{entry.channel}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]
