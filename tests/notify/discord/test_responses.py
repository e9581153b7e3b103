from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.delivery.outbox import Verdict
from jobmon_core.notify.base import MaybeSent, NotSent, Reply
from jobmon_core.notify.discord.responses import advice_for, flatten, judge, verdict
from tests.support import discord_answers as answers
from tests.support.discord_answers import Scripted

TOKEN = "aB3-_" * 13 + "xYz"


def reply(scripted: Scripted) -> Reply:
    headers = {name.lower(): value for name, value in scripted.headers.items()}
    return Reply(scripted.status, headers, scripted.body)


def plain(status: int, body: object = "", **headers: str) -> Reply:
    text = body if isinstance(body, str) else json.dumps(body)
    return Reply(status, {name.replace("_", "-"): value for name, value in headers.items()}, text.encode())


NESTED = {
    "code": 50035,
    "message": "Invalid Form Body",
    "errors": {
        "embeds": {
            "0": {
                "fields": {
                    "3": {
                        "value": {"_errors": [{"code": "X", "message": "Must be 1024 or fewer in length."}]}
                    }
                },
                "title": {"_errors": [{"code": "X", "message": "Must be 256 or fewer in length."}]},
            }
        }
    },
}


@pytest.mark.parametrize(
    ("answer", "expected", "wait_s", "said"),
    [
        (plain(200, {"id": "1"}), Verdict.DELIVERED, None, ""),
        (plain(204), Verdict.DELIVERED, None, ""),
        (plain(202, "queued"), Verdict.DELIVERED, None, ""),
        (reply(answers.rate_limited(0.376, header="")), Verdict.TRY_AGAIN, 0.376, "limits"),
        (reply(answers.rate_limited(0.376, header="1")), Verdict.TRY_AGAIN, 1.0, "limits"),
        (reply(answers.rate_limited(43.2, header="2", scope="shared")), Verdict.TRY_AGAIN, 43.2, "limits"),
        (plain(429, "<html>", retry_after="7"), Verdict.TRY_AGAIN, 7.0, "limits"),
        (plain(429, {"retry_after": 10**9}), Verdict.TRY_AGAIN, 86_400.0, "limits"),
        (reply(answers.banned()), Verdict.TRY_AGAIN, 600.0, "blocked"),
        (reply(answers.banned(html=True)), Verdict.TRY_AGAIN, 600.0, "blocked"),
        (plain(429, '{"retry_after": NaN}', retry_after="soon"), Verdict.TRY_AGAIN, 600.0, "blocked"),
        (plain(429, {"retry_after": -1}), Verdict.TRY_AGAIN, 600.0, "blocked"),
        (reply(answers.unknown_webhook()), Verdict.CHANNEL_DEAD, None, "knows no such webhook"),
        (plain(404, "<html>"), Verdict.CHANNEL_DEAD, None, "knows no such webhook"),
        (reply(answers.bad_token()), Verdict.CHANNEL_DEAD, None, "token"),
        (plain(401), Verdict.CHANNEL_DEAD, None, "token"),
        (reply(answers.no_permission()), Verdict.CHANNEL_DEAD, None, "may not post"),
        (reply(answers.blocked_agent()), Verdict.CHANNEL_DEAD, None, "Cloudflare"),
        (
            reply(answers.refusal(403, 40333, "internal network error")),
            Verdict.CHANNEL_DEAD,
            None,
            "Cloudflare",
        ),
        (plain(403, "<html>forbidden</html>"), Verdict.CHANNEL_DEAD, None, "forbids"),
        (reply(answers.forum_channel()), Verdict.CHANNEL_DEAD, None, "forum channel"),
        (
            reply(answers.refusal(404, 10003, "Unknown Channel")),
            Verdict.CHANNEL_DEAD,
            None,
            "no longer exists",
        ),
        (reply(answers.refusal(400, 50083, "Thread is archived")), Verdict.CHANNEL_DEAD, None, "archived"),
        (plain(400, NESTED), Verdict.REFUSED_BODY, None, "embeds.0.title: Must be 256"),
        (plain(400, {"embeds": ["0"]}), Verdict.REFUSED_BODY, None, "not taken"),
        (
            reply(answers.refusal(400, 50006, "Cannot send an empty message")),
            Verdict.REFUSED_BODY,
            None,
            "empty",
        ),
        (reply(answers.refusal(400, 50109, "invalid JSON")), Verdict.REFUSED_BODY, None, "JSON"),
        (reply(answers.refusal(400, 200000, "blocked")), Verdict.REFUSED_BODY, None, "AutoMod"),
        (
            reply(answers.refusal(413, 40005, "Request entity too large")),
            Verdict.REFUSED_BODY,
            None,
            "too large",
        ),
        (plain(418, "teapot"), Verdict.REFUSED_BODY, None, "teapot"),
        (plain(408), Verdict.TRY_AGAIN, None, "too long"),
        (reply(answers.server_error(500)), Verdict.TRY_AGAIN, None, "500"),
        (reply(answers.server_error(502)), Verdict.TRY_AGAIN, None, "502"),
        (plain(503, "", retry_after="30"), Verdict.TRY_AGAIN, 30.0, "503"),
        (plain(504), Verdict.TRY_AGAIN, None, "504"),
        (plain(302, "", location="https://login.example"), Verdict.TRY_AGAIN, None, "redirect"),
        (
            NotSent("could not reach discord.com …8899: Connection refused"),
            Verdict.TRY_AGAIN,
            None,
            "refused",
        ),
        (
            MaybeSent("sent to discord.com …8899: no answer within 10 s"),
            Verdict.MAYBE_DELIVERED,
            None,
            "no answer",
        ),
    ],
)
def test_each_answer_has_its_verdict_its_wait_and_its_reason(
    answer: Reply | NotSent | MaybeSent, expected: Verdict, wait_s: float | None, said: str
) -> None:
    receipt = verdict(answer)
    assert (receipt.verdict, receipt.retry_after_s) == (expected, wait_s)
    assert said in receipt.why
    assert bool(advice_for(answer)) is (expected is not Verdict.DELIVERED)


