from __future__ import annotations

import json
from dataclasses import replace

import pytest

from jobmon_core.domain.channels import DeliveryOutcome
from jobmon_core.domain.errors import ConfigInvalid
from tests.support.channel_cases import BY_KIND, ENTRY, FAILED, TOKEN, channel_at, config_of
from tests.support.discord_answers import Scripted
from tests.support.receiver import Receiver

CASE = BY_KIND["matrix"]
ROOM = "/_matrix/client/v3/rooms/%21room%3Aexample.org/send/m.room.message/jobmon-"


def test_a_repeat_has_the_transaction_of_the_first_attempt() -> None:
    other = replace(ENTRY, message=replace(FAILED, id="4211_8/end"))
    with Receiver() as receiver:
        channel = channel_at(CASE, receiver.url)
        for entry in (ENTRY, replace(ENTRY, attempts=2, maybe_delivered=True), other):
            channel.deliver(entry)
    first, repeat, another = receiver.requests
    assert first.method == "PUT"
    assert first.path == repeat.path != another.path
    assert first.path.startswith(ROOM)
    assert first.headers["authorization"] == f"Bearer {TOKEN}"


def test_the_html_shows_markup_of_a_message_as_text_and_mentions_nobody() -> None:
    message = replace(FAILED, summary="<b>& @room</b>")
    with Receiver() as receiver:
        channel_at(CASE, receiver.url).deliver(replace(ENTRY, message=message))
    (payload,) = receiver.payloads
    assert "&lt;b&gt;&amp; @room&lt;/b&gt;" in payload["formatted_body"]
    assert "<pre><code>step 3" in payload["formatted_body"]
    assert payload["m.mentions"] == {}
    assert payload["msgtype"] == "m.text"


@pytest.mark.parametrize(
    ("status", "answer", "outcome", "wait_s"),
    [
        (429, {"errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": 2500}, DeliveryOutcome.TRY_AGAIN, 2.5),
        (429, {"errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": 600_000}, DeliveryOutcome.TRY_AGAIN, 600.0),
        (401, {"errcode": "M_UNKNOWN_TOKEN"}, DeliveryOutcome.CHANNEL_DEAD, None),
        (403, {"errcode": "M_FORBIDDEN", "error": "not in the room"}, DeliveryOutcome.CHANNEL_DEAD, None),
        (413, {"errcode": "M_TOO_LARGE"}, DeliveryOutcome.REFUSED_BODY, None),
        (502, {}, DeliveryOutcome.TRY_AGAIN, None),
    ],
)
def test_the_errors_of_the_homeserver_decide(
    status: int, answer: dict[str, object], outcome: DeliveryOutcome, wait_s: float | None
) -> None:
    with Receiver(Scripted(status, body=json.dumps(answer).encode())) as receiver:
        receipt = channel_at(CASE, receiver.url).deliver(ENTRY)
    assert (receipt.outcome, receipt.retry_after_s) == (outcome, wait_s)


def test_the_alias_of_a_room_is_refused_with_advice() -> None:
    keys = {"type": "matrix", "server": "https://matrix.org", "room": "#room:matrix.org", "token": TOKEN}
    with pytest.raises(ConfigInvalid, match="which starts with !"):
        config_of({"channels": {"c": keys}})
