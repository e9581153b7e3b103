"""What holds of all that is sent and of every answer to it: Discord's rules, nobody woken, no secret."""

from __future__ import annotations

import json
import re
from typing import Any

from jobmon_core.domain.channels import Route
from jobmon_core.domain.delivery.outbox import Field, Message, OutboxEntry, Tone
from jobmon_core.domain.heartbeat import HeartbeatUrl, mask_addresses
from jobmon_core.domain.redaction import redacted
from jobmon_core.domain.webhook import Webhook, mask_webhooks
from jobmon_core.notify.base import HttpResponse
from jobmon_core.notify.discord import payload as discord_payload
from jobmon_core.notify.discord.responses import interpret_response
from jobmon_core.notify.discord.settings import Mentions
from tests.fuzz.tape import SECRET, TOKEN, Tape, only_whole_secrets
from tests.support.discord_rules import SCHEMA_FILE, faults, schema_faults

_SPOILS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
_CALLS = re.compile(r"@(?:everyone|here)|<(?:@[!&]?|#|t:|/)[^<>]*>", re.IGNORECASE)
_INERT = re.compile(r"```\n.*?\n```|\\.|`[^`\n]+`", re.DOTALL)  # code, and what is escaped
_TIMES = re.compile(r"<t:-?\d{1,13}:[fR]>")
_USER = "123456789012345678"
_FAR_S = 2**62
_DAY_S = 86_400.0


def message(data: bytes) -> None:
    """Whatever texts a message is made of, both its forms keep to Discord's rules and harm nobody."""
    tape = Tape(data)
    entry = _entries(tape)
    mentions = Mentions(users=(_USER,)) if tape.below(2) else Mentions()
    by_schema = tape.below(64) == 1 and SCHEMA_FILE.exists()  # which takes many times as long as all else
    for form, woken in (
        (discord_payload.full(entry, mentions), mentions),
        (discord_payload.plain(entry), Mentions()),
    ):
        payload: dict[str, Any] = dict(form)
        assert faults(payload) == []
        assert not by_schema or schema_faults(payload, SCHEMA_FILE) == []
        _harmless(payload, woken if entry.message.tone is Tone.FAILURE else Mentions())
        assert json.loads(json.dumps(payload).encode()) == payload


def _entries(tape: Tape) -> OutboxEntry:
    facts = tuple(
        Field(tape.text(), tape.text(), tape.maybe(tape.number(8) - _FAR_S)) for _ in range(tape.below(31))
    )
    made = Message(
        id=tape.text(),
        route=tape.pick(tuple(Route)),
        tone=tape.pick(tuple(Tone)),
        title=tape.text(),
        summary=tape.text(),
        fields=facts,
        cause=tape.text(),
        evidence=tuple(tape.text() for _ in range(tape.below(5))),
        advice=tape.text(),
        log_path=tape.text(),
        created_s=tape.number(5),
    )
    since_s = tape.maybe(float(tape.number(5)))
    return OutboxEntry(made, maybe_delivered=tape.below(2) == 1, attempt_since_s=since_s)


def _harmless(payload: dict[str, Any], mentions: Mentions) -> None:
    allowed = payload["allowed_mentions"]
    assert allowed["parse"] == []
    assert tuple(allowed.get("users", ())) == mentions.users
    assert "roles" not in allowed
    shown = [*_texts(payload)]
    assert not any(map(_SPOILS.search, shown))
    assert not any(TOKEN in text.replace("\\", "") for text in shown)
    # the one mention that was asked for, and footers, in which Discord reads no markup
    as_they_are = {
        f"<@{_USER}>",
        *(one["footer"]["text"] for one in payload.get("embeds", ())),
    }  # plain texts
    for text in (_INERT.sub("x", each) for each in shown if each not in as_they_are):
        assert not _CALLS.search(_TIMES.sub("", text))
    for one in payload.get("embeds", ()):
        assert one["footer"]["text"].startswith("jobmon · ")
        assert one.get("description", "").count("```") in (0, 2)
    assert len(payload.get("embeds", ())) <= 1


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in _texts(part)]


def discord_answer(data: bytes) -> None:
    """Whatever answers in Discord's place gets a verdict, in a few words, with a wait that ends."""
    tape = Tape(data[:16])
    headers = {"retry-after": tape.pick(("1.5", "nan", "-1", "1e999", "99999999999", "x", "")), "via": ""}
    reply = HttpResponse(100 + tape.below(500), headers if tape.below(2) else {}, data[16:])
    advice = interpret_response(reply)
    receipt = advice.receipt
    assert receipt.retry_after_s is None or 0 <= receipt.retry_after_s <= _DAY_S
    assert len(receipt.why) <= 500
    assert "\n" not in receipt.why
    assert not _SPOILS.search(receipt.why)
    assert not (only_whole_secrets(data) and TOKEN in receipt.why)
    assert bool(receipt.why) != (200 <= reply.status < 300)
    assert bool(advice.advice) == bool(receipt.why)


def webhook(data: bytes) -> None:
    """Any text is a webhook's address, told from its like and shown without its token; or it is refused."""
    text = data.decode("utf-8", "replace")
    try:
        found = Webhook.parse(text)
    except ValueError as error:
        assert len(str(error)) < 120  # noqa: PT017 - the words are shown to the user
        assert len(text.strip()) < 24 or text.strip()[8:] not in str(error)  # noqa: PT017 - as above
        return
    assert Webhook.parse(found.url) == found
    assert found.url.isprintable()
    # else what is no secret may hold the same letters
    if len(found.token) >= 8 and text.count(found.token) == 1:
        assert found.token not in f"{found} {found!r}"
        assert found.token not in mask_webhooks(f"see {found.url} there")
        assert found.token not in redacted(f"see {text} there")


def heartbeat(data: bytes) -> None:
    """Any text is an address to call, shown by its host alone; or it is refused and not repeated."""
    text = data.decode("utf-8", "replace")
    try:
        found = HeartbeatUrl.parse(text)
    except ValueError as error:
        assert len(str(error)) < 120  # noqa: PT017 - the words are shown to the user
        assert len(text) < 12 or text not in str(error)  # noqa: PT017 - as above
        return
    assert found.url == text
    assert f"{found} {found!r}" == f"{found.host} HeartbeatUrl({found.host})"
    secret = text.partition("//")[2].partition("/")[2]
    if len(secret) >= 8 and not set(secret) & set("'\"") and text.count(secret) == 1:
        assert secret not in mask_addresses(f"see {text} there")


def secrets(data: bytes) -> None:
    """No text around a secret brings it out: not before it, not behind it, on no other line."""
    tape = Tape(data)
    before, behind = tape.text(), tape.text()
    key = "aB3xY7zQ9kLm2Np4Rs5Tv6Wx8Yz1Ab2Cd3Ef"
    kinds = (
        f"ghp_{key}",
        f"password={key}",
        f"https://me:{key}@host/",
        f"Authorization: Bearer {key}",
        SECRET,
    )
    text = f"{before} {tape.pick(kinds)} {behind}"
    hidden = redacted(text)
    assert key not in hidden
    assert TOKEN not in hidden
    assert hidden.count("\n") == text.count("\n")
