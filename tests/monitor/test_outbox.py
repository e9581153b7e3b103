from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.domain.channels import DeliveryOutcome, Receipt, Route, Tone
from jobmon_core.domain.config import Config
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry
from jobmon_core.domain.delivery.routing import ConfiguredChannel
from jobmon_core.domain.errors import ConfigInvalid, StorageFailed
from jobmon_core.domain.webhook import Webhook
from jobmon_core.monitor.outbox import Outbox, reopen
from jobmon_core.store.channels import ChannelFiles
from jobmon_core.system.helper import Helper
from tests.support.clock import FakeClock
from tests.support.processes import kill
from tests.support.webhooks import with_webhooks

ENTRY = OutboxEntry(Message("m1", Route.ERROR, Tone.FAILURE, "it failed"), channel="error")
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
    Bench.dead = ChannelFiles(tmp_path / "marks")
    Bench.dead.folder.mkdir()


class Bench:
    """An outbox, the entries that it saved, and the configuration that it reads."""

    dead: ChannelFiles

    def __init__(self, send: Callable[[ConfiguredChannel, OutboxEntry], Receipt] = delivered) -> None:
        self.config: Config | ConfigInvalid = CONFIG
        self.saved: list[OutboxEntry] = []
        self.clock = FakeClock()
        self.outbox = Outbox(self._configuration, send, Helper(), self.clock, self.dead)

    def _configuration(self) -> Config:
        if isinstance(self.config, ConfigInvalid):
            raise self.config
        return self.config

    def deliver(self, entry: OutboxEntry = ENTRY) -> OutboxEntry:
        (after,) = self.outbox.deliver(entry, self.saved.append)
        return after


def test_a_message_that_arrived_is_marked_delivered() -> None:
    bench = Bench()
    entry = bench.deliver()
    assert entry.delivered_s == bench.clock.now()
    assert (entry.attempts, entry.attempt_since_s, entry.maybe_delivered) == (1, None, False)


def test_an_attempt_is_saved_before_it_is_made(tmp_path: Path) -> None:
    def send(_channel: ConfiguredChannel, entry: OutboxEntry) -> Receipt:
        assert entry.attempt_since_s is not None
        return Receipt(DeliveryOutcome.DELIVERED, (tmp_path / "saved").read_text(encoding="ascii"))

    bench = Bench(send)

    def save(entry: OutboxEntry) -> None:
        (tmp_path / "saved").write_text(str(entry.attempt_since_s), encoding="ascii")

    (entry,) = bench.outbox.deliver(ENTRY, save)
    assert entry.delivered_s is not None


def test_an_attempt_that_cannot_be_saved_is_not_made(tmp_path: Path) -> None:
    def send(_channel: ConfiguredChannel, _entries: OutboxEntry) -> Receipt:
        (tmp_path / "sent").touch()
        return Receipt(DeliveryOutcome.DELIVERED)

    def save(_entries: OutboxEntry) -> None:
        raise StorageFailed("the disk is full")

    with pytest.raises(StorageFailed):
        Bench(send).outbox.deliver(ENTRY, save)
    assert not (tmp_path / "sent").exists()


def test_the_configuration_is_read_anew_for_every_attempt() -> None:
    def send(channel: ConfiguredChannel, _entries: OutboxEntry) -> Receipt:
        return Receipt(DeliveryOutcome.CHANNEL_DEAD, channel.channel.fingerprint)

    bench = Bench(send)
    assert str(HOOK) in bench.deliver().given_up
    bench.config = with_webhooks(error=OTHER)
    assert str(OTHER) in bench.deliver().given_up


def test_a_message_without_a_webhook_is_kept_with_advice() -> None:
    bench = Bench()
    bench.config = with_webhooks(success=HOOK)
    assert bench.deliver().given_up == bench.deliver(replace(ENTRY, channel="")).given_up
    entry = bench.deliver()
    assert "no error webhook is configured" in entry.given_up
    assert "jobmon init" in entry.given_up
    assert not bench.saved


