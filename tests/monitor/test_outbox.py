from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.domain.channels import ConfiguredChannel, Route
from jobmon_core.domain.config import Config
from jobmon_core.domain.delivery.outbox import DeliveryOutcome, Message, OutboxEntry, Receipt, Tone
from jobmon_core.domain.errors import ConfigInvalid, StorageFailed
from jobmon_core.domain.webhook import Webhook
from jobmon_core.monitor.outbox import Outbox, reopen
from jobmon_core.store.dead_channels import DeadChannels
from jobmon_core.system.worker import Worker
from tests.support.clock import FakeClock
from tests.support.processes import kill
from tests.support.webhooks import with_webhooks

OWED = OutboxEntry(Message("m1", Route.ERROR, Tone.FAILURE, "it failed"), channel="error")
HOOK = Webhook("https://discord.com", "123450001", "token")
OTHER = Webhook("https://discord.com", "123450002", "token")
CONFIG = with_webhooks(error=HOOK)


def delivered(_channel: ConfiguredChannel, _entries: OutboxEntry) -> Receipt:
    return Receipt(DeliveryOutcome.DELIVERED)


def killed(_channel: ConfiguredChannel, _entries: OutboxEntry) -> Receipt:
    kill(os.getpid())
    return Receipt(DeliveryOutcome.DELIVERED)


@pytest.fixture(autouse=True)
def _marks(tmp_path: Path) -> None:
    Office.dead = DeadChannels(tmp_path / "marks")
    Office.dead.folder.mkdir()


class Office:
    """An outbox, the entries that it saved, and the configuration that it reads."""

    dead: DeadChannels

    def __init__(self, send: Callable[[ConfiguredChannel, OutboxEntry], Receipt] = delivered) -> None:
        self.config: Config | ConfigInvalid = CONFIG
        self.noted: list[OutboxEntry] = []
        self.clock = FakeClock()
        self.outbox = Outbox(self._configuration, send, Worker(), self.clock, self.dead)

    def _configuration(self) -> Config:
        if isinstance(self.config, ConfigInvalid):
            raise self.config
        return self.config

    def deliver(self, entry: OutboxEntry = OWED) -> OutboxEntry:
        (after,) = self.outbox.deliver(entry, self.noted.append)
        return after


def test_a_message_that_arrived_is_ticked_off() -> None:
    office = Office()
    entry = office.deliver()
    assert entry.delivered_s == office.clock.now()
    assert (entry.attempts, entry.attempt_since_s, entry.maybe_delivered) == (1, None, False)


def test_an_attempt_is_noted_before_it_is_made(tmp_path: Path) -> None:
    def send(_channel: ConfiguredChannel, entry: OutboxEntry) -> Receipt:
        assert entry.attempt_since_s is not None
        return Receipt(DeliveryOutcome.DELIVERED, (tmp_path / "noted").read_text(encoding="ascii"))

    office = Office(send)

    def note(entry: OutboxEntry) -> None:
        (tmp_path / "noted").write_text(str(entry.attempt_since_s), encoding="ascii")

    (entry,) = office.outbox.deliver(OWED, note)
    assert entry.delivered_s is not None


def test_an_attempt_that_cannot_be_noted_is_not_made(tmp_path: Path) -> None:
    def send(_channel: ConfiguredChannel, _entries: OutboxEntry) -> Receipt:
        (tmp_path / "sent").touch()
        return Receipt(DeliveryOutcome.DELIVERED)

    def note(_entries: OutboxEntry) -> None:
        raise StorageFailed("the disk is full")

    with pytest.raises(StorageFailed):
        Office(send).outbox.deliver(OWED, note)
    assert not (tmp_path / "sent").exists()


def test_the_configuration_is_read_anew_for_every_attempt() -> None:
    def send(channel: ConfiguredChannel, _entries: OutboxEntry) -> Receipt:
        return Receipt(DeliveryOutcome.CHANNEL_DEAD, channel.settings.fingerprint)

    office = Office(send)
    assert str(HOOK) in office.deliver().given_up
    office.config = with_webhooks(error=OTHER)
    assert str(OTHER) in office.deliver().given_up


def test_a_message_without_a_webhook_is_kept_with_advice() -> None:
    office = Office()
    office.config = with_webhooks(success=HOOK)
    entry = office.deliver(replace(OWED, channel=""))
    assert "no error webhook is configured" in entry.given_up
    assert "jobmon init" in entry.given_up
    assert not office.noted


def test_a_message_that_met_a_faulty_configuration_can_be_taken_up_again() -> None:
    office = Office()
    office.config = ConfigInvalid("config.json", ["poll.running_s: must be at least 5, found 1"])
    young = replace(OWED.message, created_s=int(office.clock.now()))
    first = replace(OWED, message=young, attempts=3, fingerprint=Office().deliver().fingerprint)
    entry = office.deliver(first)
    assert entry.is_open
    assert entry.next_try_s > office.clock.now()
    office.clock.wait(entry.message.created_s + 100_000)
    entry = office.deliver(first)
    assert "poll.running_s" in entry.given_up
    assert "jobmon recover" in entry.given_up
    assert reopen(entry, CONFIG, Office.dead).is_open


def test_a_child_that_was_killed_may_have_delivered() -> None:
    office = Office(killed)
    entry = office.deliver()
    assert entry.is_open
    assert entry.maybe_delivered
    assert entry.next_try_s > office.clock.now()


