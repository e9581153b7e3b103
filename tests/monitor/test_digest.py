"""Many single jobs end together: few messages, and none lost or repeated without a mark, whatever fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from jobmon_core.domain.channels import DeliveryOutcome, Receipt, Route, Tone
from jobmon_core.domain.config import Config
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry
from jobmon_core.domain.delivery.routing import ConfiguredChannel
from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.webhook import Webhook
from jobmon_core.monitor.outbox import Outbox
from jobmon_core.store.channels import ChannelFiles
from jobmon_core.system.json_codec import from_json, to_json
from tests.support.clock import FakeClock
from tests.support.helper import AtHome
from tests.support.webhooks import with_webhooks

HOOK = Webhook("https://discord.com", "123450002", "token")
NEW_HOOK = Webhook("https://discord.com", "123450003", "token")
DELIVERED = Receipt(DeliveryOutcome.DELIVERED)


class Killed(BaseException):
    """The monitor was killed here."""


@dataclass
class Post:
    """One message that arrived: its jobs, and whether it is marked as a possible repeat."""

    at_s: float
    message: Message
    jobs: list[int]
    marked: bool


def _accept(_entry: OutboxEntry) -> tuple[bool, Receipt]:
    return True, DELIVERED


def _survive(_moment: str) -> None:
    return


@dataclass
class Host:
    """Monitors of one job each, which share the send queue of a channel; their disk is a dictionary."""

    folder: Path
    config: Config = field(default_factory=lambda: with_webhooks(error=HOOK))
    answer: Callable[[OutboxEntry], tuple[bool, Receipt]] = _accept  # whether it arrives, and the receipt
    reach: Callable[[str], None] = _survive  # may raise Killed or StorageFailed
    clock: FakeClock = field(default_factory=FakeClock)
    disk: dict[int, dict[str, Any]] = field(default_factory=dict)
    memory: dict[int, OutboxEntry] = field(default_factory=dict)
    due_s: dict[int, float] = field(default_factory=dict)
    posts: list[Post] = field(default_factory=list)
    restart_after_s: Callable[[], float] = lambda: 30.0

    def __post_init__(self) -> None:
        self.outbox = Outbox(lambda: self.config, self._send, AtHome(), self.clock, ChannelFiles(self.folder))

    def _send(self, _channel: ConfiguredChannel, entry: OutboxEntry) -> Receipt:
        self.reach("before send")
        arrives, receipt = self.answer(entry)
        if arrives:
            self.posts.append(Post(self.clock.now(), entry.message, self._jobs(entry), entry.maybe_delivered))
        self.reach("after send")
        return receipt

    def _jobs(self, entry: OutboxEntry) -> list[int]:
        """Return the jobs that a message stands for: also those that a digest only counts."""
        leader, _, others = entry.message.id.partition("+")
        taken = [
            message_id
            for path in self.folder.glob("*.lane")
            for message_id, place in json.loads(path.read_text())["places"].items()
            if place.get("taken_by") == leader
            and place["sending_since_s"] == entry.attempt_since_s
            and others
        ]
        assert len(taken) == int(others or 0)
        return sorted(int(message_id.split("/")[0]) for message_id in (leader, *taken))

    def end(self, job: int, at_s: float, tone: Tone = Tone.FAILURE) -> None:
        """Let a job end; its monitor notices that at ``at_s``."""
        title = f"train ({job}) failed after 3m 05s: CUDA out of memory"
        message = Message(f"{job}/end", Route.ERROR, tone, title, created_s=int(at_s), digestible=True)
        self.memory[job] = OutboxEntry(message, channel="error")
        self._save(job, self.memory[job])
        self.due_s[job] = at_s

    def run(self, until_s: float = float("inf")) -> None:
        """Run the monitors; the clock leaps from one due time to the next."""
        while self.due_s and min(self.due_s.values()) < until_s:
            job = min(self.due_s, key=lambda each: self.due_s[each])
            self.clock.now_s = max(self.clock.now_s, self.due_s.pop(job))
            self.step(job)

    def step(self, job: int) -> None:
        """Run the monitor of a job once; if it is killed, another one continues later from the disk."""
        try:
            (entry,) = self.outbox.deliver(self.memory[job], lambda entry: self._save_before(job, entry))
            self.reach("before receipt")
            self.memory[job] = entry
            self._save(job, entry)
        except StorageFailed:
            self.due_s[job] = self.clock.now() + 30
        except Killed:
            self.memory[job] = from_json(OutboxEntry, self.disk[job])
            self.due_s[job] = self.clock.now() + self.restart_after_s()
        else:
            if entry.is_open:
                self.due_s[job] = max(self.clock.now() + 1, entry.next_try_s)

    def _save_before(self, job: int, entry: OutboxEntry) -> None:
        self.reach("before save")
        self.memory[job] = entry
        self._save(job, entry)
        self.reach("after save")

    def _save(self, job: int, entry: OutboxEntry) -> None:
        self.disk[job] = to_json(entry)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_of_jobs_that_end_together_the_first_get_messages_and_the_others_a_digest(host: Host) -> None:
    for job in range(12):
        host.end(job, host.clock.now())
    host.run()
    assert [post.jobs for post in host.posts] == [[0], [1], [2], [3], [4], list(range(5, 12))]
    assert not any(post.marked for post in host.posts)
    assert all(entry.delivered_s and entry.attempts == 1 for entry in host.memory.values())


def test_hundreds_of_jobs_within_a_minute_get_a_few_messages_each_within_a_minute(host: Host) -> None:
    started_s = host.clock.now()
    for job in range(300):
        host.end(job, started_s + job * 0.2)
    host.run()
    assert sorted(job for post in host.posts for job in post.jobs) == list(range(300))
    assert len(host.posts) < 12
    assert max(post.at_s - post.message.created_s for post in host.posts) < 60


def test_jobs_that_end_one_by_one_within_a_minute_gather_after_the_first_ones(host: Host) -> None:
    started_s = host.clock.now()
    for job in range(20):
        host.end(job, started_s + job * 3)
    host.run()
    assert [post.jobs for post in host.posts[:5]] == [[0], [1], [2], [3], [4]]
    assert sorted(job for post in host.posts for job in post.jobs) == list(range(20))
    assert len(host.posts) <= 9


def test_four_jobs_that_end_together_get_four_messages(host: Host) -> None:
    for job in range(4):
        host.end(job, host.clock.now())
    host.run()
    assert [post.jobs for post in host.posts] == [[0], [1], [2], [3]]


@pytest.mark.parametrize(("digest_from", "posts"), [(0, 12), (13, 12), (2, 3)])
def test_the_number_of_jobs_is_configurable(host: Host, digest_from: int, posts: int) -> None:
    host.config = host.config._replace(digest_from=digest_from)
    for job in range(12):
        host.end(job, host.clock.now())
    host.run()
    assert len(host.posts) == posts


def test_a_channel_that_keeps_account_of_each_job_gets_each_end_alone(host: Host) -> None:
    channels = tuple(channel._replace(shares_digests=False) for channel in host.config.channels)
    host.config = host.config._replace(channels=channels)
    for job in range(12):
        host.end(job, host.clock.now())
    host.run()
    assert sorted(post.jobs for post in host.posts) == [[job] for job in range(12)]


def test_a_message_that_is_no_end_of_a_single_job_is_sent_alone(host: Host) -> None:
    for job in range(12):
        host.end(job, host.clock.now())
    array = host.memory[7].message
    host.memory[7] = replace(host.memory[7], message=replace(array, digestible=False))
    host.run()
    assert [7] in [post.jobs for post in host.posts]
    assert sorted(job for post in host.posts for job in post.jobs) == list(range(12))


@pytest.mark.parametrize("moment", ["before send", "after send", "after save"])
def test_a_digest_whose_monitor_is_killed_is_repeated_with_a_mark(host: Host, moment: str) -> None:
    def kill_sender(reached: str) -> None:
        is_sending = any("attempt_since_s" in entry for entry in host.disk.values())
        if reached == moment and len(host.posts) >= 5 and is_sending and not killed:
            killed.append(reached)
            raise Killed

    killed: list[str] = []
    host.reach = kill_sender
    for job in range(12):
        host.end(job, host.clock.now())
    host.run()
    assert killed
    arrived = [job for post in host.posts for job in post.jobs]
    assert set(arrived) == set(range(12))
    _check_marks(host)
    assert all(entry.delivered_s for entry in host.memory.values())
    assert max(entry.delivered_s or 0 for entry in host.memory.values()) - 1_000_000 <= 60


def _check_marks(host: Host) -> None:
    """Every copy of a message but the first is marked as a possible repeat."""
    seen: set[int] = set()
    for post in host.posts:
        repeated = seen & set(post.jobs)
        assert post.marked or not repeated, f"{post.message.id} repeats {repeated}"
        seen |= set(post.jobs)


def test_a_digest_without_a_response_is_repeated_as_one_digest_with_a_mark(host: Host) -> None:
    def lose_one(_entry: OutboxEntry) -> tuple[bool, Receipt]:
        lost = len(host.posts) == 5
        return True, Receipt(DeliveryOutcome.MAYBE_DELIVERED, "no answer") if lost else DELIVERED

    host.answer = lose_one
    for job in range(12):
        host.end(job, host.clock.now())
    host.run()
    _check_marks(host)
    assert [len(post.jobs) for post in host.posts[:6]] == [1, 1, 1, 1, 1, 7]
    assert sorted(job for post in host.posts[6:] for job in post.jobs) == list(range(5, 12))
    assert len(host.posts) <= 9


def test_offers_wait_through_an_outage_of_the_channel(host: Host) -> None:
    up_from_s = host.clock.now() + 3600

    def refuse(_entry: OutboxEntry) -> tuple[bool, Receipt]:
        if host.clock.now() >= up_from_s:
            return True, DELIVERED
        return False, Receipt(DeliveryOutcome.TRY_AGAIN, "connection refused", for_all=True)

    host.answer = refuse
    for job in range(40):
        host.end(job, host.clock.now() + job * 60)
    host.run()
    assert [job for post in host.posts for job in post.jobs] == list(range(40))
    assert len(host.posts) <= 3
    assert not any(post.marked for post in host.posts)


def _refuse(_entry: OutboxEntry) -> tuple[bool, Receipt]:
    return False, Receipt(DeliveryOutcome.TRY_AGAIN, "connection refused", for_all=True)


def test_offers_that_wait_for_a_channel_with_a_new_url_were_not_sent(host: Host) -> None:
    host.answer = _refuse
    for job in range(8):
        host.end(job, host.clock.now())
    host.run(host.clock.now() + 120)
    assert sum(entry.offered_s is not None for entry in host.memory.values()) > 1
    host.answer, host.config = _accept, with_webhooks(error=NEW_HOOK)
    host.run()
    assert sorted(job for post in host.posts for job in post.jobs) == list(range(8))
    assert not any(post.marked for post in host.posts)


def test_an_offer_that_a_digest_took_before_the_url_changed_may_have_been_sent(host: Host) -> None:
    def lose_digest(entry: OutboxEntry) -> tuple[bool, Receipt]:
        if "+" in entry.message.id:
            host.answer, host.config = _accept, with_webhooks(error=NEW_HOOK)
            raise Killed
        return True, DELIVERED

    host.answer = lose_digest
    for job in range(12):
        host.end(job, host.clock.now())
    host.run()
    assert len(host.posts) > 5
    assert all(post.marked for post in host.posts[5:])


def test_a_dead_channel_gives_up_what_was_offered_without_calling_it_again(host: Host) -> None:
    calls: list[str] = []

    def die(entry: OutboxEntry) -> tuple[bool, Receipt]:
        calls.append(entry.message.id)
        return False, DELIVERED if len(calls) <= 5 else Receipt(DeliveryOutcome.CHANNEL_DEAD, "404")

    host.answer = die
    for job in range(12):
        host.end(job, host.clock.now())
    host.run()
    assert len(calls) == 6
    assert [entry.given_up for entry in host.memory.values()] == [*[""] * 5, *["404"] * 7]


@pytest.mark.parametrize("seed", range(12))
def test_no_failure_loses_a_message_or_repeats_one_without_a_mark(host: Host, seed: int) -> None:
    random = Random(seed)  # noqa: S311 - a test must be repeatable
    troubles = 0

    def reach(_moment: str) -> None:
        nonlocal troubles
        if random.random() < 0.05:
            troubles += 1
            raise Killed if random.random() < 0.8 else StorageFailed("the disk is full")
        if random.random() < 0.003:  # another host adopts a job, or a power cut loses the file
            for path in host.folder.glob("*.lane"):
                path.unlink()

    def answer(_entry: OutboxEntry) -> tuple[bool, Receipt]:
        name = random.choices(("ok", "limited", "lost", "unanswered"), (80, 8, 6, 6))[0]
        outcome = {"ok": DeliveryOutcome.DELIVERED, "limited": DeliveryOutcome.TRY_AGAIN}.get(
            name, DeliveryOutcome.MAYBE_DELIVERED
        )
        return name in ("ok", "unanswered"), Receipt(outcome, name, for_all=name == "limited")

    host.reach, host.answer = reach, answer
    host.restart_after_s = lambda: random.choice((1.0, 30.0, 300.0, 5000.0))
    for job in range(60):
        host.end(job, host.clock.now() + random.uniform(0, 90))
    host.run()
    assert troubles
    assert {job for post in host.posts for job in post.jobs} == set(range(60)) - _given_up(host)
    assert all(not entry.is_open for entry in host.memory.values())
    _check_marks(host)


def _given_up(host: Host) -> set[int]:
    """Jobs whose message got no response six times, none of which arrived."""
    arrived = {job for post in host.posts for job in post.jobs}
    return {job for job, entry in host.memory.items() if entry.given_up and job not in arrived}
