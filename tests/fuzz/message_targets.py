"""What holds for all messages and all answers to them: Discord's rules, no unwanted mention, no secret."""

from __future__ import annotations

import json
import re
from typing import Any

from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.delivery.outbox import Field, Message, OutboxEntry
from jobmon_core.domain.heartbeat import HeartbeatUrl, mask_addresses
from jobmon_core.domain.redaction import redacted
from jobmon_core.domain.webhook import Mentions, Webhook, mask_webhooks
from jobmon_core.notify.discord import payload as discord_payload
from jobmon_core.notify.discord.responses import interpret_response
from jobmon_core.system.http import HttpResponse
from tests.fuzz.choices import SECRET, TOKEN, Choices, only_whole_secrets
from tests.support.discord_rules import SCHEMA_FILE, faults, schema_faults

_INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
_MENTION = re.compile(r"@(?:everyone|here)|<(?:@[!&]?|#|t:|/)[^<>]*>", re.IGNORECASE)
_NO_MARKUP = re.compile(r"```\n.*?\n```|\\.|`[^`\n]+`", re.DOTALL)  # code, and what is escaped
_TIMES = re.compile(r"<t:-?\d{1,13}:[fR]>")
_USER = "123456789012345678"
_FAR_S = 2**62
_DAY_S = 86_400.0


def message(data: bytes) -> None:
    """A message of any texts keeps Discord's rules, mentions no one unasked, and has no secret."""
    draw = Choices(data)
    entry = _entry(draw)
    mentions = Mentions(users=(_USER,)) if draw.below(2) else Mentions()
    by_schema = draw.below(64) == 1 and SCHEMA_FILE.exists()  # takes many times as long as everything else
    for form, mentioned in (
        (discord_payload.full(entry, mentions), mentions),
        (discord_payload.plain(entry), Mentions()),
    ):
        payload: dict[str, Any] = dict(form)
        assert faults(payload) == []
        assert not by_schema or schema_faults(payload, SCHEMA_FILE) == []
        _assert_harmless(payload, mentioned if entry.message.tone is Tone.FAILURE else Mentions())
        assert json.loads(json.dumps(payload).encode()) == payload


def _entry(draw: Choices) -> OutboxEntry:
    fields = tuple(
        Field(draw.text(), draw.text(), draw.maybe(draw.number(8) - _FAR_S)) for _ in range(draw.below(31))
    )
    built = Message(
        id=draw.text(),
        route=draw.pick(tuple(Route)),
        tone=draw.pick(tuple(Tone)),
        title=draw.text(),
        summary=draw.text(),
        fields=fields,
        cause=draw.text(),
        evidence=tuple(draw.text() for _ in range(draw.below(5))),
        advice=draw.text(),
        log_path=draw.text(),
        created_s=draw.number(5),
    )
    since_s = draw.maybe(float(draw.number(5)))
    return OutboxEntry(built, maybe_delivered=draw.below(2) == 1, attempt_since_s=since_s)


def _assert_harmless(payload: dict[str, Any], mentions: Mentions) -> None:
    allowed = payload["allowed_mentions"]
    assert allowed["parse"] == []
    assert tuple(allowed.get("users", ())) == mentions.users
    assert "roles" not in allowed
    texts = _texts(payload)
    assert not any(map(_INVISIBLE.search, texts))
    assert not any(TOKEN in text.replace("\\", "") for text in texts)
    # footers, in which Discord reads no markup
    plain = {embed["footer"]["text"] for embed in payload.get("embeds", ())}
    for text in (_NO_MARKUP.sub("x", each) for each in texts if each not in plain):
        without_own = text.removesuffix(f" <@{_USER}>") if mentions.users else text
        assert not _MENTION.search(_TIMES.sub("", without_own))
    for embed in payload.get("embeds", ()):
        assert embed["footer"]["text"].startswith("jobmon · ")
        assert embed.get("description", "").count("```") in (0, 2)
    assert len(payload.get("embeds", ())) <= 1


def _texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in _texts(part)]


def discord_answer(data: bytes) -> None:
    """Any answer to a message is interpreted, with a short reason and a bounded wait."""
    draw = Choices(data[:16])
    headers = {"retry-after": draw.pick(("1.5", "nan", "-1", "1e999", "99999999999", "x", "")), "via": ""}
    reply = HttpResponse(100 + draw.below(500), headers if draw.below(2) else {}, data[16:])
    advice = interpret_response(reply)
    receipt = advice
    assert receipt.retry_after_s is None or 0 <= receipt.retry_after_s <= _DAY_S
    assert len(receipt.why) <= 500
    assert "\n" not in receipt.why
    assert not _INVISIBLE.search(receipt.why)
    assert not (only_whole_secrets(data) and TOKEN in receipt.why)
    assert bool(receipt.why) != (200 <= reply.status < 300)
    assert bool(advice.advice) == bool(receipt.why)


def webhook(data: bytes) -> None:
    """Any text is a webhook, shown without its token, or is refused."""
    text = data.decode("utf-8", "replace")
    try:
        hook = Webhook.parse(text)
    except ValueError as error:
        assert len(str(error)) < 200  # noqa: PT017 - users see this text
        problem = str(error).partition("; a webhook URL looks like")[0]
        assert len(text.strip()) < 24 or text.strip()[8:] not in problem
        return
    assert Webhook.parse(hook.url) == hook
    assert hook.url.isprintable()
    # otherwise a part of the text that is not secret may have the same letters
    if len(hook.token) >= 8 and text.count(hook.token) == 1:
        assert hook.token not in f"{hook} {hook!r}"
        assert hook.token not in mask_webhooks(f"see {hook.url} there")
        assert hook.token not in redacted(f"see {text} there")


def heartbeat(data: bytes) -> None:
    """Any text is a heartbeat URL, shown by its host alone, or is refused and not repeated."""
    text = data.decode("utf-8", "replace")
    try:
        url = HeartbeatUrl.parse(text)
    except ValueError as error:
        assert len(str(error)) < 120  # noqa: PT017 - users see this text
        assert len(text) < 12 or text not in str(error)  # noqa: PT017 - the same
        return
    assert url.url == text
    assert f"{url} {url!r}" == f"{url.host} HeartbeatUrl(host={url.host!r})"
    secret = text.partition("//")[2].partition("/")[2]
    if len(secret) >= 8 and not set(secret) & set("'\"") and text.count(secret) == 1:
        assert secret not in mask_addresses(f"see {text} there")


def secrets(data: bytes) -> None:
    """No text before or after a secret reveals it."""
    draw = Choices(data)
    before, after = draw.text(), draw.text()
    key = "aB3xY7zQ9kLm2Np4Rs5Tv6Wx8Yz1Ab2Cd3Ef"
    kinds = (
        f"ghp_{key}",
        f"password={key}",
        f"https://me:{key}@host/",
        f"Authorization: Bearer {key}",
        SECRET,
    )
    text = f"{before} {draw.pick(kinds)} {after}"
    masked = redacted(text)
    assert key not in masked
    assert TOKEN not in masked
    assert masked.count("\n") == text.count("\n")
