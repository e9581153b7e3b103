from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.domain.channels import DeliveryOutcome, Route, Tone
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry
from jobmon_core.domain.webhook import Webhook
from jobmon_core.notify.discord.channel import DiscordChannel
from tests.support import discord_answers as answers
from tests.support.discord_answers import Scripted
from tests.support.discord_form import SentFile
from tests.support.fake_discord import FakeDiscord

CONTENT = "== Log\nKilled ä\n".encode()


@pytest.fixture
def entry(tmp_path: Path) -> OutboxEntry:
    path = tmp_path / "slurm-12-x.diagnostics.txt"
    path.write_bytes(CONTENT)
    return OutboxEntry(Message("12/end", Route.ERROR, Tone.FAILURE, "train failed", attachment=str(path)))


def deliver(discord: FakeDiscord, entry: OutboxEntry) -> DeliveryOutcome:
    channel = DiscordChannel(Webhook.parse(discord.error_url), timeout_s=30.0)
    return channel.deliver(entry).outcome


def test_a_file_arrives_with_its_message_in_the_documented_form(
    discord: FakeDiscord, entry: OutboxEntry
) -> None:
    assert deliver(discord, entry) is DeliveryOutcome.DELIVERED
    assert discord.files == [SentFile("slurm-12-x.diagnostics.txt", CONTENT)]
    (payload,) = discord.received(Route.ERROR)
    assert payload["content"] == "❌ train failed"
    assert discord.violations == []


@pytest.mark.parametrize(
    "refusal",
    [
        answers.refusal(413, 40005, "Request entity too large"),
        answers.refusal(400, 50035, "Invalid Form Body"),
        answers.no_permission(),
    ],
)
def test_a_message_refused_with_its_file_is_sent_again_without_it(
    discord: FakeDiscord, entry: OutboxEntry, refusal: Scripted
) -> None:
    discord.script(refusal)
    assert deliver(discord, entry) is DeliveryOutcome.DELIVERED
    assert [len(attempt.files) for attempt in discord.attempts] == [1, 0]
    assert len(discord.received()) == 1


def test_a_webhook_that_is_gone_is_asked_once(discord: FakeDiscord, entry: OutboxEntry) -> None:
    discord.script(answers.unknown_webhook())
    assert deliver(discord, entry) is DeliveryOutcome.CHANNEL_DEAD
    assert len(discord.attempts) == 1


def test_a_rate_limit_says_nothing_about_the_file(discord: FakeDiscord, entry: OutboxEntry) -> None:
    discord.script(answers.rate_limited(0.05))
    assert deliver(discord, entry) is DeliveryOutcome.TRY_AGAIN
    assert deliver(discord, replace(entry, attempts=2)) is DeliveryOutcome.DELIVERED
    assert len(discord.files) == 1


def test_a_file_that_vanished_is_left_out(discord: FakeDiscord, entry: OutboxEntry) -> None:
    Path(entry.message.attachment).unlink()
    assert deliver(discord, entry) is DeliveryOutcome.DELIVERED
    assert discord.files == []


@pytest.mark.parametrize("change", [{"plain": True}, {"maybe_delivered": True}, {"attempts": 4}])
def test_what_may_fail_because_of_the_file_is_sent_without_it(
    discord: FakeDiscord, entry: OutboxEntry, change: dict[str, bool]
) -> None:
    assert deliver(discord, replace(entry, **change)) is DeliveryOutcome.DELIVERED  # type: ignore[arg-type]
    assert discord.files == []


@pytest.mark.parametrize("content", [b"", b"x" * (2**20 + 1)])
def test_an_empty_and_a_too_large_file_are_left_out(
    discord: FakeDiscord, entry: OutboxEntry, content: bytes
) -> None:
    Path(entry.message.attachment).write_bytes(content)
    assert deliver(discord, entry) is DeliveryOutcome.DELIVERED
    assert discord.files == []
