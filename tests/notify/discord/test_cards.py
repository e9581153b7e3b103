from __future__ import annotations

import pytest

from jobmon_core.domain.channels import DeliveryOutcome, Route, Tone
from jobmon_core.domain.delivery.card import Card, CardTone
from jobmon_core.domain.delivery.outbox import Field
from jobmon_core.domain.webhook import Webhook
from jobmon_core.notify.discord.channel import DiscordChannel
from tests.support import discord_answers as answers
from tests.support.discord_answers import Scripted
from tests.support.fake_discord import FakeDiscord

NOW_S = 1_754_500_000.0
CARD = Card(CardTone.RUNNING, "train (12) is running", "██░░ 50.0%", (Field("Loss", "0.35"),))
ENDED = Card(Tone.SUCCESS, "train (12) completed in 3h 12m")
SUPPRESS_NOTIFICATIONS = 4096


def cards(discord: FakeDiscord, thread: str = "") -> DiscordChannel:
    return DiscordChannel(Webhook.parse(discord.success_url + thread), card_timeout_s=30.0)


def posted(discord: FakeDiscord) -> str:
    return cards(discord).post_card(CARD, NOW_S)[1]


def test_a_card_is_posted_silently_as_one_embed(discord: FakeDiscord) -> None:
    receipt, message_id = cards(discord).post_card(CARD, NOW_S)
    assert receipt.outcome is DeliveryOutcome.DELIVERED
    assert message_id.isdigit()
    (payload,) = discord.received(Route.SUCCESS)
    assert payload["flags"] == SUPPRESS_NOTIFICATIONS
    assert "content" not in payload
    (embed,) = payload["embeds"]
    assert embed["title"] == "🟣 train (12) is running"
    assert embed["description"] == "██░░ 50.0%"
    assert embed["fields"] == [{"name": "Loss", "value": "0.35", "inline": True}]
    assert embed["timestamp"] == "2025-08-06T17:06:40+00:00"
    assert discord.violations == []


def test_an_edit_replaces_the_content_of_the_same_message(discord: FakeDiscord) -> None:
    receipt = cards(discord).edit_card(posted(discord), ENDED, NOW_S)
    assert receipt.outcome is DeliveryOutcome.DELIVERED
    (shown,) = discord.shown()
    assert shown["embeds"][0]["title"] == "✅ train (12) completed in 3h 12m"
    assert shown["allowed_mentions"] == {"parse": []}
    assert len(discord.received()) == 1
    assert discord.violations == []


def test_a_card_in_a_thread_is_edited_there(discord: FakeDiscord) -> None:
    in_thread = cards(discord, "?thread_id=42")
    in_thread.edit_card(in_thread.post_card(CARD, NOW_S)[1], ENDED, NOW_S)
    assert [attempt.path.partition("?")[2] for attempt in discord.attempts] == [
        "wait=true&thread_id=42",
        "thread_id=42",
    ]


def test_an_edit_of_a_message_that_was_deleted_is_refused_and_the_channel_stays_alive(
    discord: FakeDiscord,
) -> None:
    receipt = cards(discord).edit_card("123", ENDED, NOW_S)
    assert receipt.outcome is DeliveryOutcome.REFUSED_BODY
    assert receipt.why == "the message was deleted in Discord (404, Unknown Message)"


@pytest.mark.parametrize(
    ("answer", "outcome", "retry_after_s"),
    [
        (answers.rate_limited(0.4, header="1"), DeliveryOutcome.TRY_AGAIN, 1.0),
        (answers.too_many_edits(), DeliveryOutcome.TRY_AGAIN, 600.0),
        (answers.server_error(), DeliveryOutcome.TRY_AGAIN, None),
        (answers.unknown_webhook(), DeliveryOutcome.CHANNEL_DEAD, None),
        (answers.close_read(), DeliveryOutcome.MAYBE_DELIVERED, None),
    ],
)
def test_the_answer_to_an_edit_is_interpreted(
    discord: FakeDiscord, answer: Scripted, outcome: DeliveryOutcome, retry_after_s: float | None
) -> None:
    message_id = posted(discord)
    discord.script(answer)
    receipt = cards(discord).edit_card(message_id, ENDED, NOW_S)
    assert (receipt.outcome, receipt.retry_after_s) == (outcome, retry_after_s)
    assert discord.success_url.rpartition("/")[2] not in receipt.why


@pytest.mark.parametrize("body", [b"{}", b"[]", b'{"id": 5}', b'{"id": "../../evil"}', b'{"id": "1"'])
def test_a_response_without_a_message_id_gives_none(discord: FakeDiscord, body: bytes) -> None:
    discord.script(Scripted(200, body=body, saves=True))
    _, message_id = cards(discord).post_card(CARD, NOW_S)
    assert message_id == ""


def test_a_card_is_within_the_limits_whatever_its_texts(discord: FakeDiscord) -> None:
    evil = "*" * 5000 + "@everyone" * 50
    worst = Card(Tone.FAILURE, evil, evil, tuple(Field(evil, evil) for _ in range(40)))
    assert cards(discord).edit_card(posted(discord), worst, NOW_S).outcome is DeliveryOutcome.DELIVERED
    assert discord.violations == []
