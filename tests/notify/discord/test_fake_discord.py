"""The fake is only worth what it enforces: here it is held to Discord's documented behaviour."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jobmon_core.domain.channels import Route
from jobmon_core.domain.webhook import Webhook
from jobmon_core.system import http
from jobmon_core.system.http import HttpRequest, HttpResponse
from tests.support import discord_answers as answers
from tests.support.discord_rules import SCHEMA_FILE, faults, schema_faults
from tests.support.fake_discord import FakeDiscord

NOBODY: dict[str, Any] = {"parse": []}


def embed(**parts: object) -> dict[str, Any]:
    return {"embeds": [{"title": "t", **parts}], "allowed_mentions": NOBODY}


def field(name: str = "n", value: str = "v") -> dict[str, Any]:
    return {"name": name, "value": value, "inline": True}


BROKEN = [
    ({}, "50006"),
    ({"content": "x"}, "BASE_TYPE_REQUIRED"),
    ({"content": "x" * 2001, "allowed_mentions": NOBODY}, "BASE_TYPE_MAX_LENGTH"),
    ({"content": " ", "allowed_mentions": NOBODY}, "BASE_TYPE_REQUIRED"),
    ({"content": "\ud800", "allowed_mentions": NOBODY}, "50109"),
    ({"content": "x", "username": "Discord bot", "allowed_mentions": NOBODY}, "USERNAME_INVALID_CONTAINS"),
    ({"content": "x", "embed": {}, "allowed_mentions": NOBODY}, "UNKNOWN_KEY"),
    ({"content": "x", "wait": True, "allowed_mentions": NOBODY}, "UNKNOWN_KEY"),
    ({"content": "x", "allow_mentions": NOBODY, "allowed_mentions": NOBODY}, "UNKNOWN_KEY"),
    (
        {"content": "x", "allowed_mentions": {"parse": ["users"], "users": ["1"]}},
        "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE",
    ),
    ({"content": "x", "allowed_mentions": {"parse": [], "users": ["1"] * 101}}, "BASE_TYPE_BAD_LENGTH"),
    ({"embeds": [{}], "allowed_mentions": NOBODY}, "LIST_ITEM_VALUE_REQUIRED"),
    ({"embeds": ["x"], "allowed_mentions": NOBODY}, "LIST_TYPE_CONVERT"),
    ({"embeds": [{"title": "t"}] * 11, "allowed_mentions": NOBODY}, "BASE_TYPE_BAD_LENGTH"),
    (embed(title="x" * 257), "BASE_TYPE_MAX_LENGTH"),
    (embed(description="x" * 4097), "BASE_TYPE_MAX_LENGTH"),
    (embed(color=16_777_216), "NUMBER_TYPE_MAX"),
    (embed(color="#ff0000"), "NUMBER_TYPE_MAX"),
    (embed(timestamp="2026-08-06T12:00:00"), "DATE_TIME_TYPE_PARSE"),
    (embed(timestamp="yesterday"), "DATE_TIME_TYPE_PARSE"),
    (embed(fields=[field()] * 26), "BASE_TYPE_BAD_LENGTH"),
    (embed(fields=[field(name="x" * 257)]), "BASE_TYPE_MAX_LENGTH"),
    (embed(fields=[field(value="x" * 1025)]), "BASE_TYPE_MAX_LENGTH"),
    (embed(fields=[field(value="")]), "BASE_TYPE_REQUIRED"),
    (embed(fields=[{"name": "n"}]), "BASE_TYPE_REQUIRED"),
    (embed(fields=[{**field(), "value": 3}]), "BASE_TYPE_STRING"),
    (embed(footer={"text": "x" * 2049}), "BASE_TYPE_MAX_LENGTH"),
    (embed(fields=[field(value="x" * 1000)] * 6), "MAX_EMBED_SIZE_EXCEEDED"),
]
TAKEN = [
    {"content": "x" * 2000, "allowed_mentions": NOBODY},
    embed(title="🧪" * 256, timestamp="2026-08-06T12:00:00+00:00", color=0xFFFFFF),
    embed(description="x" * 4096, fields=[field()] * 25, footer={"text": "x"}),
    {"content": "<@1>", "allowed_mentions": {"parse": [], "users": ["1"]}},
]


def send(payload: object, url: str) -> HttpResponse:
    request = HttpRequest(Webhook.parse(url).url, "fake", json.dumps(payload).encode(), "test")
    answer = http.send("POST", request, 5)
    assert isinstance(answer, HttpResponse)
    return answer


@pytest.mark.parametrize(("payload", "code"), BROKEN)
def test_a_payload_that_breaks_a_rule_is_named_for_it(payload: object, code: str) -> None:
    assert code in [fault.code for fault in faults(payload)]


@pytest.mark.parametrize("payload", TAKEN)
def test_a_payload_at_the_limits_is_taken(payload: object) -> None:
    assert faults(payload) == []


@pytest.mark.skipif(not SCHEMA_FILE.exists(), reason="Discord's OpenAPI extract is not at hand")
@pytest.mark.parametrize("payload", TAKEN)
def test_discords_own_schema_takes_what_the_rules_take(payload: object) -> None:
    assert schema_faults(payload, SCHEMA_FILE) == []


@pytest.mark.skipif(not SCHEMA_FILE.exists(), reason="Discord's OpenAPI extract is not at hand")
@pytest.mark.parametrize(
    "payload",
    [
        {"content": "x" * 2001},
        {"content": "x", "embed": {}},
        embed(titel="x"),
        embed(color="#ff0000"),
        embed(fields=[{**field(), "value": 3}]),
        embed(timestamp="2026-08-06T12:00:00"),
        {"content": "x", "allowed_mentions": {"parse": ["all"]}},
    ],
)
def test_discords_own_schema_is_asked_in_its_strict_form(payload: object) -> None:
    assert schema_faults(payload, SCHEMA_FILE)


def test_a_broken_payload_gets_discords_nested_400_and_is_recorded(discord: FakeDiscord) -> None:
    answer = send(embed(fields=[field(value="x" * 1025)]), discord.error_url)
    assert answer.status == 400
    body = json.loads(answer.body)
    assert body["code"] == 50035
    errors = body["errors"]["embeds"]["0"]["fields"]["0"]["value"]["_errors"]
    assert errors[0] == {"code": "BASE_TYPE_MAX_LENGTH", "message": "Must be 1024 or fewer in length."}
    assert discord.violations
    assert discord.received() == []


def test_a_message_that_is_taken_is_answered_with_itself(discord: FakeDiscord) -> None:
    answer = send(TAKEN[0], discord.success_url)
    assert answer.status == 200
    assert json.loads(answer.body)["content"] == "x" * 2000
    assert discord.wait_for(1, 5, Route.SUCCESS) == [TAKEN[0]]


def test_answers_follow_the_script_then_the_rule(discord: FakeDiscord) -> None:
    discord.script(answers.rate_limited(), answers.server_error(502))
    assert [send(TAKEN[0], discord.error_url).status for _ in range(3)] == [429, 502, 200]
    discord.always(answers.unknown_webhook())
    assert send(TAKEN[0], discord.error_url).status == 404
    assert [attempt.status for attempt in discord.attempts] == [429, 502, 200, 404]
    assert len(discord.received()) == 1


def test_a_ban_has_neither_a_wait_nor_the_mark_of_discord(discord: FakeDiscord) -> None:
    discord.script(answers.banned())
    answer = send(TAKEN[0], discord.error_url)
    assert answer.status == 429
    assert "retry-after" not in answer.headers
    assert "via" not in answer.headers


def test_an_unknown_webhook_and_a_wrong_token_are_refused(discord: FakeDiscord) -> None:
    unknown = discord.error_url.replace("998877665544332211", "111111111111111111")
    assert send(TAKEN[0], unknown).status == 404
    assert send(TAKEN[0], f"{discord.error_url}x").status == 401


def test_ids_and_tokens_have_the_form_of_real_ones(discord: FakeDiscord) -> None:
    for url in (discord.success_url, discord.error_url):
        webhook = Webhook.parse(url)
        assert (len(webhook.id), len(webhook.token)) == (18, 68)


def test_it_is_told_when_discords_schema_could_not_be_asked(tmp_path: Path) -> None:
    with FakeDiscord(tmp_path / "absent.json") as discord:
        assert not discord.schema_checked
        assert send(TAKEN[0], discord.error_url).status == 200


def test_waiting_in_vain_says_what_there_is(discord: FakeDiscord) -> None:
    with pytest.raises(AssertionError, match="0 of 1 messages"):
        discord.wait_for(1, timeout_s=0.01)
