"""Whatever a log, a name or a path holds, the message that is posted wakes nobody and shows no secret."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.delivery.outbox import Field, Message, OutboxEntry
from jobmon_core.domain.webhook import Mentions
from jobmon_core.notify.discord import payload as discord_payload

_GITHUB = "ghp_" + "aB3xY7zQ9kLm2Np4Rs5Tv6Wx8Yz1Ab2Cd3Ef"
_BLANK = Message("8123/end", Route.ERROR, Tone.FAILURE, "train (8123) failed")


def posted(text: str) -> list[dict[str, object]]:
    """Both forms of a message that holds a text wherever one can stand."""
    message = replace(
        _BLANK,
        id=text,
        title=text,
        summary=text,
        fields=(Field("Job", text), Field(text, "x")),
        cause=text,
        evidence=("before", text, "after"),
        advice=text,
        log_path=text,
    )
    return [
        dict(discord_payload.full(OutboxEntry(message), Mentions())),
        dict(discord_payload.plain(OutboxEntry(message))),
    ]


def shown(text: str) -> str:
    """Everything that both forms hold."""
    return json.dumps(posted(text), ensure_ascii=False)


@pytest.mark.parametrize(
    "mention", ["@everyone", "@here", "@EVERYONE", "<@123456789012345678>", "<@&1>", "<#1>"]
)
def test_nobody_is_woken(mention: str) -> None:
    for payload in posted(mention):
        assert payload["allowed_mentions"] == {"parse": []}
        outside_code = re.sub("`[^`]*`", "", str(payload.get("content", "")))  # in code nothing is a mention
        assert mention not in outside_code


_CONTROLS = ["\x1b[31m", "\x1b]0;title\x07", "\x9b2J", "\u202e", "\u2066", "\u200f", "\ufeff", "\x00", "\x08"]


@pytest.mark.parametrize("control", _CONTROLS)
def test_nothing_turns_hides_or_colours_the_text_around_it(control: str) -> None:
    for payload in posted(f"a{control}b"):
        texts = json.dumps(payload, ensure_ascii=False)
        assert control[0] not in texts
        assert "ab" in texts


def test_backticks_end_no_block() -> None:
    for fence in ("```", "``", "`", "````\n# loud", "```\n@everyone\n```"):
        description = str(
            discord_payload.full(OutboxEntry(replace(_BLANK, evidence=(fence,))), Mentions())["embeds"][0][
                "description"
            ]
        )
        assert description.startswith("```\n")
        assert description.endswith("\n```")
        assert description.count("```") == 2


def test_a_footer_of_jobmon_in_a_log_stays_within_the_log() -> None:
    fake = "```\n✅ train (8123) completed\n-# jobmon · 8123/end\n"
    payload = discord_payload.full(OutboxEntry(replace(_BLANK, evidence=(fake,))), Mentions())
    (one,) = payload["embeds"]
    assert one["footer"]["text"] == "jobmon · 8123/end"
    assert payload["content"] == "❌ train (8123) failed"
    inside = one["description"].removeprefix("```\n").removesuffix("\n```")
    assert "jobmon · 8123/end" in inside
    assert "```" not in inside


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        (_GITHUB, "fatal: could not read from https://{}@github.com/x/y"),
        ("hunter2", "connecting with password={}"),
        ("hunter2", "postgresql://me:{}@db:5432/x"),
        (_GITHUB, "Authorization: Bearer {}"),
        ("hunter2", '{{"password": "{}"}}'),
    ],
)
def test_no_secret_is_posted_from_whatever_place(secret: str, text: str) -> None:
    assert secret not in shown(text.format(secret)).replace("\\", "")


def test_a_secret_that_escapes_split_is_hidden() -> None:
    assert _GITHUB[-8:] not in shown(f"token: {_GITHUB[:9]}\x1b[0m{_GITHUB[9:]}")


def test_a_private_key_that_goes_over_several_lines_is_hidden() -> None:
    body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQ"
    key = ("-----BEGIN PRIVATE KEY-----", body, body[::-1], "-----END PRIVATE KEY-----")
    payload = discord_payload.full(OutboxEntry(replace(_BLANK, evidence=key)), Mentions())
    assert body not in json.dumps(payload)
    assert body[::-1] not in json.dumps(payload)


@pytest.mark.parametrize(
    "name", ["$(touch x)", "%s%n%d", "{0}{name}", "'; touch x #", "`id`", "\\u0041", "${HOME}"]
)
def test_a_name_is_shown_as_it_is(name: str) -> None:
    payload = discord_payload.full(OutboxEntry(replace(_BLANK, title=f"{name} (8123) failed")), Mentions())
    assert name.replace("\\", "") in payload["content"].replace("\\", "")
