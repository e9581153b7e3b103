from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.slurm.rows import Unreachable
from jobmon_core.polling.queue import SharedQueue
from jobmon_core.store.shared_answers import SharedAnswer, StoredAnswer
from jobmon_core.system.lock import try_lock
from tests.support.clock import FakeClock
from tests.support.play import row
from tests.support.scheduler import FakeScheduler

DOWN = Unreachable("squeue: connection refused")


@pytest.fixture
def queue(slurm: FakeScheduler, clock: FakeClock, file: SharedAnswer) -> SharedQueue:
    return SharedQueue(slurm, file, clock)


def test_two_hundred_monitors_query_the_queue_once_per_interval(
    slurm: FakeScheduler, clock: FakeClock, file: SharedAnswer
) -> None:
    slurm.queue = [tuple(row(str(job_id), "RUNNING") for job_id in range(200))]
    for interval in (1, 2, 3):
        for job_id in range(200):
            clock.now_s += 0.1
            view = SharedQueue(slurm, file, clock).view("me", job_id, 30.0)
            assert view is not None
            assert view.answer == (row(str(job_id), "RUNNING"),)
        assert slurm.asked["queue"] == interval
        clock.now_s += 30.0


def test_the_age_of_an_answer_counts_from_its_query(queue: SharedQueue, clock: FakeClock) -> None:
    began_s = clock.now()
    clock.now_s += 0.0
    first = queue.view("me", 12, 30.0)
    clock.now_s += 29.0
    assert first is not None
    assert queue.view("me", 12, 30.0) == first
    assert first.asked_s == began_s


def test_an_answer_too_old_for_one_monitor_may_suffice_for_another(
    slurm: FakeScheduler, queue: SharedQueue, clock: FakeClock
) -> None:
    queue.view("me", 12, 30.0)
    clock.now_s += 31.0
    queue.view("me", 12, 60.0)
    assert slurm.asked["queue"] == 1
    queue.view("me", 12, 30.0)
    assert slurm.asked["queue"] == 2


def test_a_job_that_the_queue_does_not_list_is_not_unreachable(queue: SharedQueue) -> None:
    view = queue.view("me", 12, 30.0)
    assert view is not None
    assert view.answer == ()


def test_a_failure_is_shared_and_queried_again_later(
    slurm: FakeScheduler, queue: SharedQueue, clock: FakeClock
) -> None:
    slurm.queue = [DOWN, (row("12", "RUNNING"),)]
    for job_id in range(50):
        view = queue.view("me", job_id, 30.0)
        assert view is not None
        assert view.answer == DOWN
    assert slurm.asked["queue"] == 1
    clock.now_s += 30.0
    view = queue.view("me", 12, 30.0)
    assert view is not None
    assert view.answer == (row("12", "RUNNING"),)


def test_a_failure_without_a_reason_counts_as_a_failure(slurm: FakeScheduler, queue: SharedQueue) -> None:
    slurm.queue = [Unreachable("")]
    view = queue.view("me", 12, 30.0)
    assert view is not None
    assert view.answer == Unreachable("no answer")


def test_a_clock_set_back_causes_a_new_query(
    slurm: FakeScheduler, queue: SharedQueue, clock: FakeClock
) -> None:
    queue.view("me", 12, 30.0)
    clock.now_s -= 3600.0
    view = queue.view("me", 12, 30.0)
    assert slurm.asked["queue"] == 2
    assert view is not None
    assert view.asked_s == clock.now()


def test_no_monitor_waits_for_another_monitors_query(slurm: FakeScheduler, queue: SharedQueue) -> None:
    with try_lock(queue.file.lock_path):
        assert queue.view("me", 12, 30.0) is None
    assert not slurm.asked


def test_a_damaged_answer_costs_one_query(slurm: FakeScheduler, queue: SharedQueue) -> None:
    queue.view("me", 12, 30.0)
    queue.file.path.write_text("{", encoding="ascii")
    queue.view("me", 12, 30.0)
    queue.view("me", 13, 30.0)
    assert slurm.asked["queue"] == 2


def test_a_lock_file_that_cannot_be_used_is_reported(slurm: FakeScheduler, clock: FakeClock) -> None:
    nowhere = SharedAnswer(Path("/proc/nowhere/queue.reply"))
    with pytest.raises(StorageFailed):
        SharedQueue(slurm, nowhere, clock).view("me", 12, 30.0)


