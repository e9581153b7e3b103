"""When the logs of running jobs are read."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest

from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.tracking.model import End, Source, Task, WatchedJob
from jobmon_core.domain.logs.progress.events.event import Event, EventKind, Followed
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.monitor.progress_follower import ProgressFollower
from jobmon_core.system.helper import Helper, T
from tests.support.clock import FakeClock

INTERVAL_S = 30.0
RUNNING = WatchedJob("slurm-1-x", 1, 100.0, tasks={"": Task("", JobState.RUNNING, "RUNNING")})
OTHER = replace(RUNNING, id="slurm-2-x", job_id=2)
PENDING = replace(RUNNING, tasks={"": Task("", JobState.PENDING, "PENDING")})
END = End(JobState.COMPLETED, "COMPLETED", Outcome.SUCCESS, Source.QUEUE)
ENDED = replace(RUNNING, tasks={"": Task("", JobState.COMPLETED, "COMPLETED", end=END)})


def of_all(jobs: tuple[WatchedJob, ...]) -> dict[str, Followed]:
    return {job.id: Followed((Event(1.0, EventKind.STALLED, f"read {len(jobs)}"),)) for job in jobs}


class Watch:
    def __init__(self, read: Callable[[tuple[WatchedJob, ...]], dict[str, Followed]] = of_all) -> None:
        self.clock, self.logged = FakeClock(), list[str]()
        self.follower = ProgressFollower(read, Helper(), self.clock, INTERVAL_S)

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


def asking(job: WatchedJob, check_interval_s: float) -> WatchedJob:
    return replace(job, settings=JobSettings(check_interval_s=check_interval_s))


def test_jobs_may_ask_for_intervals_of_their_own_and_those_that_are_due_share_a_child() -> None:
    watch = Watch()
    often, rarely = asking(RUNNING, INTERVAL_S), asking(replace(OTHER, id="slurm-3-x"), 10 * INTERVAL_S)
    watch.follower = ProgressFollower(of_all, Helper(), watch.clock, 5 * INTERVAL_S)
    jobs = (often, rarely, OTHER)
    for job in jobs:
        watch.texts(job)
    watch.clock.now_s += 1000 * INTERVAL_S
    read = []
    for _ in range(10):
        read.append("".join(str(len(watch.texts(job))) for job in jobs))
        watch.clock.now_s += INTERVAL_S
    assert read == ["111", *["100"] * 4, "101", *["100"] * 4]


def test_the_monitor_wakes_for_a_job_with_an_interval_but_at_most_every_five_seconds() -> None:
    watch = Watch()
    job = asking(RUNNING, 1.0)
    watch.texts(job)
    watch.texts(OTHER)
    assert watch.follower.due_s(job) >= watch.clock.now_s + 5.0
    assert watch.follower.due_s(OTHER) == math.inf
    watch.clock.now_s += 4.0
    assert watch.texts(job) == []
    watch.texts(ENDED)
    assert watch.follower.due_s(job) == math.inf


def test_the_logs_of_a_run_that_has_just_started_are_read_more_often() -> None:
    watch = Watch()
    task = replace(RUNNING.tasks[""], start_s=int(watch.clock.now_s))
    job, read_s = replace(RUNNING, tasks={"": task}), []
    for second in range(200):
        read_s += [second for _ in watch.texts(job)]
        if second == 0:
            assert watch.follower.due_s(job) == watch.clock.now_s + 5.0
        watch.clock.now_s += 1.0
    assert read_s == [*range(0, 60, 5), *range(60, 120, 10), 120, 150, 180]
    assert watch.follower.due_s(job) == math.inf


@pytest.mark.parametrize(("wall_s", "cpu_s", "rest_s"), [(2.0, 2.0, 100), (8.0, 0.0, 80), (2.0, 0.2, 20)])
def test_logs_that_take_long_to_read_are_read_less_often(wall_s: float, cpu_s: float, rest_s: float) -> None:
    watch = Watch()

    class SlowHelper(Helper):
        def run(self, kind: type[T], work: Callable[[], T], timeout_s: float) -> T:
            watch.clock.now_s += wall_s
            watch.clock.taken_by_children_s += cpu_s
            return super().run(kind, work, timeout_s)

    watch.follower = ProgressFollower(of_all, SlowHelper(), watch.clock, interval_s=5.0)
    assert watch.texts(RUNNING) == ["read 1"]
    watch.clock.now_s += rest_s - 1.0
    assert watch.texts(RUNNING) == []
    watch.clock.now_s += 2.0
    assert watch.texts(RUNNING) == ["read 1"]


def test_a_job_that_has_just_been_submitted_is_not_read() -> None:
    watch = Watch()
    assert watch.texts(replace(PENDING, registered_s=watch.clock.now())) == []


def test_the_logs_of_a_job_that_ended_are_left_to_its_diagnosis() -> None:
    watch = Watch()
    watch.texts(RUNNING)
    watch.clock.now_s += INTERVAL_S
    assert watch.texts(ENDED) == []


def test_a_failed_reading_is_logged_and_tried_again_later() -> None:
    def fail(_jobs: tuple[WatchedJob, ...]) -> dict[str, Followed]:
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


def test_jobs_that_end_after_a_failure_do_not_wait_for_their_logs() -> None:
    def fail(_jobs: tuple[WatchedJob, ...]) -> dict[str, Followed]:
        raise OSError("stale file handle")

    watch = Watch(fail)
    for job in (RUNNING, OTHER):
        watch.texts(job)
    for job in (ENDED, replace(ENDED, id=OTHER.id)):
        watch.texts(job)
    assert len(watch.logged) == 1


def test_jobs_that_end_often_do_not_delay_the_reading_of_the_others() -> None:
    watch = Watch()
    watch.texts(OTHER)
    for _ in range(2):
        watch.texts(RUNNING)
        watch.clock.now_s += INTERVAL_S / 2
        watch.texts(ENDED)
    assert watch.texts(OTHER) == ["read 1"]


def test_a_problem_with_one_job_is_logged_once_and_does_not_affect_the_others() -> None:
    def read(jobs: tuple[WatchedJob, ...]) -> dict[str, Followed]:
        return of_all(jobs) | {OTHER.id: Followed(problem="damaged")}

    watch = Watch(read)
    watch.texts(OTHER)
    watch.texts(RUNNING)
    for _ in range(2):
        watch.clock.now_s += INTERVAL_S
        assert watch.texts(OTHER) == []
        assert watch.texts(RUNNING) == ["read 2"]
    assert watch.logged == ["slurm-2-x: the progress could not be read: damaged"]


def test_the_logs_of_a_job_that_may_have_failed_are_read_again_soon_but_not_those_of_the_others() -> None:
    watch = Watch()
    began_s = watch.clock.now_s

    def suspicious(jobs: tuple[WatchedJob, ...]) -> dict[str, Followed]:
        recheck_s = began_s + 3.0 if watch.clock.now_s == began_s else None
        return {job_id: replace(each, recheck_s=recheck_s) for job_id, each in of_all(jobs).items()}

    watch.follower = ProgressFollower(suspicious, Helper(), watch.clock, INTERVAL_S)
    assert watch.texts(RUNNING) == ["read 1"]
    watch.texts(OTHER)
    assert watch.follower.may_have_failed(RUNNING)
    assert watch.follower.due_s(RUNNING) == watch.clock.now_s + 3.0
    assert watch.follower.due_s(OTHER) == math.inf
    watch.clock.now_s += 3.0
    assert watch.texts(RUNNING) == ["read 1"]
    assert not watch.follower.may_have_failed(RUNNING)
    assert watch.follower.due_s(RUNNING) == math.inf
    assert watch.texts(RUNNING) == []


def test_a_job_that_has_ended_is_not_read_again() -> None:
    watch = Watch(lambda jobs: {job.id: Followed(recheck_s=1e12) for job in jobs})
    watch.texts(RUNNING)
    assert watch.follower.may_have_failed(RUNNING)
    watch.texts(ENDED)
    assert not watch.follower.may_have_failed(RUNNING)


def test_a_hurried_job_is_read_at_once_and_then_with_growing_pauses() -> None:
    watch = Watch()
    watch.texts(RUNNING)
    early_s = []
    for _ in range(40):
        watch.follower.request_early_reading(RUNNING.id)
        if watch.texts(RUNNING):
            early_s.append(watch.clock.now_s)
        watch.clock.now_s += 1
    assert [later - before for before, later in pairwise(early_s)] == [5, 10, 20]


def test_a_hurried_job_is_due_when_it_may_be_read() -> None:
    watch = Watch()
    watch.texts(RUNNING)
    assert watch.follower.due_s(RUNNING) == math.inf
    watch.follower.request_early_reading(RUNNING.id)
    assert watch.follower.due_s(RUNNING) <= watch.clock.now_s
    watch.texts(RUNNING)
    watch.follower.request_early_reading(RUNNING.id)
    assert watch.follower.due_s(RUNNING) == watch.clock.now_s + 5


def test_a_hurried_job_waits_for_the_pause_after_a_failed_reading_and_is_not_due_before() -> None:
    def fail(_jobs: tuple[WatchedJob, ...]) -> dict[str, Followed]:
        raise OSError("stale file handle")

    watch = Watch(fail)
    watch.texts(RUNNING)
    watch.follower.request_early_reading(RUNNING.id)
    assert watch.follower.due_s(RUNNING) == watch.clock.now_s + 600
    watch.clock.now_s += 599
    watch.texts(RUNNING)
    assert len(watch.logged) == 1
    watch.clock.now_s += 1
    watch.texts(RUNNING)
    assert len(watch.logged) == 2


def waiting(number: int, registered_s: float) -> WatchedJob:
    return replace(PENDING, id=f"slurm-{number}-x", job_id=number, registered_s=registered_s)


def test_the_waits_of_pending_jobs_are_looked_at_in_one_child_once_they_are_long() -> None:
    watch = Watch()
    now_s = watch.clock.now()
    jobs = [waiting(number, now_s) for number in (1, 2, 3)]
    assert [watch.texts(job) for job in jobs] == [[], [], []]
    watch.clock.now_s += 599
    assert [watch.texts(job) for job in jobs] == [[], [], []]
    watch.clock.now_s += 1
    assert [watch.texts(job) for job in jobs] == [["read 3"]] * 3
    watch.clock.now_s += 100_000
    assert [watch.texts(job) for job in jobs] == [[], [], []]  # nothing is known of earlier waits


def test_a_wait_is_looked_at_again_when_it_would_be_unusual_and_not_after_the_start() -> None:
    def read(jobs: tuple[WatchedJob, ...]) -> dict[str, Followed]:
        found = of_all(jobs)
        return {key: replace(each, wait_s=5000.0) for key, each in found.items()}

    watch = Watch(read)
    job = waiting(1, watch.clock.now())
    watch.texts(job)
    watch.clock.now_s += 600
    assert watch.texts(job) == ["read 1"]
    assert not watch.follower.may_have_failed(job)
    assert watch.follower.due_s(job) == math.inf
    watch.clock.now_s = 4999.0
    assert watch.texts(job) == []
    watch.clock.now_s = 5000.0
    assert watch.texts(job) == ["read 1"]
    watch.texts(replace(RUNNING, id=job.id))
    assert watch.texts(replace(ENDED, id=job.id)) == []


def test_a_look_at_a_wait_that_fails_is_repeated_after_a_pause() -> None:
    def fail(_: tuple[WatchedJob, ...]) -> dict[str, Followed]:
        raise OSError("no history")

    watch = Watch(fail)
    job = waiting(1, watch.clock.now() - 700)
    looks = []
    for _ in range(12):
        before = len(watch.logged)
        watch.texts(job)
        looks.append(len(watch.logged) - before)
        watch.clock.now_s += 60
    assert looks == [1, *[0] * 9, 1, 0]
