"""What the result of a request to Discord means for the message and the channel, and what the user can do.

Source: Discord's API reference ("Rate Limits", "JSON error codes") and reports of other clients.
"""

from __future__ import annotations

import json

from jobmon_core.domain.channels import ACCEPTED, DeliveryOutcome, Receipt
from jobmon_core.notify.clean_text import cut_middle, one_line
from jobmon_core.notify.http_channel import DEAD, LATER, REFUSED, REPORT, seconds
from jobmon_core.system.http import HttpResponse, MaybeSent, NotSent, SendResult

_BLOCKED_WAIT_S = 600.0  # a block of this IP address states no wait, and requests before its end prolong it
_TOO_MANY_EDITS, _OLD_EDIT_WAIT_S = 30_046, 600.0  # a 429 with this code may state no wait, but is no block
_MAX_WHY = 500  # characters of a reason, including what it quotes from the response
_MAX_QUOTE = 350  # leaves room for the text before the quote
_MAX_DEPTH = 20  # of nested errors; Discord's are six deep

_NEW_WEBHOOK = (
    "Create a new webhook (channel settings, Integrations, Webhooks), put its URL into the configuration "
    "and run `jobmon test-discord`."
)
_PERMISSION = (
    "Ask the server's administrator to let this webhook post in its channel, then run `jobmon test-discord`."
)
_NETWORK = (
    "Check that this machine can reach the host: on many clusters only login nodes can, or only through a "
    "proxy (set HTTPS_PROXY). Then run `jobmon test-discord` again."
)
_INBOX = "If this was `jobmon inbox`, start it again, and give its new URLs to `jobmon init`."
_LOOPBACK = ("127.0.0.1", "localhost")
_WAIT = "Run `jobmon test-discord` again later. Messages about jobs are retried automatically."
_PROXY = "Check whether a proxy changes the requests, then run `jobmon test-discord`."
_OUTAGE = f"{_WAIT} If this lasts, see https://discordstatus.com."


def _error(outcome: DeliveryOutcome, why: str, advice: str) -> Receipt:
    return Receipt(outcome, why, advice=advice)


# Discord's own error code is more precise than the HTTP status, so it is looked up first.
_BY_CODE = {
    10003: _error(DEAD, "the channel or thread of this webhook no longer exists", _NEW_WEBHOOK),
    10008: _error(REFUSED, "the message was deleted in Discord", REPORT),
    10015: _error(
        DEAD, "Discord does not know this webhook: it was deleted, or its URL is incomplete", _NEW_WEBHOOK
    ),
    40333: _error(DEAD, "Cloudflare, which protects Discord, blocks jobmon's requests", _PROXY),
    50013: _error(DEAD, "the webhook has no permission to post in its channel", _PERMISSION),
    50027: _error(DEAD, "Discord rejects the token in the webhook's URL", _NEW_WEBHOOK),
    50083: _error(DEAD, "the thread is archived", "Reopen it, or remove thread_id from the webhook's URL."),
    160005: _error(DEAD, "the thread is locked", "Unlock it, or remove thread_id from the webhook's URL."),
    200000: _error(REFUSED, "the server's AutoMod blocked the text", "Allow this webhook in AutoMod."),
    220001: _error(
        DEAD,
        "the webhook belongs to a forum channel, where every message needs a thread",
        "Use a webhook of a text channel, or add ?thread_id=<id> of a post to the URL.",
    ),
}
_BY_STATUS = {
    401: _BY_CODE[50027],
    403: _error(DEAD, "Discord or an intermediate proxy forbids this webhook to post", _PERMISSION),
    404: _BY_CODE[10015],
    408: _error(LATER, "the request took too long to arrive", _NETWORK),
    410: _BY_CODE[10015],
    413: _error(REFUSED, "the message is too large", REPORT),
}
_REDIRECT = _error(
    LATER,
    "the response was a redirect, which jobmon never follows because the URL is a secret",
    "Check the host in the webhook's URL, and whether the network requires a login.",
)
_SERVER_ERROR = _error(LATER, "the server failed", _OUTAGE)
_OTHER = _error(REFUSED, "the message was rejected", REPORT)


