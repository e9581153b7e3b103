"""A room of Matrix, and the access token of a user in it.

Sent without Apprise, which may try to register a user when a login fails. Each form of a message has a
transaction id of its own, so that the homeserver accepts it once, however often it is sent: a repeat after an
attempt without a response is no duplicate here.

Source: Matrix specification, "Client-Server API" 1.x: ``PUT .../send/{eventType}/{txnId}``,
``m.room.message`` (``m.text``, ``org.matrix.custom.html``), ``m.mentions`` (empty: nobody is mentioned), size
limits (an event has up to 65,536 bytes), standard errors and ``M_LIMIT_EXCEEDED`` with ``retry_after_ms``.
"""

from __future__ import annotations

import hashlib
import re
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from jobmon_core.domain.channels import Level
from jobmon_core.notify.http_channel import (
    DEAD,
    REFUSED,
    TEST_AGAIN,
    HttpChannel,
    JsonRequest,
    Service,
    ServiceError,
    json_object,
    seconds,
)
from jobmon_core.notify.plain_text import Kind, PlainText, fit, utf8_size
from jobmon_core.notify.secret import SecretUrl, fingerprint, parse_token

if TYPE_CHECKING:
    from jobmon_core.domain.config_section import Section
    from jobmon_core.domain.delivery.outbox import OutboxEntry
    from jobmon_core.system.http import HttpResponse

_ROOM = re.compile(r"![^\s/?#]{1,250}")
_MAX_BODY = 8000  # bytes
_MAX_HTML_PART = 4000  # bytes
_MAX_HTML = 30_000  # bytes
_MAX_LEAD = 300
_OUTCOMES = {
    "M_UNKNOWN_TOKEN": DEAD,
    "M_MISSING_TOKEN": DEAD,
    "M_FORBIDDEN": DEAD,
    "M_NOT_FOUND": DEAD,
    "M_TOO_LARGE": REFUSED,
    "M_BAD_JSON": REFUSED,
    "M_NOT_JSON": REFUSED,
}


def parse(section: Section) -> HttpChannel | None:
    """Read one channel; report faults to ``section``."""
    server = section.parsed("server", SecretUrl.parse, required=True)
    room = section.verbatim("room", required=True)
    if room and not _ROOM.fullmatch(room):
        section.fault(
            "room", "expected the internal id of a room, which starts with ! (room settings, Advanced)"
        )
        room = ""
    token = section.secret("token", parse_token, required=True)
    if not server or not room or not token:
        return None
    return HttpChannel(
        name=f"Matrix ({server}, room {room})",
        fingerprint=fingerprint(f"matrix {server.host} {room}", token.value),
        receiver=server.host,
        service=MATRIX,
        request=partial(_request, server.url.rstrip("/"), quote(room, safe=""), token.value),
        secrets=(token.value,),
    )


def _request(server: str, room: str, token: str, entry: OutboxEntry) -> JsonRequest:
    path = f"/_matrix/client/v3/rooms/{room}/send/m.room.message/{transaction_id(entry)}"
    headers = {"Authorization": f"Bearer {token}"}
    return JsonRequest(f"{server}{path}", plain(entry) if entry.plain else full(entry), headers, is_put=True)


def transaction_id(entry: OutboxEntry) -> str:
    """Return the id by which the homeserver recognises a repeat of this message in this form."""
    message = entry.message
    text = f"{message.id}|{message.created_s}|{entry.channel}|{entry.plain}"
    return f"jobmon-{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def plain(entry: OutboxEntry) -> dict[str, Any]:
    """Return the minimal form, for a message whose full form was refused."""
    return _plain(entry, PlainText.of(entry))


def _plain(entry: OutboxEntry, text: PlainText) -> dict[str, Any]:
    """Return the form without HTML; ``m.text``, which notifies, is for what needs attention."""
    is_urgent = entry.message.level in (Level.CRITICAL, Level.WARNING)
    shown = f"{text.lead(_MAX_LEAD)}\n\n{text.body(_MAX_BODY, utf8_size)}".strip()
    return {"msgtype": "m.text" if is_urgent else "m.notice", "body": shown, "m.mentions": {}}


def full(entry: OutboxEntry) -> dict[str, Any]:
    """Return the full form, which also has HTML."""
    message = PlainText.of(entry)
    pieces = [f"<strong>{escape(message.lead(_MAX_LEAD))}</strong>"]
    room = _MAX_HTML
    for part in message.parts:
        text = escape(fit(part.text, _MAX_HTML_PART, utf8_size))
        is_text = part.kind in (Kind.TEXT, Kind.FIELDS)
        piece = f"<p>{text.replace(chr(10), '<br>')}</p>" if is_text else f"<pre><code>{text}</code></pre>"
        room -= utf8_size(piece)
        if room < 0:
            break
        pieces.append(piece)
    return {**_plain(entry, message), "format": "org.matrix.custom.html", "formatted_body": "".join(pieces)}


def _read_error(response: HttpResponse) -> ServiceError:
    data = json_object(response)
    code = str(data.get("errcode") or "")
    text = f"{code} {data.get('error') or ''}".strip() or response.body.decode(errors="replace")
    return ServiceError(text, _OUTCOMES.get(code), seconds(data.get("retry_after_ms"), unit_s=0.001))


MATRIX = Service(
    "Matrix",
    f"Check the access token, and that its user is in the room and may write there. {TEST_AGAIN}",
    _read_error,
)