def test_a_message_given_up_for_an_invalid_configuration_can_be_reopened() -> None:
    bench = Bench()
    bench.config = ConfigInvalid("config.json", ["poll.running_s: must be at least 5, found 1"])
    young = replace(ENTRY.message, created_s=int(bench.clock.now()))
    first = replace(ENTRY, message=young, attempts=3, fingerprint=Bench().deliver().fingerprint)
    entry = bench.deliver(first)
    assert entry.is_open
    assert entry.next_try_s > bench.clock.now()
    bench.clock.wait(entry.message.created_s + 100_000)
    entry = bench.deliver(first)
    assert "poll.running_s" in entry.given_up
    assert "jobmon recover" in entry.given_up
    assert reopen(entry, CONFIG, Bench.dead).is_open


def test_a_child_that_was_killed_may_have_delivered() -> None:
    bench = Bench(killed)
    entry = bench.deliver()
    assert entry.is_open
    assert entry.maybe_delivered
    assert entry.next_try_s > bench.clock.now()


def test_an_internal_error_while_sending_loses_no_message() -> None:
    def send(_channel: ConfiguredChannel, _entries: OutboxEntry) -> Receipt:
        raise ZeroDivisionError

    assert Bench(send).deliver().is_open


def test_an_interrupted_attempt_makes_the_next_one_a_possible_repeat() -> None:
    bench = Bench()
    bench.deliver(replace(ENTRY, attempts=1, attempt_since_s=5.0))
    (saved,) = bench.saved
    assert saved.maybe_delivered
    assert saved.attempts == 2


def test_a_message_that_must_wait_stays_open_and_names_its_channel() -> None:
    def send(_channel: ConfiguredChannel, _entries: OutboxEntry) -> Receipt:
        return Receipt(DeliveryOutcome.TRY_AGAIN, "429", retry_after_s=7.5)

    bench = Bench(send)
    entry = bench.deliver()
    assert entry.is_open
    assert entry.next_try_s == bench.clock.now() + 7.5
    assert str(HOOK) in entry.fingerprint
    assert HOOK.token not in entry.fingerprint


def refused(_channel: ConfiguredChannel, _entries: OutboxEntry) -> Receipt:
    return Receipt(DeliveryOutcome.CHANNEL_DEAD, "404")


@pytest.fixture
def given_up() -> OutboxEntry:
    return Bench(refused).deliver(replace(ENTRY, attempts=3, plain=True, next_try_s=99.0))


@pytest.mark.parametrize("webhook", [OTHER, HOOK._replace(token="mended"), HOOK._replace(thread_id="7")])
def test_a_message_is_reopened_when_the_settings_of_its_channel_changed(
    given_up: OutboxEntry, webhook: Webhook
) -> None:
    entry = reopen(given_up, with_webhooks(error=webhook), Bench.dead)
    assert entry.is_open
    assert (entry.attempts, entry.plain, entry.next_try_s) == (0, False, 0.0)


@pytest.mark.parametrize("config", [CONFIG, Config(), with_webhooks(success=OTHER)])
def test_a_message_stays_given_up_while_its_channel_is_unchanged_or_missing(
    given_up: OutboxEntry, config: Config
) -> None:
    assert reopen(given_up, config, Bench.dead) == given_up


@pytest.mark.parametrize("entry", [ENTRY, replace(ENTRY, delivered_s=1.0)])
def test_only_messages_that_were_given_up_are_reopened(entry: OutboxEntry) -> None:
    assert reopen(entry, with_webhooks(error=OTHER), Bench.dead) == entry


def test_a_dead_channel_is_not_called_again() -> None:
    Bench(refused).deliver()
    calls = Bench()
    entry = calls.deliver(replace(ENTRY, message=replace(ENTRY.message, id="m2")))
    assert entry.given_up == "404"
    assert not calls.saved


