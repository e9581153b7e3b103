"""Answers for the fake Discord, as Discord and the proxy before it give them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum


class Behaviour(StrEnum):
    """What the server does with a request."""

    ANSWER = "answer"
    HANG = "hang"  # read the request, then do not answer until the fake closes
    CLOSE_UNREAD = "close unread"  # close before the request is read
    CLOSE_READ = "close read"  # read the request, then close without an answer
    BREAK_OFF = "break off"  # send the status and half of the body


@dataclass(frozen=True, slots=True)
class Scripted:
    """A scripted answer; ``saves``: whether the message appears in the channel."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    saves: bool = False
    behaviour: Behaviour = Behaviour.ANSWER


def ok() -> Scripted:
    """200 with the message, which is saved unless it breaks a rule."""
    return Scripted(200, saves=True)


def no_content() -> Scripted:
    """204: the message is saved, the body empty."""
    return Scripted(204, saves=True)


def refusal(status: int, code: int, message: str, **more: object) -> Scripted:
    """An error as Discord's JSON."""
    return Scripted(status, _VIA, json.dumps({"message": message, "code": code, **more}).encode())


def rate_limited(retry_after: float = 0.05, *, header: str | None = None, scope: str = "user") -> Scripted:
    """429 with the wait in the body, as a float, and in the header, as ``header`` or rounded up."""
    body = {"message": "You are being rate limited.", "retry_after": retry_after, "global": scope == "global"}
    headers = {
        "Retry-After": str(int(retry_after) + 1) if header is None else header,
        "X-RateLimit-Scope": scope,
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset-After": f"{retry_after:.3f}",
        **_VIA,
    }
    return Scripted(429, headers, json.dumps(body).encode())


def banned(*, html: bool = False) -> Scripted:
    """429 of the proxy before Discord: without a wait, without Via."""
    body = (
        b"<html>You are being blocked</html>"
        if html
        else json.dumps({"code": 0, "message": "blocked"}).encode()
    )
    return Scripted(429, {}, body)


def unknown_webhook() -> Scripted:
    """404: the webhook was deleted."""
    return refusal(404, 10015, "Unknown Webhook")


def unknown_message() -> Scripted:
    """404: the message was deleted."""
    return refusal(404, 10008, "Unknown Message")


def too_many_edits() -> Scripted:
    """429 for edits of a message older than an hour: it states no wait."""
    return refusal(429, 30046, "Maximum number of edits to messages older than 1 hour reached")


def bad_token() -> Scripted:
    """401: the token in the URL is wrong."""
    return refusal(401, 50027, "Invalid Webhook Token")


def no_permission() -> Scripted:
    """403: the webhook may not post."""
    return refusal(403, 50013, "Missing Permissions")


def blocked_agent() -> Scripted:
    """403 of the proxy before Discord, for a user agent that it blocks."""
    return Scripted(403, {"Content-Type": "text/plain"}, b"error code: 1010")


def forum_channel() -> Scripted:
    """400: messages to a forum channel need a thread."""
    return refusal(400, 220001, "Webhooks posted to forum channels must have a thread_name or thread_id")


def server_error(status: int = 503) -> Scripted:
    """A server error of Discord, as HTML."""
    return Scripted(status, _VIA, b"<html>upstream connect error</html>")


def redirect(to: str) -> Scripted:
    """307 to another URL."""
    return Scripted(307, {"Location": to})


def hang(*, saves: bool = False) -> Scripted:
    """No answer; the message may still be saved."""
    return Scripted(behaviour=Behaviour.HANG, saves=saves)


def close_unread() -> Scripted:
    """Close the connection before the request is read."""
    return Scripted(behaviour=Behaviour.CLOSE_UNREAD)


def close_read(*, saves: bool = False) -> Scripted:
    """Read the request, then close without an answer."""
    return Scripted(behaviour=Behaviour.CLOSE_READ, saves=saves)


def break_off() -> Scripted:
    """Answer 200 and close in the middle of the body; the message is saved."""
    return Scripted(200, body=b'{"id": "1', saves=True, behaviour=Behaviour.BREAK_OFF)


_VIA = {"Via": "1.1 google"}
