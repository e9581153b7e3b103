"""A day without Discord: all messages are sent afterwards, the oldest first and within the rate limit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jobmon_core.domain.channels import ConfiguredChannel, Route
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry, Receipt, Tone
from jobmon_core.domain.tracking.model import WatchedJob
from jobmon_core.domain.tracking.new_job import NewJob
from jobmon_core.domain.tracking.policy import Policy
from jobmon_core.domain.webhook import Webhook
from jobmon_core.monitor.job_monitor import JobMonitor, MonitorDeps
from jobmon_core.monitor.outage_notifier import OutageNotifier
from jobmon_core.monitor.outbox import Outbox
from jobmon_core.notify.base import deliver
from jobmon_core.notify.channels import CHANNEL_TYPES, open_channel
from jobmon_core.polling.accounting import SharedAccounting
from jobmon_core.polling.queue import SharedQueue
from jobmon_core.store.dead_channels import DeadChannels
from jobmon_core.store.jobs import JobStore
from jobmon_core.store.outage_notice import OutageNoticeFile
from jobmon_core.store.shared_answers import SharedAnswer
from tests.support.clock import FakeClock
from tests.support.scheduler import FakeScheduler
from tests.support.strict_discord import AtHome, StrictDiscord
from tests.support.webhooks import with_webhooks

DAY_S, HOUR_S = 86_400, 3600
JOBS = 8
HOOKS = {
    Route.SUCCESS: Webhook("https://discord.com", "123450001", "token"),
    Route.ERROR: Webhook("https://discord.com", "123450002", "token"),
}
CONFIG = with_webhooks(HOOKS[Route.SUCCESS], HOOKS[Route.ERROR])


class Forgetful(JobStore):
    """Saves nothing: nobody is killed here."""

    def save(self, job: WatchedJob | NewJob) -> None:
        assert job.id


class Day:
    """Jobs that end one after the other, each with four messages for one channel and one for the other."""

    def __init__(self, folder: Path) -> None:
        self.clock = FakeClock()
        self.began_s = self.clock.now()
        self.discord = StrictDiscord(self.clock, self.began_s + DAY_S)
        self.folder = folder
        self.outbox = Outbox(lambda: CONFIG, self._send, AtHome(), self.clock, DeadChannels(folder))
        self.outbox.dead.folder.mkdir(exist_ok=True)
        self.jobs = [self._job(number) for number in range(JOBS)]

    def _send(self, channel: ConfiguredChannel, entry: OutboxEntry) -> Receipt:
        return deliver(open_channel(CHANNEL_TYPES, channel, self.discord, "1"), entry).receipt

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
        slurm, file = FakeScheduler(), SharedAnswer(self.folder / "any.reply")
        notices = OutageNoticeFile(self.folder / "any.notice")
        return JobMonitor(
            job,
            MonitorDeps(
                scheduler=slurm,
                queue=SharedQueue(slurm, file, self.clock),
                accounting=SharedAccounting(slurm, file, self.clock),
                outages=OutageNotifier(
                    lambda _job: notices, self.clock, Policy(), "login1", lambda _job_id: False
                ),
                store=Forgetful(self.folder),
                clock=self.clock,
                policy=Policy(),
                cluster_name=str,
                diagnose=lambda _job, _keys: {},
                deliver=self.outbox.deliver,
                cancel_requested=lambda _job_id: False,
                log=lambda _event: None,
            ),
        )

    def told(self, route: Route) -> Iterator[tuple[str, bool]]:
        """Yield what arrived on a channel, in order: the message's id, and whether it says it is late."""
        for _, payload in self.discord.taken[HOOKS[route].url]:
            embed = payload["embeds"][0]
            yield embed["footer"]["text"].split(" · ")[1], "Delayed" in embed.get("description", "")

    def entry(self, route: Route) -> list[str]:
        """What was to arrive on a channel, oldest first."""
        entry = (entry.message for job in self.jobs for entry in job.outbox)
        return [message.id for message in entry if message.route is route]


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Day:
    day = Day(tmp_path_factory.mktemp("day"))
    day.pass_by()
    return day


@pytest.mark.parametrize("route", list(Route))
def test_after_a_day_of_silence_all_arrive_once_and_the_oldest_first(day: Day, route: Route) -> None:
    assert [message for message, _ in day.told(route)] == day.entry(route)


def test_what_waits_to_be_told_keeps_to_discords_limits(day: Day) -> None:
    assert day.discord.limited > 0
    assert day.discord.impatient == 0


@pytest.mark.parametrize("route", list(Route))
def test_what_is_told_more_than_an_hour_late_says_so(day: Day, route: Route) -> None:
    made_s = {entry.message.id: entry.message.created_s for job in day.jobs for entry in job.outbox}
    sent_s = [at_s for at_s, _ in day.discord.taken[HOOKS[route].url]]
    late = [late for _, late in day.told(route)]
    old = [
        at_s - made_s[message] >= HOUR_S
        for at_s, message in zip(sent_s, (message for message, _ in day.told(route)), strict=True)
    ]
    assert late == old
    assert True in old
    assert False in old


@pytest.mark.parametrize("route", list(Route))
def test_a_silent_channel_is_tried_by_one_message_and_not_by_all(day: Day, route: Route) -> None:
    every_five_minutes = DAY_S / 300
    assert day.discord.asked[HOOKS[route].url] < every_five_minutes + 120


def test_the_last_is_told_within_minutes_of_the_end_of_the_silence(day: Day) -> None:
    last_s = max(at_s for taken in day.discord.taken.values() for at_s, _ in taken)
    assert last_s - day.discord.up_from_s < 300 + 2 * 60 * 3
