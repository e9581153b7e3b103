"""The digest of a day or a week: its time, its figures, what was forgotten, and that it is sent once."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon.views.console import Console
from jobmon.views.digest import digest_json, digest_lines, texts
from jobmon_core.app.history.digest import Digest, collect_digest, due_period, last_period, send_digest
from jobmon_core.app.messages.mute import acknowledge
from jobmon_core.context import Context
from jobmon_core.domain.delivery.outbox import StoredMessage
from jobmon_core.domain.job.history.record import HistoryRecord
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.store.history.lines import append
from jobmon_core.store.home import Home
from jobmon_core.store.job_files import progress_file
from tests.support.clock import FakeClock
from tests.support.fake_discord import FakeDiscord
from tests.support.job_records import RUNNING, failed, job_of
from tests.support.local_time import local_time

DAY_S = 86_400.0
MONDAY_S = 1_795_996_800.0  # 2026-11-30 00:00 UTC
RUN = HistoryRecord(
    12,
    int(MONDAY_S - 9 * 3600),
    1.0,
    state_id="t-12",
    name="train",
    state="COMPLETED",
    outcome="success",
    started_s=int(MONDAY_S - 8 * 3600),
    ended_s=int(MONDAY_S - 4 * 3600),
    run_s=4 * 3600.0,
    gpus=2,
    cpus=8,
    nodes="n1",
    gpu_idle_s=7200,
    rate=2.5,
    currency="EUR",
)
KILLED = RUN._replace(job_id=13, outcome="failure", state="FAILED", cause="cuda_oom", run_s=3600.0)


@pytest.fixture(autouse=True)
def _utc() -> object:
    with local_time("UTC"):
        yield


@pytest.fixture
def ctx(tmp_path: Path) -> Context:
    """A home on a Monday at 7:03."""
    (tmp_path / "home").mkdir(mode=0o700)
    return Context(Home(tmp_path / "home"), dict(os.environ), clock=FakeClock(MONDAY_S + 7 * 3600 + 180))


def add(ctx: Context, *runs: HistoryRecord) -> None:
    append(ctx.home.history, runs, "a", MONDAY_S)


def at(text: str) -> float:
    return time.mktime(time.strptime(text, "%Y-%m-%d %H:%M"))


def of_yesterday(ctx: Context) -> list[str]:
    return [*texts(collect_digest(ctx, MONDAY_S - DAY_S, MONDAY_S))]


@pytest.mark.parametrize(
    ("zone", "now", "since", "until", "hours"),
    [
        ("UTC", "2026-11-30 00:00", "2026-11-29 00:00", "2026-11-30 00:00", 24),
        ("Europe/Berlin", "2026-03-30 07:03", "2026-03-29 00:00", "2026-03-30 00:00", 23),  # DST begins
        ("Europe/Berlin", "2026-10-26 07:03", "2026-10-25 00:00", "2026-10-26 00:00", 25),  # and ends
        ("Pacific/Auckland", "2026-11-30 23:59", "2026-11-29 00:00", "2026-11-30 00:00", 24),
    ],
)
def test_a_day_lasts_from_midnight_to_midnight_here(
    zone: str, now: str, since: str, until: str, hours: int
) -> None:
    with local_time(zone):
        period = last_period(at(now), weekly=False)
        assert period == (at(since), at(until))
        assert period[1] - period[0] == hours * 3600


@pytest.mark.parametrize("now", ["2026-10-26 00:00", "2026-10-28 12:00", "2026-11-01 23:59"])
def test_a_week_lasts_from_monday_to_sunday_even_if_the_clocks_change(now: str) -> None:
    with local_time("Europe/Berlin"):
        since_s, until_s = last_period(at(now), weekly=True)
        assert (since_s, until_s) == (at("2026-10-19 00:00"), at("2026-10-26 00:00"))
        assert until_s - since_s == 7 * DAY_S + 3600


def test_its_lines_say_what_runs_took_and_lost(ctx: Context) -> None:
    too_late = RUN._replace(job_id=20, ended_s=int(MONDAY_S))
    add(ctx, RUN, KILLED, KILLED._replace(job_id=14, run_s=1800.0, cause="", gpu_idle_s=0), too_late)
    assert of_yesterday(ctx) == [
        "Sun 2026-11-29: 3 runs ended: 1 succeeded, 2 failed",
        "took 11.0 GPU hours, 13.75 EUR",
        "lost 3.0 GPU hours (27%) without success, above all to cuda_oom (2.0)",
        "idle for 4.0 GPU hours, above all in train (4.0)",
    ]


def test_names_of_others_and_words_of_later_versions_cannot_garble_it(ctx: Context) -> None:
    hostile = RUN._replace(name="a\x1b[31m\nb", outcome="paused", cause="x\n\u202ey")
    add(ctx, hostile)
    lines = [*digest_lines(collect_digest(ctx, MONDAY_S - DAY_S, MONDAY_S), Console(80))]
    assert lines[0].endswith("1 run ended: 1 cancelled or of unknown outcome")
    assert len(lines) == 4
    assert not any(character in "".join(lines[1:]) for character in "\x1b\n\u202e")


def test_a_time_without_runs_is_said_in_one_line(ctx: Context) -> None:
    assert of_yesterday(ctx) == ["Sun 2026-11-29: no run ended"]


def test_without_gpus_and_prices_it_counts_cpu_hours(ctx: Context) -> None:
    runs = [run._replace(gpus=0, rate=None, currency="", gpu_idle_s=0) for run in (RUN, KILLED)]
    add(ctx, *runs, RUN._replace(job_id=14, doubtful=True, run_s=0.0, rate=None, gpu_idle_s=0))
    assert of_yesterday(ctx) == [
        "Sun 2026-11-29: 3 runs ended: 2 succeeded, 1 failed, 1 doubtful",
        "took 40.0 CPU hours",
        "lost 8.0 CPU hours (20%) without success, above all to cuda_oom (8.0)",
    ]


def test_what_got_slower_and_nodes_that_kill_runs_are_named(ctx: Context) -> None:
    plain = RUN._replace(gpu_idle_s=0, step_s=1.0, unit="step", gpus=0, cpus=0, rate=None)
    before = [plain._replace(job_id=n, ended_s=int(MONDAY_S) - 120_000 - n) for n in range(20, 60)]
    dead = plain._replace(state="NODE_FAIL", outcome="failure", cause="node_fail", nodes="n7", step_s=None)
    dead = dead._replace(name="other", run_s=0.0)
    add(ctx, *before, plain._replace(step_s=2.0), *(dead._replace(job_id=n) for n in (70, 71, 72)))
    _, slower, nodes = of_yesterday(ctx)
    assert slower.startswith("slower: train (12): 2 s per step; ")
    assert nodes.startswith("nodes that kill runs: 3 of 3 runs died on n7, 0 of ")
    assert nodes.endswith("`--exclude=n7`")


def test_failures_that_nobody_acknowledged_and_idle_jobs_are_named(ctx: Context) -> None:
    for number, at_s in ((30, -3600.0), (31, -7200.0), (32, -2 * DAY_S), (33, 60.0)):
        ctx.store.save(job_of(failed(), job_id=number, concluded_s=MONDAY_S + at_s))
    acknowledge(ctx, "31")
    idle = replace(job_of(RUNNING, job_id=40, name="notebook"))
    ctx.store.save(idle)
    ctx.store.save(job_of(RUNNING, job_id=41))
    event = Event(MONDAY_S, EventKind.TROUBLE, "nothing uses it", subject="idle-allocation")
    progress_file(ctx.home.progress_file(idle.id)).write(JobProgress(MONDAY_S, {}, (event,)))
    assert RUNNING.state is JobState.RUNNING
    assert of_yesterday(ctx)[1:] == [
        "failed, and not acknowledged (`jobmon ack JOB`): 30 train",
        "runs, but its GPUs or all it holds are idle: 40 notebook",
    ]


def test_the_lines_fit_a_terminal_and_the_json_has_them(ctx: Context) -> None:
    add(ctx, RUN, KILLED)
    found = collect_digest(ctx, MONDAY_S - DAY_S, MONDAY_S)
    assert all(len(line) <= 60 for line in digest_lines(found, Console(60)))
    data = json.loads(json.dumps(digest_json(found)))
    assert (data["totals"][0]["cost"], data["most_lost"]["label"], data["most_idle"]["label"]) == (
        12.5,
        "cuda_oom",
        "train",
    )
    assert data["lines"] == [*texts(found)]


class Sending:
    """A machine whose cron sends digests to Discord."""

    def __init__(self, ctx: Context, discord: FakeDiscord) -> None:
        self.ctx, self.discord = ctx, discord
        webhooks = {"success_webhook": discord.success_url, "error_webhook": discord.error_url}
        ctx.home.config.write_text(json.dumps({"discord": webhooks}))
        ctx.home.config.chmod(0o600)

    def send(self, now_s: float, *, weekly: bool = False) -> str:
        """Do as cron does at a time; return the first line of what was sent."""
        clock = self.ctx.clock
        assert isinstance(clock, FakeClock)
        clock.now_s = now_s
        due = due_period(self.ctx, "success", weekly=weekly)
        if due is None:
            return ""
        stored = self.tell(collect_digest(self.ctx, *due), weekly=weekly)
        assert not stored.problem
        return stored.message.title

    def tell(self, found: Digest, *, weekly: bool = False) -> StoredMessage:
        return send_digest(self.ctx, "success", found, texts(found), weekly=weekly)


def test_each_day_and_week_is_told_once_and_none_is_lost(ctx: Context) -> None:
    with FakeDiscord() as discord:
        cron = Sending(ctx, discord)
        assert cron.send(MONDAY_S + 25_380) == "Sun 2026-11-29: no run ended"
        assert [cron.send(MONDAY_S + 25_380 + hour * 3600) for hour in range(1, 10)] == [""] * 9
        assert cron.send(MONDAY_S + 90_000, weekly=True) == "Mon 2026-11-23 to Sun 2026-11-29: no run ended"
        # the machine was down on Tuesday, Wednesday and Thursday
        add(ctx, RUN._replace(ended_s=int(MONDAY_S + 2 * DAY_S)))
        expected = "Mon 2026-11-30 to Thu 2026-12-03: 1 run ended: 1 succeeded"
        assert cron.send(MONDAY_S + 4 * DAY_S + 40_000) == expected
        assert cron.send(MONDAY_S + 5 * DAY_S) == "Fri 2026-12-04: no run ended"
        assert len(discord.received()) == 4
        assert not discord.violations


def test_a_process_that_was_killed_before_it_noted_what_it_sent_sends_nothing_twice(ctx: Context) -> None:
    with FakeDiscord() as discord:
        cron = Sending(ctx, discord)
        assert cron.send(MONDAY_S + 25_380)
        ctx.home.patrol_file.unlink()
        assert cron.send(MONDAY_S + 25_440)
        assert len(discord.received()) == 1


def test_a_clock_that_was_far_ahead_stops_no_digest(ctx: Context) -> None:
    with FakeDiscord() as discord:
        cron = Sending(ctx, discord)
        assert cron.send(MONDAY_S + 1000 * DAY_S)
        assert cron.send(MONDAY_S + 25_380) == "Sun 2026-11-29: no run ended"
        assert cron.send(MONDAY_S + 25_440) == ""


def test_after_a_long_time_without_digests_the_next_one_is_about_one_day(ctx: Context) -> None:
    with FakeDiscord() as discord:
        cron = Sending(ctx, discord)
        assert cron.send(MONDAY_S + 25_380)
        assert cron.send(MONDAY_S + 40 * DAY_S) == "Fri 2027-01-08: no run ended"
