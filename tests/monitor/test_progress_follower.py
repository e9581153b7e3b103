"""When the logs of running jobs are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from jobmon_core.domain.progress.model import Event, EventKind
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.domain.tracking.model import End, Source, Task, WatchedJob
from jobmon_core.monitor.progress_follower import Events, ProgressFollower
from jobmon_core.system.worker import Worker
from tests.support.clock import FakeClock

INTERVAL_S = 30.0
RUNNING = WatchedJob("slurm-1-x", 1, 100.0, tasks={"": Task("", JobState.RUNNING, "RUNNING")})
OTHER = replace(RUNNING, id="slurm-2-x", job_id=2)
PENDING = replace(RUNNING, tasks={"": Task("", JobState.PENDING, "PENDING")})
END = End(JobState.COMPLETED, "COMPLETED", Outcome.SUCCESS, Source.QUEUE)
ENDED = replace(RUNNING, tasks={"": Task("", JobState.COMPLETED, "COMPLETED", end=END)})


def of_all(jobs: tuple[WatchedJob, ...]) -> dict[str, Events]:
    return {job.id: (Event(1.0, EventKind.STALLED, f"read {len(jobs)}"),) for job in jobs}


class Watch:
    def __init__(self, read: Callable[[tuple[WatchedJob, ...]], dict[str, Events]] = of_all) -> None:
        self.clock, self.logged = FakeClock(), list[str]()
        self.follower = ProgressFollower(read, Worker(), self.clock, INTERVAL_S)

    def texts(self, job: WatchedJob) -> list[str]:
        return [event.text for event in self.follower.follow(job, self.logged.append)]


def test_the_logs_of_a_running_job_are_read_at_once_and_then_at_the_interval() -> None:
    watch = Watch()
    assert watch.texts(RUNNING) == ["read 1"]
    assert watch.texts(RUNNING) == []
    watch.clock.now_s += INTERVAL_S
    assert watch.texts(RUNNING) == ["read 1"]


def test_all_running_jobs_are_read_in_one_child() -> None:
    watch = Watch()
    watch.texts(RUNNING)
    assert watch.texts(OTHER) == []
    watch.clock.now_s += INTERVAL_S
    assert watch.texts(RUNNING) == watch.texts(OTHER) == ["read 2"]


def test_a_pending_job_is_not_read() -> None:
    assert Watch().texts(PENDING) == []


def test_a_job_that_ended_is_read_once_more() -> None:
    watch = Watch()
    watch.texts(RUNNING)
    assert watch.texts(ENDED) == ["read 1"]
    watch.clock.now_s += INTERVAL_S
    assert watch.texts(ENDED) == []


def test_a_failed_reading_is_logged_and_tried_again_later() -> None:
    def fail(_jobs: tuple[WatchedJob, ...]) -> dict[str, Events]:
        raise OSError("stale file handle")

    watch = Watch(fail)
    assert watch.texts(RUNNING) == []
    watch.clock.now_s += 2 * INTERVAL_S
    assert watch.texts(RUNNING) == []
    (line,) = watch.logged
    assert "stale file handle" in line
    watch.clock.now_s += 600.0
    watch.texts(RUNNING)
    assert len(watch.logged) == 2


def test_a_job_that_another_process_watches_now_is_not_read() -> None:
    watch = Watch()
    watch.texts(RUNNING)
    watch.texts(OTHER)
    watch.follower.forget(RUNNING.id)
    watch.clock.now_s += INTERVAL_S
    assert watch.texts(OTHER) == ["read 1"]


@pytest.mark.parametrize("moved_s", [-1e6, 1e6])
def test_a_clock_that_is_set_does_not_stop_the_reading(moved_s: float) -> None:
    watch = Watch()
    watch.texts(RUNNING)
    watch.clock.now_s += moved_s
    assert watch.texts(RUNNING) == ["read 1"]
