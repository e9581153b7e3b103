from __future__ import annotations

import pytest

from jobmon_core import __version__
from jobmon_core.domain.channels import DeliveryOutcome, Route, Tone
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry, apply_receipt, mark_attempt
from jobmon_core.domain.delivery.routing import Channel
from jobmon_core.domain.webhook import Mentions, Webhook
from jobmon_core.notify.discord.channel import DiscordChannel
from jobmon_core.notify.test_message import worst_case_message
from tests.support import discord_answers as answers
from tests.support.discord_answers import Scripted
from tests.support.fake_discord import FakeDiscord

NOW = 1_754_500_000
ENTRY = OutboxEntry(
    Message("4211-0", Route.ERROR, Tone.FAILURE, "train failed", evidence=("Killed",), created_s=NOW)
)


def channel_to(url: str, mentions: Mentions | None = None) -> DiscordChannel:
    return DiscordChannel(Webhook.parse(url), mentions or Mentions(), timeout_s=20.0)


def test_a_message_arrives_once_and_is_delivered(discord: FakeDiscord) -> None:
    assert channel_to(discord.error_url).deliver(ENTRY).outcome is DeliveryOutcome.DELIVERED
    (payload,) = discord.received(Route.ERROR)
    assert payload["content"] == "❌ train failed"
    assert discord.received(Route.SUCCESS) == []
    assert discord.violations == []


def test_the_message_is_sent_to_version_10_of_the_api(discord: FakeDiscord) -> None:
    channel_to(discord.error_url).deliver(ENTRY)
    assert discord.attempts[0].path.startswith("/api/v10/webhooks/")


def test_a_message_to_a_thread_names_it(discord: FakeDiscord) -> None:
    channel_to(f"{discord.error_url}?thread_id=42").deliver(ENTRY)
    assert discord.attempts[0].path.endswith("?wait=true&thread_id=42")


def test_the_user_agent_names_jobmon_and_its_version(discord: FakeDiscord) -> None:
    channel_to(discord.error_url).deliver(ENTRY)
    assert (
        discord.attempts[0].headers["user-agent"]
        == f"DiscordBot (https://github.com/jobmon/jobmon, {__version__})"
    )


@pytest.mark.parametrize("route", list(Route))
def test_the_largest_message_is_accepted_in_both_forms(route: Route, discord: FakeDiscord) -> None:
    mentions = Mentions(users=("123456789012345678",))
    for entry in (
        OutboxEntry(worst_case_message("team", route, NOW)),
        OutboxEntry(worst_case_message("team", route, NOW), plain=True),
    ):
        assert channel_to(discord.url(route), mentions).deliver(entry).outcome is DeliveryOutcome.DELIVERED
    assert discord.violations == []


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (answers.no_content(), DeliveryOutcome.DELIVERED),
        (answers.rate_limited(0.05), DeliveryOutcome.TRY_AGAIN),
        (answers.banned(), DeliveryOutcome.TRY_AGAIN),
        (answers.unknown_webhook(), DeliveryOutcome.CHANNEL_DEAD),
        (answers.bad_token(), DeliveryOutcome.CHANNEL_DEAD),
        (answers.no_permission(), DeliveryOutcome.CHANNEL_DEAD),
        (answers.blocked_agent(), DeliveryOutcome.CHANNEL_DEAD),
        (answers.forum_channel(), DeliveryOutcome.CHANNEL_DEAD),
        (answers.server_error(502), DeliveryOutcome.TRY_AGAIN),
        (answers.hang(), DeliveryOutcome.MAYBE_DELIVERED),
        (answers.close_read(), DeliveryOutcome.MAYBE_DELIVERED),
        (answers.break_off(), DeliveryOutcome.DELIVERED),
    ],
)
def test_each_http_response_has_its_outcome(
    answer: Scripted, verdict: DeliveryOutcome, discord: FakeDiscord
) -> None:
    discord.script(answer)
    assert channel_to(discord.error_url).deliver(ENTRY).outcome is verdict


def test_a_wrong_token_is_a_dead_channel(discord: FakeDiscord) -> None:
    assert channel_to(f"{discord.error_url}x").deliver(ENTRY).outcome is DeliveryOutcome.CHANNEL_DEAD


def test_a_refused_message_arrives_in_its_plain_form(discord: FakeDiscord) -> None:
    discord.script(answers.refusal(400, 50035, "Invalid Form Body"))
    channel = channel_to(discord.error_url)
    entry = mark_attempt(ENTRY, NOW)
    entry = apply_receipt(entry, channel.deliver(entry), NOW)
    assert entry.plain
    entry = mark_attempt(entry, NOW)
    assert apply_receipt(entry, channel.deliver(entry), NOW).delivered_s == NOW
    (payload,) = discord.received(Route.ERROR)
    assert "embeds" not in payload
    assert "train failed" in payload["content"]


def test_a_lost_answer_leads_to_a_marked_repeat(discord: FakeDiscord) -> None:
    discord.script(answers.close_read(saves=True))
    channel = channel_to(discord.error_url)
    entry = mark_attempt(ENTRY, NOW)
    entry = mark_attempt(apply_receipt(entry, channel.deliver(entry), NOW), NOW)
    channel.deliver(entry)
    first, second = discord.wait_for(2, route=Route.ERROR)
    assert "possible repeat" not in str(first)
    assert "possible repeat" in str(second)


def test_a_channel_is_named_without_its_secret() -> None:
    webhook = Webhook.parse("https://discord.com/api/webhooks/112233445566778899/s3cret-token")
    channel: Channel = DiscordChannel(webhook)
    assert channel.name == "Discord (discord.com …8899)"
    assert "s3cret" not in repr(channel)
