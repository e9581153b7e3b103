from __future__ import annotations

import json
from dataclasses import replace

import pytest

from jobmon_core.domain.channels import DeliveryOutcome
from jobmon_core.domain.errors import ConfigInvalid
from tests.support.channel_cases import BOT_TOKEN, BY_KIND, ENTRY, FAILED, channel_at, config_of
from tests.support.discord_answers import Scripted
from tests.support.receiver import Receiver

CASE = BY_KIND["telegram"]


def test_the_lead_is_bold_and_the_log_lines_are_preformatted() -> None:
    with Receiver() as receiver:
        channel_at(CASE, receiver.url).deliver(ENTRY)
    (request,) = receiver.requests
    assert request.path == f"/bot{BOT_TOKEN}/sendMessage"
    units = request.payload["text"].encode("utf-16-le")
    marked = {
        entity["type"]: units[2 * entity["offset"] : 2 * (entity["offset"] + entity["length"])].decode(
            "utf-16-le"
        )
        for entity in request.payload["entities"]
    }
    assert marked["bold"] == "❌ train (4211_7) failed after 3h 12m: CUDA out of memory"
    assert marked["pre"].startswith("step 3\ntorch.OutOfMemoryError")
    assert "parse_mode" not in request.payload


def test_nothing_in_a_message_mentions_anyone_or_is_a_command() -> None:
    message = replace(FAILED, summary="ask @someone, send /stop, not /scratch/me")
    with Receiver() as receiver:
        channel_at(CASE, receiver.url).deliver(replace(ENTRY, message=message))
    text = receiver.payloads[0]["text"]
    assert "@someone" not in text
    assert "/stop" not in text
    assert "/scratch/me" in text


@pytest.mark.parametrize(
    ("status", "answer", "outcome", "wait_s"),
    [
        (
            429,
            {"description": "Too Many Requests: retry after 35", "parameters": {"retry_after": 35}},
            DeliveryOutcome.TRY_AGAIN,
            35.0,
        ),
        (400, {"description": "Bad Request: chat not found"}, DeliveryOutcome.CHANNEL_DEAD, None),
        (403, {"description": "Forbidden: bot was blocked by the user"}, DeliveryOutcome.CHANNEL_DEAD, None),
        (400, {"description": "Bad Request: message is too long"}, DeliveryOutcome.REFUSED_BODY, None),
        (
            400,
            {"description": "Bad Request: group chat was upgraded", "parameters": {"migrate_to_chat_id": -9}},
            DeliveryOutcome.CHANNEL_DEAD,
            None,
        ),
    ],
)
def test_the_errors_of_telegram_decide(
    status: int, answer: dict[str, object], outcome: DeliveryOutcome, wait_s: float | None
) -> None:
    with Receiver(Scripted(status, body=json.dumps({"ok": False, **answer}).encode())) as receiver:
        receipt = channel_at(CASE, receiver.url).deliver(ENTRY)
    assert (receipt.outcome, receipt.retry_after_s) == (outcome, wait_s)
    assert str(answer["description"]) in receipt.why


def test_a_wrong_token_or_chat_is_a_fault_that_does_not_quote_it() -> None:
    with pytest.raises(ConfigInvalid) as caught:
        config_of({"channels": {"c": {"type": "telegram", "token": "my-secret-token", "chat": "me"}}})
    assert [fault.partition(":")[0] for fault in caught.value.faults] == [
        "channels.c.token",
        "channels.c.chat",
    ]
    assert "my-secret-token" not in str(caught.value)
