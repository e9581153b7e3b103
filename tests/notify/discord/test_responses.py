from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.channels import DeliveryOutcome
from jobmon_core.notify.discord.responses import flatten, interpret_response
from jobmon_core.system.http import HttpResponse, MaybeSent, NotSent
from tests.support import discord_answers as answers
from tests.support.discord_answers import Scripted

TOKEN = "aB3-_" * 13 + "xYz"


def reply(scripted: Scripted) -> HttpResponse:
    headers = {name.lower(): value for name, value in scripted.headers.items()}
    return HttpResponse(scripted.status, headers, scripted.body)


def plain(status: int, body: object = "", **headers: str) -> HttpResponse:
    text = body if isinstance(body, str) else json.dumps(body)
    return HttpResponse(
        status, {name.replace("_", "-"): value for name, value in headers.items()}, text.encode()
    )


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
        (plain(200, {"id": "1"}), DeliveryOutcome.DELIVERED, None, ""),
        (plain(204), DeliveryOutcome.DELIVERED, None, ""),
        (plain(202, "queued"), DeliveryOutcome.DELIVERED, None, ""),
        (reply(answers.rate_limited(0.376, header="")), DeliveryOutcome.TRY_AGAIN, 0.376, "rate limited"),
        (reply(answers.rate_limited(0.376, header="1")), DeliveryOutcome.TRY_AGAIN, 1.0, "rate limited"),
        (
            reply(answers.rate_limited(43.2, header="2", scope="shared")),
            DeliveryOutcome.TRY_AGAIN,
            43.2,
            "rate limited",
        ),
        (plain(429, "<html>", retry_after="7"), DeliveryOutcome.TRY_AGAIN, 7.0, "rate limited"),
        (plain(429, {"retry_after": 10**9}), DeliveryOutcome.TRY_AGAIN, 86_400.0, "rate limited"),
        (reply(answers.banned()), DeliveryOutcome.TRY_AGAIN, 600.0, "blocked"),
        (reply(answers.banned(html=True)), DeliveryOutcome.TRY_AGAIN, 600.0, "blocked"),
        (plain(429, '{"retry_after": NaN}', retry_after="soon"), DeliveryOutcome.TRY_AGAIN, 600.0, "blocked"),
        (plain(429, {"retry_after": -1}), DeliveryOutcome.TRY_AGAIN, 600.0, "blocked"),
        (reply(answers.unknown_webhook()), DeliveryOutcome.CHANNEL_DEAD, None, "does not know this webhook"),
        (plain(404, "<html>"), DeliveryOutcome.CHANNEL_DEAD, None, "does not know this webhook"),
        (reply(answers.bad_token()), DeliveryOutcome.CHANNEL_DEAD, None, "token"),
        (plain(401), DeliveryOutcome.CHANNEL_DEAD, None, "token"),
        (reply(answers.no_permission()), DeliveryOutcome.CHANNEL_DEAD, None, "no permission to post"),
        (reply(answers.blocked_agent()), DeliveryOutcome.CHANNEL_DEAD, None, "Cloudflare"),
        (
            reply(answers.refusal(403, 40333, "internal network error")),
            DeliveryOutcome.CHANNEL_DEAD,
            None,
            "Cloudflare",
        ),
        (plain(403, "<html>forbidden</html>"), DeliveryOutcome.CHANNEL_DEAD, None, "forbids"),
        (reply(answers.forum_channel()), DeliveryOutcome.CHANNEL_DEAD, None, "forum channel"),
        (
            reply(answers.refusal(404, 10003, "Unknown Channel")),
            DeliveryOutcome.CHANNEL_DEAD,
            None,
            "no longer exists",
        ),
        (
            reply(answers.refusal(400, 50083, "Thread is archived")),
            DeliveryOutcome.CHANNEL_DEAD,
            None,
            "archived",
        ),
        (plain(400, NESTED), DeliveryOutcome.REFUSED_BODY, None, "embeds.0.title: Must be 256"),
        (plain(400, {"embeds": ["0"]}), DeliveryOutcome.REFUSED_BODY, None, "rejected"),
        (
            reply(answers.refusal(400, 50006, "Cannot send an empty message")),
            DeliveryOutcome.REFUSED_BODY,
            None,
            "empty",
        ),
        (reply(answers.refusal(400, 50109, "invalid JSON")), DeliveryOutcome.REFUSED_BODY, None, "JSON"),
        (reply(answers.refusal(400, 200000, "blocked")), DeliveryOutcome.REFUSED_BODY, None, "AutoMod"),
        (
            reply(answers.refusal(413, 40005, "Request entity too large")),
            DeliveryOutcome.REFUSED_BODY,
            None,
            "too large",
        ),
        (plain(418, "teapot"), DeliveryOutcome.REFUSED_BODY, None, "teapot"),
        (plain(408), DeliveryOutcome.TRY_AGAIN, None, "too long"),
        (reply(answers.server_error(500)), DeliveryOutcome.TRY_AGAIN, None, "500"),
        (reply(answers.server_error(502)), DeliveryOutcome.TRY_AGAIN, None, "502"),
        (plain(503, "", retry_after="30"), DeliveryOutcome.TRY_AGAIN, 30.0, "503"),
        (plain(504), DeliveryOutcome.TRY_AGAIN, None, "504"),
        (plain(302, "", location="https://login.example"), DeliveryOutcome.TRY_AGAIN, None, "redirect"),
        (
            NotSent("could not reach discord.com …8899: Connection refused"),
            DeliveryOutcome.TRY_AGAIN,
            None,
            "refused",
        ),
        (
            MaybeSent("sent to discord.com …8899: no answer within 10 s"),
            DeliveryOutcome.MAYBE_DELIVERED,
            None,
            "no answer",
        ),
    ],
)
def test_each_answer_has_its_verdict_its_wait_and_its_reason(
    answer: HttpResponse | NotSent | MaybeSent, expected: DeliveryOutcome, wait_s: float | None, said: str
) -> None:
    receipt = interpret_response(answer)
    assert (receipt.outcome, receipt.retry_after_s) == (expected, wait_s)
    assert said in receipt.why
    assert bool(interpret_response(answer).advice) is (expected is not DeliveryOutcome.DELIVERED)


