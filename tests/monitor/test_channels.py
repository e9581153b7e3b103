"""Messages to any number of channels, with a channel type that only the tests know."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from jobmon_core.app.setup import try_channels
from jobmon_core.context import Context
from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.delivery.outbox import Message, OutboxEntry
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.job.tracking.new_job import NewJob
from jobmon_core.monitor.job_monitor import JobMonitor
from jobmon_core.monitor.outbox import reopen
from jobmon_core.monitor.wiring import MonitorFactory
from jobmon_core.notify.channels import CHANNEL_TYPES
from jobmon_core.notify.discord.inbox import Inbox, Received
from jobmon_core.scheduler.base import Submitted
from jobmon_core.store.home import Home
from jobmon_core.store.jobs import JobStore
from jobmon_core.store.owner import Owner
from jobmon_core.system.clock import Clock
from tests.support.clock import FakeClock
from tests.support.mailbox_channel import MAILBOX, messages_in
from tests.support.waiting import eventually

TYPES = {**CHANNEL_TYPES, "mailbox": MAILBOX}


class Killed(BaseException):
    """The process was killed."""


@dataclass(frozen=True, slots=True)
class DyingStore(JobStore):
    """A store whose process is killed at one of its writes, before or after it."""

    writes_left: list[int]
    is_written: bool

    def save(
        self,
        job: WatchedJob | NewJob,
        check_owner: Callable[[], None] = lambda: None,
        *,
        is_news: bool = True,
    ) -> None:
        self.writes_left[0] -= 1
        if self.writes_left[0] == 0 and not self.is_written:
            raise Killed
        JobStore.save(self, job, check_owner, is_news=is_news)
        if self.writes_left[0] == 0:
            raise Killed


class DyingContext(Context):
    """The context of a process that is killed at one of its writes."""

    doomed: DyingStore

    @property
    def store(self) -> JobStore:
        """The store that kills."""
        return self.doomed


@dataclass(frozen=True, slots=True)
class Site:
    """A home with a Discord and two mailboxes, and the monitors of its jobs."""

    home: Path
    inbox: Inbox
    clock: Clock

    @property
    def ctx(self) -> Context:
        return Context(Home(self.home), {}, clock=self.clock, channel_types=lambda: TYPES)

    def configure(self, **channels: dict[str, object]) -> None:
        discord = {"success_webhook": self.inbox.success_url, "error_webhook": self.inbox.error_url}
        config = self.home / "config.json"
        config.write_text(json.dumps({"discord": discord, "channels": channels, "backend": "local"}))
        config.chmod(0o600)

    def received(self, route: Route | None = None) -> list[Received]:
        return [each for each in self.inbox.wait_for(0, 0) if route in (None, each.route)]

    def mailbox(self, name: str) -> Path:
        folder = self.home / name
        folder.mkdir(exist_ok=True)
        return folder

    def monitor(self, ctx: Context | None = None) -> JobMonitor:
        self.ctx.owner_record("local-1-x").claim(Owner.this_process())
        return MonitorFactory(ctx or self.ctx).job_monitor("local-1-x", lambda _event: None)

    def owe(self, *messages: Message) -> WatchedJob:
        outbox = tuple(OutboxEntry(message) for message in messages)
        job = WatchedJob("local-1-x", 1, 100.0, backend="local", user="me", concluded_s=200.0, outbox=outbox)
        self.ctx.store.save(job)
        return job

    def job(self) -> WatchedJob:
        return self.ctx.store.load("local-1-x")


def message(name: str, route: Route = Route.ERROR, created_s: int = 999_000) -> Message:
    return Message(name, route, Tone.FAILURE, f"{name} failed", created_s=created_s)


def run(site: Site) -> None:
    """Follow the job until all is delivered; the clock leaps from one due moment to the next."""
    monitor = site.monitor()
    while (due_s := monitor.poll_once()) is not None:
        assert isinstance(site.clock, FakeClock)
        site.clock.now_s = max(site.clock.now_s, due_s)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with Inbox() as inbox:
        site = Site(tmp_path, inbox, FakeClock())
        for folder in (site.ctx.home.monitors, site.ctx.home.shared_answers):
            folder.mkdir(parents=True, exist_ok=True)
        yield site


def test_a_job_that_ends_is_reported_to_discord_and_to_every_named_channel(
    site: Site, capfd: pytest.CaptureFixture[str]
) -> None:
    site = replace(site, clock=Context.open({}).clock)
    all_of_it, errors = site.mailbox("all"), site.mailbox("errors")
    site.configure(
        team={"type": "mailbox", "folder": str(all_of_it)},
        oncall={"type": "mailbox", "folder": str(errors), "messages": ["error"]},
    )
    now_s = site.clock.now()

    def watch(submitted: Submitted) -> None:
        site.ctx.store.save(NewJob("local-1-x", submitted.ref.job_id, now_s - 1, now_s - 1, "local"))

    arguments = ["-o", str(site.home / "%j.out"), "--wrap", "true"]
    assert site.ctx.submitter("local").submit(arguments, watch).exit_code == 0
    assert "Submitted batch job" in capfd.readouterr().out
    monitor = site.monitor()
    eventually(lambda: monitor.poll_once() is None or bool(site.received()))
    eventually(lambda: monitor.job.finished or monitor.poll_once() is None)
    (received,) = site.received(Route.SUCCESS)
    assert "completed" in str(received.payload)
    assert len(messages_in(all_of_it)) == 1
    assert messages_in(errors) == []
    assert {entry.channel for entry in site.job().outbox} == {"success", "team"}


def test_the_others_get_their_messages_in_order_while_one_channel_is_down_and_one_is_dead(site: Site) -> None:
    good, slow = site.mailbox("good"), site.home / "slow"
    dead = site.inbox.error_url.replace("?", "x?")
    site.configure(
        dead={"type": "discord", "webhook": dead},
        slow={"type": "mailbox", "folder": str(slow)},
        good={"type": "mailbox", "folder": str(good)},
    )
    site.owe(message("m1"), message("m2", Route.SUCCESS, 999_001), message("m3", created_s=999_002))
    monitor = site.monitor()
    for _ in range(20):
        assert monitor.poll_once() is not None
        assert isinstance(site.clock, FakeClock)
        site.clock.now_s += 3
    assert messages_in(good) == ["m1", "m2", "m3"]
    assert len(site.received(Route.ERROR)) == 2
    assert all(entry.given_up for entry in site.job().outbox if entry.channel == "dead")
    slow.mkdir()
    run(site)
    assert messages_in(slow) == ["m1", "m2", "m3"]
    assert messages_in(good) == ["m1", "m2", "m3"]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("write", range(1, 9))
def test_a_kill_at_any_write_loses_no_message_and_repeats_none_without_a_mark(
    site: Site, write: int, when: str
) -> None:
    first, second = site.mailbox("first"), site.mailbox("second")
    site.configure(a={"type": "mailbox", "folder": str(first)}, b={"type": "mailbox", "folder": str(second)})
    site.owe(message("m1"))
    store = DyingStore(site.ctx.home.state, [write], when == "after")
    ctx = DyingContext(site.ctx.home, {}, clock=site.clock, channel_types=lambda: TYPES)
    ctx.doomed = store
    monitor = site.monitor(ctx)
    try:
        while monitor.poll_once() is not None:
            pass
    except Killed:
        assert isinstance(site.clock, FakeClock)
        site.clock.now_s += 20
    run(site)
    for folder in (first, second):
        arrived = [json.loads(path.read_text()) for path in sorted(folder.iterdir())]
        assert [each["repeat"] for each in arrived] in ([False], [False, True], [True])
    assert len(site.job().outbox) == 3
    assert not site.job().undelivered


def test_an_attempt_of_the_first_release_goes_on_to_the_webhook_of_its_route_alone(site: Site) -> None:
    mailbox = site.mailbox("all")
    site.configure(team={"type": "mailbox", "folder": str(mailbox)})
    job = site.owe(message("m1"))
    site.ctx.store.save(replace(job, outbox=(replace(job.outbox[0], attempts=2, maybe_delivered=True),)))
    assert "channel_name" not in (site.ctx.home.state / "local-1-x.json").read_text()
    run(site)
    (received,) = site.received(Route.ERROR)
    assert "possible repeat" in str(received.payload)
    assert messages_in(mailbox) == []


def test_a_message_without_a_channel_waits_for_one_of_any_type(site: Site) -> None:
    mailbox = site.mailbox("all")
    (site.home / "config.json").write_text("{}")
    (site.home / "config.json").chmod(0o600)
    site.owe(message("m1"))
    run(site)
    (entry,) = site.job().outbox
    assert "no error webhook is configured" in entry.given_up
    site.configure(team={"type": "mailbox", "folder": str(mailbox)})
    reopened = reopen(entry, site.ctx.configuration(), site.ctx.channel_files)
    site.ctx.store.save(replace(site.job(), outbox=(reopened,)))
    run(site)
    assert messages_in(mailbox) == ["m1"]
    assert len(site.received(Route.ERROR)) == 1


def test_a_removed_channel_leaves_its_messages_to_another_and_gives_the_others_up(site: Site) -> None:
    site.configure(team={"type": "mailbox", "folder": str(site.home / "missing")})
    site.owe(message("m1"))
    site.monitor().poll_once()
    site.configure()
    run(site)
    assert [entry.channel for entry in site.job().outbox] == ["error"]
    assert len(site.received()) == 1
    assert site.job().undelivered == 0
    site.configure(team={"type": "mailbox", "folder": str(site.home / "missing")})
    alone = site.owe(message("m2"))
    site.ctx.store.save(replace(alone, outbox=(replace(alone.outbox[0], channel="team"),)))
    (site.home / "config.json").write_text("{}")
    run(site)
    (lost,) = site.job().outbox
    assert (bool(lost.given_up), site.job().undelivered) == (True, 1)


def test_two_names_of_one_destination_get_a_message_once(site: Site) -> None:
    mailbox = site.mailbox("all")
    settings: dict[str, object] = {"type": "mailbox", "folder": str(mailbox)}
    site.configure(a=settings, b=settings, again={"type": "discord", "webhook": site.inbox.error_url})
    site.owe(message("m1"))
    run(site)
    assert messages_in(mailbox) == ["m1"]
    assert len(site.received()) == 1


def test_every_channel_is_tested_by_its_name(site: Site) -> None:
    site.configure(
        team={"type": "mailbox", "folder": str(site.mailbox("all"))},
        lost={"type": "mailbox", "folder": str(site.home / "missing"), "messages": ["success"]},
    )
    results = list(try_channels(site.ctx))
    assert [(result.channel, result.worked) for result in results] == [
        ("success", True),
        ("error", True),
        ("team", True),
        ("lost", False),
    ]
    assert results[3].advice == "create the folder"
    assert messages_in(site.home / "all") == ["test-team"]