def test_every_nested_error_is_named_with_its_path() -> None:
    assert flatten(NESTED["errors"]) == [
        "embeds.0.fields.3.value: Must be 1024 or fewer in length.",
        "embeds.0.title: Must be 256 or fewer in length.",
    ]


def test_the_names_that_the_old_api_gave_are_passed_on() -> None:
    assert flatten({"embeds": ["0"]}) == ["embeds: 0"]


@pytest.mark.parametrize(
    "body", [b"[" * 60_000, b'{"errors":' + b'{"a":' * 500 + b"1" + b"}" * 501, b"\xff\xfe", b"1" * 9999]
)
def test_a_hostile_body_is_a_refusal_like_any_other(body: bytes) -> None:
    receipt = verdict(Reply(400, {}, body))
    assert receipt.verdict is Verdict.REFUSED_BODY
    assert len(receipt.why) <= 500


def test_an_answer_that_echoes_the_address_does_not_put_the_token_into_the_reason() -> None:
    echo = f"Cannot POST /api/v10/webhooks/112233445566778899/{TOKEN}?wait=true"
    for answer in (plain(405, echo), plain(500, {"message": echo}), plain(400, {"errors": {echo: ["x"]}})):
        assert TOKEN not in judge(answer).receipt.why


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.sampled_from(["code", "message", "errors", "_errors", "retry_after"]), inner)
    ),
)


@given(st.integers(100, 599), JSON.map(json.dumps).map(str.encode) | st.binary(), st.text())
def test_no_answer_is_without_a_verdict(status: int, body: bytes, retry_after: str) -> None:
    ruling = judge(Reply(status, {"retry-after": retry_after}, body))
    assert ruling.receipt.verdict is Verdict.DELIVERED or (ruling.receipt.why and ruling.advice)


@pytest.mark.parametrize(
    ("answer", "for_all"),
    [
        (NotSent("no route to host"), True),
        (reply(answers.rate_limited(1.0)), True),
        (reply(answers.banned()), True),
        (reply(answers.server_error()), False),
        (plain(302), False),
        (MaybeSent("reset"), False),
    ],
)
def test_what_every_message_would_meet_is_told_from_what_one_may_have_caused(
    answer: Reply | NotSent | MaybeSent, *, for_all: bool
) -> None:
    assert verdict(answer).for_all is for_all
