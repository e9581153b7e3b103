from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.domain.channels import Route
from jobmon_core.domain.config import Config
from jobmon_core.domain.delivery.outbox import DeliveryOutcome, Message, OutboxEntry, Receipt, Tone
from jobmon_core.domain.errors import ConfigInvalid, StorageFailed
from jobmon_core.domain.webhook import Webhook
from jobmon_core.monitor.outbox import Outbox, reopen
from jobmon_core.store.dead_channels import DeadChannels
from jobmon_core.system.worker import Worker
from tests.support.clock import FakeClock
from tests.support.processes import kill

OWED = OutboxEntry(Message("m1", Route.ERROR, Tone.FAILURE, "it failed"))
HOOK = Webhook("https://discord.com", "123450001", "token")
OTHER = Webhook("https://discord.com", "123450002", "token")
CONFIG = Config(error_webhook=HOOK)


def delivered(_config: Config, _entries: OutboxEntry) -> Receipt:
    return Receipt(DeliveryOutcome.DELIVERED)


def killed(_config: Config, _entries: OutboxEntry) -> Receipt:
    kill(os.getpid())
    return Receipt(DeliveryOutcome.DELIVERED)


@pytest.fixture(autouse=True)
def _marks(tmp_path: Path) -> None:
    OutboxFixture.dead = DeadChannels(tmp_path / "marks")
    OutboxFixture.dead.folder.mkdir()


class OutboxFixture:
    """An outbox with its configuration, and the attempts that it saved."""

    dead: DeadChannels

    def __init__(self, send: Callable[[Config, OutboxEntry], Receipt] = delivered) -> None:
        self.config: Config | ConfigInvalid = CONFIG
        self.noted: list[OutboxEntry] = []
        self.clock = FakeClock()
        self.outbox = Outbox(self._configuration, send, Worker(), self.clock, self.dead)

    def _configuration(self) -> Config:
        if isinstance(self.config, ConfigInvalid):
            raise self.config
        return self.config

    def deliver(self, entry: OutboxEntry = OWED) -> OutboxEntry:
        return self.outbox.deliver(entry, self.noted.append)


def test_a_delivered_message_is_marked_as_delivered() -> None:
    fixture = OutboxFixture()
    entry = fixture.deliver()
    assert entry.delivered_s == fixture.clock.now()
    assert (entry.attempts, entry.attempt_since_s, entry.maybe_delivered) == (1, None, False)


def test_an_attempt_is_saved_before_it_is_made(tmp_path: Path) -> None:
    def send(_config: Config, entry: OutboxEntry) -> Receipt:
        assert entry.attempt_since_s is not None
        return Receipt(DeliveryOutcome.DELIVERED, (tmp_path / "noted").read_text(encoding="ascii"))

    fixture = OutboxFixture(send)

    def note(entry: OutboxEntry) -> None:
        (tmp_path / "noted").write_text(str(entry.attempt_since_s), encoding="ascii")

    assert fixture.outbox.deliver(OWED, note).delivered_s is not None


def test_an_attempt_that_cannot_be_saved_is_not_made(tmp_path: Path) -> None:
    def send(_config: Config, _entries: OutboxEntry) -> Receipt:
        (tmp_path / "sent").touch()
        return Receipt(DeliveryOutcome.DELIVERED)

    def note(_entries: OutboxEntry) -> None:
        raise StorageFailed("the disk is full")

    with pytest.raises(StorageFailed):
        OutboxFixture(send).outbox.deliver(OWED, note)
    assert not (tmp_path / "sent").exists()


def test_every_attempt_reads_the_configuration_again() -> None:
    def send(config: Config, _entries: OutboxEntry) -> Receipt:
        return Receipt(DeliveryOutcome.CHANNEL_DEAD, str(config.webhook(Route.ERROR)))

    fixture = OutboxFixture(send)
    assert fixture.deliver().given_up == str(HOOK)
    fixture.config = Config(error_webhook=OTHER)
    assert fixture.deliver().given_up == str(OTHER)


def test_a_message_without_a_webhook_is_kept_with_advice() -> None:
    fixture = OutboxFixture()
    fixture.config = Config(success_webhook=HOOK)
    entry = fixture.deliver()
    assert "no error webhook is configured" in entry.given_up
    assert "jobmon init" in entry.given_up
    assert not fixture.noted


def test_a_message_given_up_for_an_invalid_configuration_can_be_reopened() -> None:
    fixture = OutboxFixture()
    fixture.config = ConfigInvalid("config.json", ["poll.running_s: 1 is less than the floor of 5"])
    young = replace(OWED.message, created_s=int(fixture.clock.now()))
    first = replace(OWED, message=young, attempts=3, channel=OutboxFixture().deliver().channel)
    entry = fixture.deliver(first)
    assert entry.is_open
    assert entry.next_try_s > fixture.clock.now()
    fixture.clock.wait(entry.message.created_s + 100_000)
    entry = fixture.deliver(first)
    assert "poll.running_s" in entry.given_up
    assert "jobmon recover" in entry.given_up
    assert reopen(entry, CONFIG, OutboxFixture.dead).is_open


def test_a_killed_child_process_may_have_delivered() -> None:
    fixture = OutboxFixture(killed)
    entry = fixture.deliver()
    assert entry.is_open
    assert entry.maybe_delivered
    assert entry.next_try_s > fixture.clock.now()