def test_a_message_is_given_up_even_if_its_dead_channel_cannot_be_marked() -> None:
    Bench.dead.folder.rmdir()
    bench = Bench(refused)
    entry = bench.deliver()
    assert (entry.given_up, entry.channel_was_dead, len(bench.saved)) == ("404", True, 1)


def test_a_message_is_reopened_when_its_channel_works_again(given_up: OutboxEntry) -> None:
    Bench.dead.unmark_dead(given_up.fingerprint)
    assert reopen(given_up, CONFIG, Bench.dead).is_open


def test_a_message_without_any_response_is_repeated_less_and_less_often_and_then_given_up() -> None:
    bench = Bench(killed)
    entry, waits = ENTRY, []
    while entry.is_open:
        entry = bench.deliver(entry)
        waits.append(entry.next_try_s - bench.clock.now())
    assert len(waits) == 9
    assert sum(waits[:-1]) > 72 * 3600
    assert waits[:-1] == sorted(waits[:-1])
    assert "probably arrived" in entry.given_up


def test_a_repeat_waits_while_an_interrupted_attempt_may_still_arrive() -> None:
    bench = Bench()
    cut_off = replace(ENTRY, attempts=1, attempt_since_s=bench.clock.now() - 1)
    waiting = bench.deliver(cut_off)
    assert waiting == replace(cut_off, next_try_s=bench.clock.now() + 9)
    assert not bench.saved
    bench.clock.wait(9)
    assert bench.deliver(waiting).delivered_s
    assert bench.saved[0].maybe_delivered


def limited(_channel: ConfiguredChannel, _entries: OutboxEntry) -> Receipt:
    return Receipt(DeliveryOutcome.TRY_AGAIN, "429", retry_after_s=40.0, for_all=True)


def test_a_channel_that_refused_one_message_is_not_called_for_the_others_meanwhile() -> None:
    bench, other = Bench(limited), Bench()
    bench.deliver()
    younger = replace(ENTRY, message=replace(ENTRY.message, id="m2", created_s=5))
    waiting = other.deliver(younger)
    assert waiting.next_try_s > other.clock.now() + 40
    assert waiting.attempts == 0
    assert not other.saved


def test_after_a_refusal_the_oldest_goes_first() -> None:
    first, second = Bench(limited), Bench()
    older = first.deliver()
    younger = second.deliver(replace(ENTRY, message=replace(ENTRY.message, id="m2", created_s=5)))
    second.clock.now_s = older.next_try_s
    assert second.deliver(younger).is_open
    back = Bench()
    back.clock.now_s = older.next_try_s
    assert back.deliver(older).delivered_s
    assert second.deliver(younger).delivered_s


def test_another_channel_is_not_delayed() -> None:
    Bench(limited).deliver()
    bench = Bench()
    bench.config = with_webhooks(success=OTHER)
    success = replace(ENTRY.message, id="m2", route=Route.SUCCESS)
    assert bench.deliver(replace(ENTRY, message=success, channel="success")).delivered_s


@pytest.mark.parametrize("attach", [True, False])
def test_a_file_is_attached_only_while_the_configuration_says_so(*, attach: bool) -> None:
    def send(_channel: ConfiguredChannel, entry: OutboxEntry) -> Receipt:
        return Receipt(DeliveryOutcome.DELIVERED, entry.message.attachment)

    bench = Bench(send)
    bench.config = CONFIG._replace(attach=attach)
    entry = bench.deliver(replace(ENTRY, message=replace(ENTRY.message, attachment="/logs/12.txt")))
    assert entry.problem == ("/logs/12.txt" if attach else "")


def test_an_attempt_killed_while_a_file_is_sent_is_repeated_without_it_and_marked() -> None:
    entry = replace(ENTRY, message=replace(ENTRY.message, attachment="/logs/12.txt"))
    after = Bench(killed).deliver(entry)
    assert after.maybe_delivered  # so that the channel leaves the file out
    assert after.message.attachment == "/logs/12.txt"
    assert after.is_open
