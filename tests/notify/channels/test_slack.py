from __future__ import annotations

from dataclasses import replace

import pytest

from jobmon_core.domain.channels import DeliveryOutcome
from jobmon_core.domain.delivery.outbox import Field
from tests.support.channel_cases import BY_KIND, ENTRY, FAILED, channel_at, config_of
from tests.support.discord_answers import Scripted
from tests.support.receiver import Receiver

CASE = BY_KIND["slack"]


def test_nothing_in_a_message_mentions_anyone_or_becomes_a_link() -> None:
    markup = "<!channel> <@U123> <https://x|y> *bold* `code` & ```"
    message = replace(
        FAILED, title=markup, summary=markup, evidence=(markup,), fields=(Field(markup, markup),)
    )
    with Receiver() as receiver:
        channel_at(CASE, receiver.url).deliver(replace(ENTRY, message=message))
    (payload,) = receiver.payloads
    blocks = payload["attachments"][0]["blocks"]
    marked = (payload["text"], blocks[1]["text"]["text"])
    assert not any("<" in text or ">" in text for text in marked)
    literal = [blocks[0]["text"], *blocks[2]["fields"]]
    assert {text["type"] for text in literal} == {"plain_text"}
    assert blocks[1]["text"]["text"].count("```") == 2


def test_a_time_is_shown_in_the_time_zone_of_the_reader() -> None:
    with Receiver() as receiver:
        channel_at(CASE, receiver.url).deliver(ENTRY)
    fields = receiver.payloads[0]["attachments"][0]["blocks"][2]["fields"]
    assert fields[0] == {"type": "plain_text", "text": "Node\nn17", "emoji": False}
    assert fields[1]["text"].startswith("Ended\n<!date^1754500000^{date_short_pretty} {time}|2025-08-06 ")


@pytest.mark.parametrize(
    ("status", "body", "outcome"),
    [
        (404, b"no_service", DeliveryOutcome.CHANNEL_DEAD),
        (410, b"channel_is_archived", DeliveryOutcome.CHANNEL_DEAD),
        (400, b"channel_not_found", DeliveryOutcome.CHANNEL_DEAD),
        (400, b"invalid_payload", DeliveryOutcome.REFUSED_BODY),
        (404, b"invalid_blocks", DeliveryOutcome.REFUSED_BODY),
        (500, b"rollup_error", DeliveryOutcome.TRY_AGAIN),
    ],
)
def test_the_words_of_slack_decide(status: int, body: bytes, outcome: DeliveryOutcome) -> None:
    with Receiver(Scripted(status, body=body)) as receiver:
        receipt = channel_at(CASE, receiver.url).deliver(ENTRY)
    assert receipt.outcome is outcome
    assert body.decode() in receipt.why


def test_a_refused_form_is_followed_by_text_alone() -> None:
    with Receiver() as receiver:
        channel_at(CASE, receiver.url).deliver(replace(ENTRY, plain=True))
    (payload,) = receiver.payloads
    assert set(payload) == {"text"}
    assert "Cause: Out of GPU memory." in payload["text"]


def test_the_webhook_of_discord_is_refused_with_advice() -> None:
    data = {
        "channels": {"c": {"type": "slack", "webhook": "https://discord.com/api/webhooks/1/secret/slack"}}
    }
    with pytest.raises(Exception, match='set "type": "discord"') as caught:
        config_of(data)
    assert "secret" not in str(caught.value)
