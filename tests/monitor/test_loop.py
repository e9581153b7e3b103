"""When the loop of a monitor wakes up between two passes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import cast

import pytest

from jobmon_core.monitor.job_monitor import JobMonitor
from jobmon_core.monitor.loop import MonitorLoop, last_answer_s
from jobmon_core.system.clock import Wake
from tests.support.clock import FakeClock
from tests.support.play import Play, row


@dataclass
class Polled:
    """A job monitor that is due again after a while, and counts its polls."""

    clock: FakeClock
    again_s: float
    polls: int = 0

    def poll_once(self) -> float:
        self.polls += 1
        return self.clock.now() + self.again_s


@dataclass
class Bench:
    """A loop with two jobs, and what it finds when it looks."""

    looks: list[set[str] | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.clock = FakeClock()
        self.remained: list[tuple[str, ...]] = []  # after each poll
        self.loop = MonitorLoop(self.clock, lambda _state_id: None, self.look, self.remained.append)
        self.jobs = {"a": Polled(self.clock, 30.0), "b": Polled(self.clock, 45.0)}
        for state_id, job in self.jobs.items():
            self.loop.add(state_id, cast("JobMonitor", job))
        self.run_due()

    def look(self) -> set[str] | None:
        return self.looks.pop(0) if self.looks else None

    def run_due(self) -> None:
        self.loop.run_due(lambda _state_id, _event: None, lambda _state_id: None)


def test_offers_are_looked_at_after_each_poll_not_only_after_all() -> None:
    assert Bench().remained == [("a", "b"), ("a", "b")]


def test_with_nothing_to_look_at_it_sleeps_until_a_job_is_due() -> None:
    bench = Bench()
    assert bench.loop.wait() is Wake.DUE
    assert bench.clock.waits == [30.0]


def test_it_looks_every_three_seconds_without_a_pass_over_the_jobs() -> None:
    bench = Bench([set()] * 20)
    assert bench.loop.wait() is Wake.DUE
    assert bench.clock.waits == [3.0] * 10
    assert [job.polls for job in bench.jobs.values()] == [1, 1]


def test_a_job_that_a_look_finds_is_polled_at_once_and_no_other() -> None:
    bench = Bench([set(), set(), {"b", "gone"}])
    assert bench.loop.wait() is Wake.DUE
    assert sum(bench.clock.waits) == 6.0
    bench.run_due()
    assert [job.polls for job in bench.jobs.values()] == [1, 2]


@pytest.mark.parametrize("wake", [Wake.NOTIFIED, Wake.TERMINATE])
def test_a_signal_ends_the_wait(wake: Wake) -> None:
    bench = Bench([set()] * 20)
    bench.clock.wakes = [Wake.DUE, wake]
    assert bench.loop.wait() is wake
    assert len(bench.clock.waits) == 2


def test_the_last_answer_is_known_only_while_the_scheduler_answers() -> None:
    play = Play()
    assert last_answer_s([play.job]) is None
    play.queue(row("12", "RUNNING"))
    assert last_answer_s([play.job]) == play.now_s
    play.later(30).queue_down()
    assert last_answer_s([play.job]) is None
    play.later(30).queue(row("12", "RUNNING"))
    assert last_answer_s([play.job]) == play.now_s


def test_one_job_without_an_answer_hides_the_answers_about_others() -> None:
    seen, unseen = Play().queue(row("12", "RUNNING")), Play().queue(row("12", "RUNNING")).queue_down()
    assert last_answer_s([seen.job]) is not None
    assert last_answer_s([seen.job, unseen.job]) is None