def test_a_fault_of_ours_while_sending_loses_nothing() -> None:
    def send(_channel: ConfiguredChannel, _entries: OutboxEntry) -> Receipt:
        raise ZeroDivisionError

    assert Office(send).deliver().is_open


def test_an_attempt_that_was_cut_off_makes_the_next_a_possible_repeat() -> None:
    office = Office()
    office.deliver(replace(OWED, attempts=1, attempt_since_s=5.0))
    (noted,) = office.noted
    assert noted.maybe_delivered
    assert noted.attempts == 2


def test_a_message_that_has_to_wait_stays_owed_and_names_its_channel() -> None:
    def send(_channel: ConfiguredChannel, _entries: OutboxEntry) -> Receipt:
        return Receipt(DeliveryOutcome.TRY_AGAIN, "429", retry_after_s=7.5)

    office = Office(send)
    entry = office.deliver()
    assert entry.is_open
    assert entry.next_try_s == office.clock.now() + 7.5
    assert str(HOOK) in entry.fingerprint
    assert HOOK.token not in entry.fingerprint


def refused(_channel: ConfiguredChannel, _entries: OutboxEntry) -> Receipt:
    return Receipt(DeliveryOutcome.CHANNEL_DEAD, "404")


@pytest.fixture
def given_up() -> OutboxEntry:
    return Office(refused).deliver(replace(OWED, attempts=3, plain=True, next_try_s=99.0))


@pytest.mark.parametrize("webhook", [OTHER, replace(HOOK, token="mended"), replace(HOOK, thread_id="7")])
def test_a_message_is_taken_up_again_when_its_channel_is_another_one(
    given_up: OutboxEntry, webhook: Webhook
) -> None:
    entry = reopen(given_up, with_webhooks(error=webhook), Office.dead)
    assert entry.is_open
    assert (entry.attempts, entry.plain, entry.next_try_s) == (0, False, 0.0)


@pytest.mark.parametrize("config", [CONFIG, Config(), with_webhooks(success=OTHER)])
def test_a_message_stays_given_up_while_its_channel_is_the_same_or_none(
    given_up: OutboxEntry, config: Config
) -> None:
    assert reopen(given_up, config, Office.dead) == given_up


@pytest.mark.parametrize("entry", [OWED, replace(OWED, delivered_s=1.0)])
def test_what_was_not_given_up_is_left_alone(entry: OutboxEntry) -> None:
    assert reopen(entry, with_webhooks(error=OTHER), Office.dead) == entry


def test_a_dead_channel_is_not_called_again() -> None:
    Office(refused).deliver()
    calls = Office()
    entry = calls.deliver(replace(OWED, message=replace(OWED.message, id="m2")))
    assert entry.given_up == "404"
    assert not calls.noted


def test_a_message_is_taken_up_again_when_its_channel_was_found_alive(given_up: OutboxEntry) -> None:
    Office.dead.clear(given_up.fingerprint)
    assert reopen(given_up, CONFIG, Office.dead).is_open


def test_a_message_whose_answers_are_all_lost_is_repeated_ever_more_rarely_and_not_for_ever() -> None:
    office = Office(killed)
    entry, waits = OWED, []
    while entry.is_open:
        entry = office.deliver(entry)
        waits.append(entry.next_try_s - office.clock.now())
    assert len(waits) == 6
    assert waits[:-1] == sorted(waits[:-1])
    assert "probably arrived" in entry.given_up


def test_an_attempt_that_was_cut_off_just_now_may_still_arrive_and_is_waited_for() -> None:
    office = Office()
    cut_off = replace(OWED, attempts=1, attempt_since_s=office.clock.now() - 1)
    waiting = office.deliver(cut_off)
    assert waiting == replace(cut_off, next_try_s=office.clock.now() + 9)
    assert not office.noted
    office.clock.wait(9)
    assert office.deliver(waiting).delivered_s
    assert office.noted[0].maybe_delivered


def limited(_channel: ConfiguredChannel, _entries: OutboxEntry) -> Receipt:
    return Receipt(DeliveryOutcome.TRY_AGAIN, "429", retry_after_s=40.0, for_all=True)


def test_what_refuses_one_is_not_asked_by_the_others_meanwhile() -> None:
    office, other = Office(limited), Office()
    office.deliver()
    younger = replace(OWED, message=replace(OWED.message, id="m2", created_s=5))
    waiting = other.deliver(younger)
    assert waiting.next_try_s > other.clock.now() + 40
    assert waiting.attempts == 0
    assert not other.noted


def test_after_a_refusal_the_oldest_goes_first() -> None:
    first, second = Office(limited), Office()
    older = first.deliver()
    younger = second.deliver(replace(OWED, message=replace(OWED.message, id="m2", created_s=5)))
    second.clock.now_s = older.next_try_s
    assert second.deliver(younger).is_open
    back = Office()
    back.clock.now_s = older.next_try_s
    assert back.deliver(older).delivered_s
    assert second.deliver(younger).delivered_s


def test_the_other_channel_is_not_held_up() -> None:
    Office(limited).deliver()
    office = Office()
    office.config = with_webhooks(success=OTHER)
    success = replace(OWED.message, id="m2", route=Route.SUCCESS)
    assert office.deliver(replace(OWED, message=success, channel="success")).delivered_s