def test_an_internal_error_while_sending_loses_no_message() -> None:
    def send(_config: Config, _entries: OutboxEntry) -> Receipt:
        raise ZeroDivisionError

    assert OutboxFixture(send).deliver().is_open


def test_an_interrupted_attempt_makes_the_next_a_possible_repeat() -> None:
    fixture = OutboxFixture()
    fixture.deliver(replace(OWED, attempts=1, attempt_since_s=5.0))
    (noted,) = fixture.noted
    assert noted.maybe_delivered
    assert noted.attempts == 2


def test_a_postponed_message_stays_pending_and_names_its_channel() -> None:
    def send(_config: Config, _entries: OutboxEntry) -> Receipt:
        return Receipt(DeliveryOutcome.TRY_AGAIN, "429", retry_after_s=7.5)

    fixture = OutboxFixture(send)
    entry = fixture.deliver()
    assert entry.is_open
    assert entry.next_try_s == fixture.clock.now() + 7.5
    assert str(HOOK) in entry.channel
    assert HOOK.token not in entry.channel


def refused(_config: Config, _entries: OutboxEntry) -> Receipt:
    return Receipt(DeliveryOutcome.CHANNEL_DEAD, "404")


@pytest.fixture
def given_up() -> OutboxEntry:
    return OutboxFixture(refused).deliver(replace(OWED, attempts=3, plain=True, next_try_s=99.0))


@pytest.mark.parametrize("webhook", [OTHER, replace(HOOK, token="mended"), replace(HOOK, thread_id="7")])
def test_a_message_is_reopened_when_its_channel_has_changed(given_up: OutboxEntry, webhook: Webhook) -> None:
    entry = reopen(given_up, Config(error_webhook=webhook), OutboxFixture.dead)
    assert entry.is_open
    assert (entry.attempts, entry.plain, entry.next_try_s) == (0, False, 0.0)


@pytest.mark.parametrize("config", [CONFIG, Config(), Config(success_webhook=OTHER)])
def test_a_message_stays_given_up_while_its_channel_is_the_same_or_none(
    given_up: OutboxEntry, config: Config
) -> None:
    assert reopen(given_up, config, OutboxFixture.dead) == given_up


@pytest.mark.parametrize("entry", [OWED, replace(OWED, delivered_s=1.0)])
def test_a_message_that_was_not_given_up_is_not_reopened(entry: OutboxEntry) -> None:
    assert reopen(entry, Config(error_webhook=OTHER), OutboxFixture.dead) == entry


def test_a_dead_channel_is_not_called_again() -> None:
    OutboxFixture(refused).deliver()
    calls = OutboxFixture()
    entry = calls.deliver(replace(OWED, message=replace(OWED.message, id="m2")))
    assert entry.given_up == "404"
    assert not calls.noted


def test_a_message_is_reopened_when_its_channel_works_again(given_up: OutboxEntry) -> None:
    OutboxFixture.dead.clear(given_up.channel)
    assert reopen(given_up, CONFIG, OutboxFixture.dead).is_open


def test_a_message_whose_responses_are_all_lost_is_repeated_with_growing_delays_and_then_given_up() -> None:
    fixture = OutboxFixture(killed)
    entry, waits = OWED, []
    while entry.is_open:
        entry = fixture.deliver(entry)
        waits.append(entry.next_try_s - fixture.clock.now())
    assert len(waits) == 6
    assert waits[:-1] == sorted(waits[:-1])
    assert "probably arrived" in entry.given_up


def test_a_message_waits_while_an_interrupted_attempt_may_still_arrive() -> None:
    fixture = OutboxFixture()
    cut_off = replace(OWED, attempts=1, attempt_since_s=fixture.clock.now() - 1)
    waiting = fixture.deliver(cut_off)
    assert waiting == replace(cut_off, next_try_s=fixture.clock.now() + 9)
    assert not fixture.noted
    fixture.clock.wait(9)
    assert fixture.deliver(waiting).delivered_s
    assert fixture.noted[0].maybe_delivered


def limited(_config: Config, _entries: OutboxEntry) -> Receipt:
    return Receipt(DeliveryOutcome.TRY_AGAIN, "429", retry_after_s=40.0, for_all=True)


def test_after_a_refusal_the_other_messages_wait() -> None:
    fixture, other = OutboxFixture(limited), OutboxFixture()
    fixture.deliver()
    younger = replace(OWED, message=replace(OWED.message, id="m2", created_s=5))
    waiting = other.deliver(younger)
    assert waiting.next_try_s > other.clock.now() + 40
    assert waiting.attempts == 0
    assert not other.noted


def test_after_a_refusal_the_oldest_message_is_tried_first() -> None:
    first, second = OutboxFixture(limited), OutboxFixture()
    older = first.deliver()
    younger = second.deliver(replace(OWED, message=replace(OWED.message, id="m2", created_s=5)))
    second.clock.now_s = older.next_try_s
    assert second.deliver(younger).is_open
    back = OutboxFixture()
    back.clock.now_s = older.next_try_s
    assert back.deliver(older).delivered_s
    assert second.deliver(younger).delivered_s


def test_the_other_channel_is_not_held_up() -> None:
    OutboxFixture(limited).deliver()
    fixture = OutboxFixture()
    fixture.config = Config(success_webhook=OTHER)
    success = replace(OWED.message, id="m2", route=Route.SUCCESS)
    assert fixture.deliver(replace(OWED, message=success)).delivered_s
