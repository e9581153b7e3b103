"""A URL of the user's own, which gets each message as JSON; the keys are those of `json_form`.

Sent without Apprise, whose JSON has only a title and a text. The header ``Idempotency-Key`` is the same for
every repeat of a message, so that the receiver can drop repeats.
"""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING

from jobmon_core.notify.http_channel import TEST_AGAIN, HttpChannel, JsonRequest, Service
from jobmon_core.notify.json_form import json_form
from jobmon_core.notify.secret import Secret, SecretUrl, fingerprint, long_enough

if TYPE_CHECKING:
    from jobmon_core.domain.config_section import Section
    from jobmon_core.domain.delivery.outbox import OutboxEntry

WEBHOOK = Service("webhook", f"Check the URL and, if the receiver asks for it, `authorization`. {TEST_AGAIN}")


def parse(section: Section) -> HttpChannel | None:
    """Read one channel; report faults to ``section``."""
    url = section.secret("url", SecretUrl.parse, required=True)
    authorization = section.secret("authorization", _parse_header)
    if url is None:
        return None
    header = ""
    if authorization:
        header = authorization.value
    return HttpChannel(
        name=f"webhook ({url})",
        fingerprint=fingerprint(f"webhook {url.host}", url.url, header),
        receiver=url.host,
        service=WEBHOOK,
        request=partial(_request, url.url, header),
        secrets=long_enough(*url.secrets, header, *header.split()),
    )


def _parse_header(text: str) -> Secret:
    if not text.isascii() or not text.isprintable():
        raise ValueError("not the value of a header: it has characters outside printable ASCII")
    return Secret(text)


def _request(url: str, authorization: str, entry: OutboxEntry) -> JsonRequest:
    headers = {"Idempotency-Key": idempotency_key(entry)}
    if authorization:
        headers["Authorization"] = authorization
    return JsonRequest(url, json_form(entry), headers)


def idempotency_key(entry: OutboxEntry) -> str:
    """Return what identifies the message to this channel, the same for every repeat."""
    text = f"{entry.message.id}|{entry.message.created_s}|{entry.channel}"
    return hashlib.sha256(text.encode()).hexdigest()[:32]