def interpret_response(result: SendResult) -> Receipt:
    """Return the outcome of an attempt to deliver a message, by the result of its request."""
    if isinstance(result, NotSent):
        advice = _NETWORK
        if any(host in result.why for host in _LOOPBACK):
            advice = _INBOX
        return Receipt(LATER, result.why, for_all=True, advice=advice)
    if isinstance(result, MaybeSent):
        advice = f"Check whether the test message arrived. {_NETWORK}"
        return Receipt(DeliveryOutcome.MAYBE_DELIVERED, result.why, advice=advice)
    if result.is_success:
        return ACCEPTED
    code, text, retry_after = _error_body(result.body)
    waits_s = (seconds(result.headers.get("retry-after")), seconds(retry_after))
    wait_s = max((wait_s for wait_s in waits_s if wait_s is not None), default=None)
    if code == _TOO_MANY_EDITS:
        why = "rate limited by Discord: it accepts few edits of messages older than an hour"
        return Receipt(LATER, why, max(wait_s or 0.0, _OLD_EDIT_WAIT_S), advice=_WAIT)
    if result.status == 429:  # noqa: PLR2004 - HTTP status classes
        return _rate_limited(wait_s)
    kind = _error_kind(result, code)
    detail = f"{result.status}, {text}" if text else str(result.status)
    why = cut_middle(f"{kind.why} ({detail})", _MAX_WHY)
    return kind._replace(why=why, retry_after_s=wait_s if kind.outcome is LATER else None)


def _error_kind(response: HttpResponse, code: int) -> Receipt:
    if code in _BY_CODE:
        return _BY_CODE[code]
    if b"error code: 1010" in response.body:  # Cloudflare's own page, which is not JSON: it blocks the client
        return _BY_CODE[40333]
    if response.status in _BY_STATUS:
        return _BY_STATUS[response.status]
    if response.status >= 500:  # noqa: PLR2004 - HTTP status classes
        return _SERVER_ERROR
    if response.status < 400:  # noqa: PLR2004 - HTTP status classes
        return _REDIRECT
    return _OTHER


def _rate_limited(wait_s: float | None) -> Receipt:
    """Interpret a 429. One without a wait is from Cloudflare, which then blocks this IP address."""
    if wait_s is None:
        why = "this IP address is blocked for too many requests"
        advice = f"{_WAIT} Other users of this network may be the cause."
        return Receipt(LATER, why, _BLOCKED_WAIT_S, for_all=True, advice=advice)
    why = f"rate limited by Discord for {wait_s:g} s"
    return Receipt(LATER, why, wait_s, for_all=True, advice=_WAIT)


def _error_body(body: bytes) -> tuple[int, str, object]:
    """Return Discord's code of an error, its text, and the wait (seconds, unchecked).

    A proxy may have sent the body: if it is not Discord's JSON, the text is the body, shortened.
    """
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return 0, _shorten(body.decode(errors="replace")), None
    if not isinstance(data, dict):
        return 0, _shorten(str(data)), None
    code, message = data.get("code"), data.get("message")
    texts = [message if isinstance(message, str) else "", *flatten(data.get("errors"))]
    code = code if isinstance(code, int) else 0
    return code, _shorten("; ".join(filter(None, texts))), data.get("retry_after")


def flatten(errors: object, path: str = "", depth: int = 0) -> list[str]:
    """Return Discord's nested errors as lines, e.g. ``embeds.0.title: Must be 256 or fewer in length.``."""
    if depth > _MAX_DEPTH or not isinstance(errors, dict):
        return []
    own = errors.get("_errors")
    own = [error for error in own if isinstance(error, dict)] if isinstance(own, list) else []
    lines = [f"{path}: {error.get('message', '')}" for error in own]
    for key, nested in errors.items():
        if key != "_errors":
            lines += flatten(nested, f"{path}.{key}" if path else str(key), depth + 1)
    return lines


def _shorten(text: str) -> str:
    return cut_middle(one_line(text), _MAX_QUOTE)