def test_every_nested_error_is_named_with_its_path() -> None:
    assert flatten(NESTED["errors"]) == [
        "embeds.0.fields.3.value: Must be 1024 or fewer in length.",
        "embeds.0.title: Must be 256 or fewer in length.",
    ]


@pytest.mark.parametrize(
    "body", [b"[" * 60_000, b'{"errors":' + b'{"a":' * 500 + b"1" + b"}" * 501, b"\xff\xfe", b"1" * 9999]
)
def test_a_hostile_body_is_a_refusal_like_any_other(body: bytes) -> None:
    receipt = interpret_response(HttpResponse(400, {}, body))
    assert receipt.outcome is DeliveryOutcome.REFUSED_BODY
    assert len(receipt.why) <= 500


def test_an_answer_that_echoes_the_address_does_not_put_the_token_into_the_reason() -> None:
    echo = f"Cannot POST /api/v10/webhooks/112233445566778899/{TOKEN}?wait=true"
    for answer in (plain(405, echo), plain(500, {"message": echo}), plain(400, {"errors": {echo: ["x"]}})):
        assert TOKEN not in interpret_response(answer).why


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(st.sampled_from(["code", "message", "errors", "_errors", "retry_after"]), inner)
    ),
)


@given(st.integers(100, 599), JSON.map(json.dumps).map(str.encode) | st.binary(), st.text())
def test_no_answer_is_without_a_verdict(status: int, body: bytes, retry_after: str) -> None:
    advice = interpret_response(HttpResponse(status, {"retry-after": retry_after}, body))
    assert advice.outcome is DeliveryOutcome.DELIVERED or (advice.why and advice.advice)


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
    answer: HttpResponse | NotSent | MaybeSent, *, for_all: bool
) -> None:
    assert interpret_response(answer).for_all is for_all


def test_an_inbox_that_does_not_listen_is_not_blamed_on_the_network() -> None:
    unreachable = NotSent("could not reach 127.0.0.1 …7548: Connection refused")
    assert "jobmon inbox" in interpret_response(unreachable).advice
    assert "proxy" in interpret_response(NotSent("could not reach discord.com …7548: timeout")).advice
