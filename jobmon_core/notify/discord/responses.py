"""What an answer of Discord means: the verdict on the attempt, why, and what the user can do. Pure.

Source: Discord's API reference ("Rate Limits", "JSON error codes") and what its clients have met.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import assert_never

from jobmon_core.domain.delivery.outbox import DeliveryOutcome, Receipt
from jobmon_core.notify.base import Answer, HttpResponse, MaybeSent, NotSent
from jobmon_core.notify.discord.markdown import cut_middle, one_line

_BAN_S = 600.0  # a ban names no wait; asking sooner prolongs it
_LONGEST_WAIT_S = 86_400.0  # the longest ban that was seen; more is not meant
_WHY_LIMIT = 500
_DEEPEST = 20  # how far nested errors are followed; Discord's are six deep

_RENEW = (
    "Make a new webhook (channel settings, Integrations, Webhooks), put its URL into the configuration "
    "and run `jobmon test-discord`."
)
_RIGHTS = "Ask who runs the server to let this webhook post in its channel, then run `jobmon test-discord`."
_NETWORK = (
    "Check that this machine reaches the host: on many clusters only login nodes do, or only through a proxy "
    "(set HTTPS_PROXY). jobmon tries again by itself."
)
_WAIT = "Nothing: jobmon waits and tries again by itself."
_REPORT = "jobmon sends the message once more in a plain form. If this comes again, please report it."
_GATE = "Check whether a proxy on the way changes requests, then run `jobmon test-discord`."
_PATIENCE = "Nothing, unless it lasts: then see https://discordstatus.com. jobmon tries again by itself."


@dataclass(frozen=True, slots=True)
class ResponseAdvice:
    """A receipt, and what the user can do about it; ``advice`` is empty where all is well."""

    receipt: Receipt
    advice: str = ""


@dataclass(frozen=True, slots=True)
class _Row:
    """One line of the table of verdicts."""

    verdict: DeliveryOutcome
    why: str
    advice: str


_DEAD, _LATER, _REFUSED = (
    DeliveryOutcome.CHANNEL_DEAD,
    DeliveryOutcome.TRY_AGAIN,
    DeliveryOutcome.REFUSED_BODY,
)

# Discord's own code is the more exact, so it is asked first.
_BY_CODE = {
    10003: _Row(_DEAD, "the channel or thread of this webhook no longer exists", _RENEW),
    10015: _Row(_DEAD, "Discord knows no such webhook: it was deleted, or its URL is not complete", _RENEW),
    40333: _Row(_DEAD, "Discord's gate (Cloudflare) does not let jobmon in", _GATE),
    50013: _Row(_DEAD, "the webhook may not post in its channel", _RIGHTS),
    50027: _Row(_DEAD, "Discord does not accept the token in the webhook's URL", _RENEW),
    50083: _Row(_DEAD, "the thread is archived", "Reopen it, or take thread_id out of the webhook's URL."),
    160005: _Row(_DEAD, "the thread is locked", "Unlock it, or take thread_id out of the webhook's URL."),
    200000: _Row(_REFUSED, "the server's AutoMod blocked the text", "Allow this webhook in AutoMod."),
    220001: _Row(
        _DEAD,
        "the webhook belongs to a forum channel, where every message needs a thread",
        "Use a webhook of a text channel, or add ?thread_id=<id> of a post to the URL.",
    ),
}
_BY_STATUS = {
    401: _BY_CODE[50027],
    403: _Row(_DEAD, "Discord, or a gate before it, forbids this webhook to post", _RIGHTS),
    404: _BY_CODE[10015],
    408: _Row(_LATER, "the request took too long to arrive", _NETWORK),
    410: _BY_CODE[10015],
    413: _Row(_REFUSED, "the message is too large", _REPORT),
}
_REDIRECT = _Row(
    _LATER,
    "something on the way answered with a redirect, which jobmon never follows as the URL is a secret",
    "Check the host in the webhook's URL, and whether the network asks for a login.",
)
_SERVER = _Row(_LATER, "the server failed", _PATIENCE)
_OTHER = _Row(_REFUSED, "the message was not taken", _REPORT)


@dataclass(frozen=True, slots=True)
class _Problem:
    """What the body of a refusal says; all of it may be absent, for a proxy answers as it likes."""

    code: int = 0
    text: str = ""
    retry_after: object = None


def interpret_response(answer: Answer) -> ResponseAdvice:
    """Return the verdict on what came of a post, and what to do about it."""
    match answer:
        case NotSent(why):
            return ResponseAdvice(Receipt(DeliveryOutcome.TRY_AGAIN, why, for_all=True), _NETWORK)
        case MaybeSent(why):
            return ResponseAdvice(
                Receipt(DeliveryOutcome.MAYBE_DELIVERED, why), f"Look whether it arrived. {_NETWORK}"
            )
        case HttpResponse():
            return _judge_reply(answer)
        case _:
            assert_never(answer)


def receipt_for(answer: Answer) -> Receipt:
    """Return what came of a post."""
    return interpret_response(answer).receipt


def advice_for(answer: Answer) -> str:
    """Return what the user can do about an answer; empty where the message was delivered."""
    return interpret_response(answer).advice


def _judge_reply(reply: HttpResponse) -> ResponseAdvice:
    """Judge an answer by its status and by the code that Discord put into its body."""
    if 200 <= reply.status < 300:  # noqa: PLR2004 - the classes of HTTP
        return ResponseAdvice(Receipt(DeliveryOutcome.DELIVERED))
    problem = _problem(reply.body)
    wait_s = _longest(reply.headers.get("retry-after"), problem.retry_after)
    if reply.status == 429:  # noqa: PLR2004 - the classes of HTTP
        return _limited(wait_s)
    row = _row(reply, problem)
    detail = f"{reply.status}, {problem.text}" if problem.text else str(reply.status)
    why = cut_middle(f"{row.why} ({detail})", _WHY_LIMIT)
    return ResponseAdvice(Receipt(row.verdict, why, wait_s if row.verdict is _LATER else None), row.advice)


def _row(reply: HttpResponse, problem: _Problem) -> _Row:
    """Find the line of the table for a refusal."""
    if problem.code in _BY_CODE:
        return _BY_CODE[problem.code]
    if b"error code: 1010" in reply.body:
        return _BY_CODE[40333]
    if reply.status in _BY_STATUS:
        return _BY_STATUS[reply.status]
    if reply.status >= 500:  # noqa: PLR2004 - the classes of HTTP
        return _SERVER
    return _REDIRECT if reply.status < 400 else _OTHER  # noqa: PLR2004 - the classes of HTTP


def _limited(wait_s: float | None) -> ResponseAdvice:
    """Judge a 429. One without a wait comes from the gate before Discord: a ban of this address."""
    if wait_s is None:
        why = f"this network address is blocked for too many requests; next try in {_BAN_S:g} s"
        receipt = Receipt(DeliveryOutcome.TRY_AGAIN, why, _BAN_S, for_all=True)
        return ResponseAdvice(receipt, f"{_WAIT} Others here may be the cause.")
    why = f"Discord limits how fast messages may come; next try in {wait_s:g} s"
    return ResponseAdvice(Receipt(DeliveryOutcome.TRY_AGAIN, why, wait_s, for_all=True), _WAIT)


def _longest(*waits: object) -> float | None:
    """Return the longest of the waits that are a number of seconds; None where none is."""
    known = [wait_s for wait_s in map(_seconds, waits) if wait_s is not None]
    return max(known, default=None)


def _seconds(wait: object) -> float | None:
    """Read a wait, from a header or from JSON; at most a day."""
    if isinstance(wait, bool) or not isinstance(wait, int | float | str):
        return None
    try:
        wait_s = float(wait)
    except (ValueError, OverflowError):
        return None
    return min(wait_s, _LONGEST_WAIT_S) if math.isfinite(wait_s) and wait_s >= 0 else None


def _problem(body: bytes) -> _Problem:
    """Read the body of a refusal; one that is not Discord's JSON is quoted in part."""
    try:
        data = json.loads(body)
    except (ValueError, RecursionError):
        return _Problem(text=_quoted(body.decode(errors="replace")))
    if not isinstance(data, dict):
        return _Problem(text=_quoted(str(data)))
    code, message = data.get("code"), data.get("message")
    told = [f"{message}" if isinstance(message, str) else "", *flatten(data.get("errors"))]
    number = code if isinstance(code, int) else 0
    return _Problem(number, _quoted("; ".join(filter(None, told))), data.get("retry_after"))


def flatten(errors: object, path: str = "", depth: int = 0) -> list[str]:
    """Return Discord's nested errors as lines, e.g. ``embeds.0.title: Must be 256 or fewer in length.``."""
    if depth > _DEEPEST:
        return []
    if isinstance(errors, list):  # what the old API answered: names without a reason
        return [f"{path}: {each}" if path else str(each) for each in errors]
    if not isinstance(errors, dict):
        return []
    given = errors.get("_errors")
    listed = [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []
    lines = [f"{path}: {each.get('message', '')}" for each in listed]
    for key, inner in errors.items():
        if key != "_errors":
            lines += flatten(inner, f"{path}.{key}" if path else str(key), depth + 1)
    return lines


def _quoted(text: str) -> str:
    """Return what the other side said on one line, short, and without a token should it echo one."""
    return cut_middle(one_line(text), _WHY_LIMIT - 150)
