"""A day without Discord: all messages are sent afterwards, the oldest first and within the rate limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.domain.channels import Receipt, Route, Tone
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry
from jobmon_core.domain.delivery.routing import ConfiguredChannel
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.job.tracking.new_job import NewJob
from jobmon_core.domain.webhook import Webhook
from jobmon_core.monitor.job_monitor import JobMonitor
from jobmon_core.monitor.outbox import Outbox
from jobmon_core.store.channels import ChannelFiles
from jobmon_core.store.jobs import JobStore
from tests.support.clock import FakeClock
from tests.support.helper import AtHome
from tests.support.monitor_deps import monitor_deps
from tests.support.scheduler import FakeScheduler
from tests.support.strict_discord import StrictDiscord
from tests.support.webhooks import with_webhooks

pytestmark = pytest.mark.xdist_group("day of an outage")  # all tests use one

DAY_S, HOUR_S = 86_400, 3600
JOBS = 8
HOOKS = {
    Route.SUCCESS: Webhook("https://discord.com", "123450001", "token"),
    Route.ERROR: Webhook("https://discord.com", "123450002", "token"),
}
CONFIG = with_webhooks(HOOKS[Route.SUCCESS], HOOKS[Route.ERROR])


class Forgetful(JobStore):
    """Saves nothing, since no test here restarts a monitor."""

    def save(
        self,
        job: WatchedJob | NewJob,
        check_owner: Callable[[], None] = lambda: None,
        *,
        is_news: bool = True,  # noqa: ARG002 - as in JobStore
    ) -> None:
        assert job.id
        check_owner()


class Day:
    """Jobs that end one after the other, each with four error messages and one success message."""

    def __init__(self, folder: Path) -> None:
        self.clock = FakeClock()
        self.began_s = self.clock.now()
        self.discord = StrictDiscord(self.clock, self.began_s + DAY_S)
        self.folder = folder
        self.outbox = Outbox(lambda: CONFIG, self._send, AtHome(), self.clock, ChannelFiles(folder))
        self.outbox.files.folder.mkdir(exist_ok=True)
        self.jobs = [self._job(number) for number in range(JOBS)]

    def _send(self, channel: ConfiguredChannel, entry: OutboxEntry) -> Receipt:
        return channel.channel.deliver(entry)

    def _job(self, number: int) -> WatchedJob:
        ended_s = self.began_s + number * (DAY_S - 60) / (JOBS - 1)
        routes = (Route.ERROR, Route.SUCCESS, Route.ERROR, Route.ERROR, Route.ERROR)
        entry = (
            OutboxEntry(Message(f"{number}/{part}", route, Tone.ATTENTION, "news", created_s=int(ended_s)))
            for part, route in enumerate(routes)
        )
        return WatchedJob(f"slurm-{number}", number, ended_s, concluded_s=ended_s, outbox=tuple(entry))

    def pass_by(self) -> None:
        """Follow every job until its messages are sent; the clock leaps from one due time to the next."""
        due = {self._job_monitor(job): job.registered_s for job in reversed(self.jobs)}
        while due:
            job_monitor = min(due, key=lambda each: due[each])
            self.clock.now_s = max(self.clock.now_s, due.pop(job_monitor))
            again_s = job_monitor.poll_once()
            if again_s is not None:
                due[job_monitor] = again_s

    def _job_monitor(self, job: WatchedJob) -> JobMonitor:
        deps = monitor_deps(self.folder, FakeScheduler(), self.clock)
        return JobMonitor(job, replace(deps, store=Forgetful(self.folder), deliver=self.outbox.deliver))

    def arrived(self, route: Route) -> Iterator[tuple[str, bool]]:
        """Yield the messages that arrived, in order: the id, and whether the text says that it is late."""
        for _, payload in self.discord.taken[HOOKS[route].url]:
            embed = payload["embeds"][0]
            yield embed["footer"]["text"].split(" · ")[1], "Delayed" in embed.get("description", "")

    def entry(self, route: Route) -> list[str]:
        """Return the ids of the messages of a route, oldest first."""
        entry = (entry.message for job in self.jobs for entry in job.outbox)
        return [message.id for message in entry if message.route is route]


@pytest.fixture(scope="module")
def day(memory: Path) -> Day:
    folder = memory / "day"
    folder.mkdir()
    day = Day(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("jobmon_core.system.http.send", day.discord)
        day.pass_by()
    return day


@pytest.mark.parametrize("route", list(Route))
def test_after_an_outage_of_a_day_all_messages_arrive_once_and_in_order(day: Day, route: Route) -> None:
    assert [message for message, _ in day.arrived(route)] == day.entry(route)


def test_the_waiting_messages_respect_the_rate_limit(day: Day) -> None:
    assert day.discord.limited > 0
    assert day.discord.impatient == 0


@pytest.mark.parametrize("route", list(Route))
def test_a_message_that_is_more_than_an_hour_late_says_so(day: Day, route: Route) -> None:
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
def test_an_unreachable_channel_is_tried_with_one_message_only(day: Day, route: Route) -> None:
    every_five_minutes = DAY_S / 300
    assert day.discord.asked[HOOKS[route].url] < every_five_minutes + 120


def test_the_last_message_arrives_within_minutes_after_the_outage(day: Day) -> None:
    last_s = max(at_s for taken in day.discord.taken.values() for at_s, _ in taken)
    assert last_s - day.discord.up_from_s < 300 + 2 * 60 * 3
