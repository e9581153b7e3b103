"""A day without Discord: afterwards all messages arrive, the oldest first and within Discord's limits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.domain.channels import Route
from jobmon_core.domain.config import Config
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry, Receipt, Tone
from jobmon_core.domain.tracking.model import WatchedJob
from jobmon_core.domain.tracking.new_job import NewJob
from jobmon_core.domain.webhook import Webhook
from jobmon_core.monitor.job_monitor import JobMonitor
from jobmon_core.monitor.outbox import Outbox
from jobmon_core.notify.base import deliver
from jobmon_core.notify.discord.channel import DiscordChannel
from jobmon_core.store.dead_channels import DeadChannels
from jobmon_core.store.jobs import JobStore
from tests.support.clock import FakeClock
from tests.support.monitor_deps import monitor_deps
from tests.support.scheduler import FakeScheduler
from tests.support.strict_discord import AtHome, StrictDiscord

DAY_S, HOUR_S = 86_400, 3600
JOBS = 8
HOOKS = {
    Route.SUCCESS: Webhook("https://discord.com", "123450001", "token"),
    Route.ERROR: Webhook("https://discord.com", "123450002", "token"),
}
CONFIG = Config(HOOKS[Route.SUCCESS], HOOKS[Route.ERROR])


class DiscardingStore(JobStore):
    """Saves nothing, since no monitor is killed in these tests."""

    def save(self, job: WatchedJob | NewJob) -> None:
        assert job.id


class DayWithoutDiscord:
    """Jobs that end one after another, each with four messages for one channel and one for the other."""

    def __init__(self, folder: Path) -> None:
        self.clock = FakeClock()
        self.began_s = self.clock.now()
        self.discord = StrictDiscord(self.clock, self.began_s + DAY_S)
        self.folder = folder
        self.outbox = Outbox(lambda: CONFIG, self._send, AtHome(), self.clock, DeadChannels(folder))
        self.outbox.dead_channels.folder.mkdir(exist_ok=True)
        self.jobs = [self._job(number) for number in range(JOBS)]

    def _send(self, config: Config, entry: OutboxEntry) -> Receipt:
        webhook = config.webhook(entry.message.route)
        assert webhook
        return deliver(DiscordChannel(webhook, self.discord, "1"), entry)

    def _job(self, number: int) -> WatchedJob:
        ended_s = self.began_s + number * (DAY_S - 60) / (JOBS - 1)
        routes = (Route.ERROR, Route.SUCCESS, Route.ERROR, Route.ERROR, Route.ERROR)
        entry = (
            OutboxEntry(Message(f"{number}/{part}", route, Tone.ATTENTION, "news", created_s=int(ended_s)))
            for part, route in enumerate(routes)
        )
        return WatchedJob(f"slurm-{number}", number, ended_s, concluded_s=ended_s, outbox=tuple(entry))

    def run(self) -> None:
        """Poll every job from its end until it is finished; the clock jumps from one due time to the next."""
        due = {self._job_monitor(job): job.registered_s for job in reversed(self.jobs)}
        while due:
            job_monitor = min(due, key=lambda monitor: due[monitor])
            self.clock.now_s = max(self.clock.now_s, due.pop(job_monitor))
            due_s = job_monitor.poll_once()
            if due_s is not None:
                due[job_monitor] = due_s

    def _job_monitor(self, job: WatchedJob) -> JobMonitor:
        deps = monitor_deps(self.folder, FakeScheduler(), self.clock)
        store = DiscardingStore(self.folder)
        return JobMonitor(job, replace(deps, store=store, deliver=self.outbox.deliver))

    def arrived(self, route: Route) -> Iterator[tuple[str, bool]]:
        """Yield the messages that arrived on a channel, in order: the id, and whether it says it is late."""
        for _, payload in self.discord.taken[HOOKS[route].url]:
            embed = payload["embeds"][0]
            yield embed["footer"]["text"].split(" · ")[1], "Told late" in embed.get("description", "")

    def expected(self, route: Route) -> list[str]:
        """The ids of the messages for a channel, oldest first."""
        messages = (entry.message for job in self.jobs for entry in job.outbox)
        return [message.id for message in messages if message.route is route]


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> DayWithoutDiscord:
    day = DayWithoutDiscord(tmp_path_factory.mktemp("day"))
    day.run()
    return day


@pytest.mark.parametrize("route", list(Route))
def test_after_a_day_without_discord_all_messages_arrive_once_and_the_oldest_first(
    day: DayWithoutDiscord, route: Route
) -> None:
    assert [message for message, _ in day.arrived(route)] == day.expected(route)


def test_waiting_messages_keep_to_discords_limits(day: DayWithoutDiscord) -> None:
    assert day.discord.limited > 0
    assert day.discord.impatient == 0


@pytest.mark.parametrize("route", list(Route))
def test_a_message_delayed_by_more_than_an_hour_says_so(day: DayWithoutDiscord, route: Route) -> None:
    made_s = {entry.message.id: entry.message.created_s for job in day.jobs for entry in job.outbox}
    sent_s = [at_s for at_s, _ in day.discord.taken[HOOKS[route].url]]
    late = [late for _, late in day.arrived(route)]
    old = [
        at_s - made_s[message] >= HOUR_S
        for at_s, message in zip(sent_s, (message for message, _ in day.arrived(route)), strict=True)
    ]
    assert late == old
    assert True in old
    assert False in old


@pytest.mark.parametrize("route", list(Route))
def test_an_unresponsive_channel_is_tried_with_one_message_and_not_with_all(
    day: DayWithoutDiscord, route: Route
) -> None:
    every_five_minutes = DAY_S / 300
    assert day.discord.asked[HOOKS[route].url] < every_five_minutes + 120


def test_the_last_message_arrives_within_minutes_after_discord_is_back(day: DayWithoutDiscord) -> None:
    last_s = max(at_s for taken in day.discord.taken.values() for at_s, _ in taken)
    assert last_s - day.discord.up_from_s < 300 + 2 * 60 * 3