def test_an_unreachable_scheduler_is_reported_during_another_monitors_query(
    slurm: FakeScheduler, queue: SharedQueue, clock: FakeClock
) -> None:
    slurm.queue = [DOWN]
    queue.view("me", 12, 30.0)
    clock.now_s += 600.0
    with try_lock(queue.file.lock_path):
        view = queue.view("me", 12, 30.0)
    assert view is not None
    assert view.answer == DOWN
    assert slurm.asked["queue"] == 1


class CountedFile(SharedAnswer):
    """Counts the reads in a second file."""

    def read(self) -> StoredAnswer:
        with self.path.with_suffix(".reads").open("a") as file:
            file.write("once\n")
        return super().read()

    @property
    def reads(self) -> int:
        return len(self.path.with_suffix(".reads").read_text().splitlines())


def test_a_monitor_reads_an_answer_once_for_all_its_jobs(
    slurm: FakeScheduler, clock: FakeClock, tmp_path: Path
) -> None:
    file = CountedFile(tmp_path / "queue.reply")
    slurm.queue = [tuple(row(str(job_id), "RUNNING") for job_id in range(500))]
    queue = SharedQueue(slurm, file, clock)
    for job_id in range(500):
        queue.follow(job_id)
    SharedQueue(slurm, file, clock).view("me", 1, 30.0)  # another monitor, which queries
    before = file.reads
    for job_id in range(500):
        view = queue.view("me", job_id, 30.0)
        assert view is not None
        assert view.answer == (row(str(job_id), "RUNNING"),)
    assert file.reads == before + 1


def test_an_answer_replaced_by_another_monitor_is_read_again(
    slurm: FakeScheduler, queue: SharedQueue, clock: FakeClock, file: SharedAnswer
) -> None:
    slurm.queue = [(row("12", "PENDING"),), (row("12", "RUNNING"),)]
    queue.view("me", 12, 30.0)
    clock.now_s += 30.0
    SharedQueue(slurm, file, clock).view("me", 13, 30.0)
    view = queue.view("me", 12, 30.0)
    assert view is not None
    assert view.answer == (row("12", "RUNNING"),)
    assert slurm.asked["queue"] == 2


class SlowScheduler(FakeScheduler):
    """Takes longer to respond than the maximum age of an answer."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self._clock = clock

    def ask_queue(self, user: str) -> str | Unreachable:
        self._clock.now_s += 40.0
        return super().ask_queue(user)


def assert_asked_once_an_interval(
    slurm: FakeScheduler, clock: FakeClock, look: Callable[[int], object]
) -> None:
    for number in range(20):
        look(number)
    assert slurm.asked["queue"] == 1
    clock.now_s += 31.0
    look(1)
    assert slurm.asked["queue"] == 2


def test_a_slow_answer_is_used_for_all_jobs_and_not_queried_again_at_once(
    clock: FakeClock, file: SharedAnswer
) -> None:
    slurm = SlowScheduler(clock)
    queue = SharedQueue(slurm, file, clock)
    assert_asked_once_an_interval(slurm, clock, lambda number: queue.view("me", number, 30.0))


def test_an_answer_that_cannot_be_saved_is_used_and_does_not_increase_polling(
    slurm: FakeScheduler, queue: SharedQueue, clock: FakeClock
) -> None:
    slurm.queue = [(row("12", "RUNNING"),)]
    queue.file.path.mkdir()  # as for a full disk: nothing can be written there

    def look(_number: int) -> None:
        view = queue.view("me", 12, 30.0)
        assert view is not None
        assert view.answer == (row("12", "RUNNING"),)

    assert_asked_once_an_interval(slurm, clock, look)


def test_an_array_with_a_running_task_has_not_ended(
    slurm: FakeScheduler, queue: SharedQueue, clock: FakeClock
) -> None:
    ended = replace(row("15_1", "COMPLETED"), end_s=int(clock.now()) - 1)
    slurm.queue = [(ended, row("15_2", "RUNNING"), replace(ended, ref=row("16", "FAILED").ref))]
    queue.view("me", 15, 30.0)
    assert list(queue.recently_ended((15, 16))) == [16]


def test_before_the_first_query_no_job_has_ended(queue: SharedQueue) -> None:
    assert list(queue.recently_ended((15, 16))) == []


def test_a_job_that_is_forgotten_is_not_parsed_any_more(
    slurm: FakeScheduler, queue: SharedQueue, clock: FakeClock
) -> None:
    for job_id in (12, 12, 13):
        queue.follow(job_id)
    queue.forget(12)
    queue.forget(13)
    queue.view("me", 12, 30.0)
    assert set(slurm.read_for) == {frozenset({12})}
    queue.forget(12)
    clock.now_s += 31.0
    slurm.read_for.clear()
    queue.view("me", 14, 30.0)
    assert set(slurm.read_for) == {frozenset({14})}
