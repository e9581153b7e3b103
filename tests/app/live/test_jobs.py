from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.app.jobs.find import StateGroup
from jobmon_core.app.live.jobs import Listing, LiveJobs
from jobmon_core.context import Context
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.job.tracking.model import Task
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.store.home import Home
from jobmon_core.store.owner import Owner
from tests.support.clock import FakeClock
from tests.support.job_records import NOW_S, PENDING, failed, job_of, succeeded
from tests.support.live_jobs import progress_of, running_task


class Home12:
    """A home whose job 12 runs, 13 is pending and 14 ended long ago."""

    def __init__(self, folder: Path) -> None:
        self.clock = FakeClock(NOW_S)
        self.ctx = Context(Home(folder), {}, clock=self.clock)
        self.save(running_task(), job_id=12)
        self.save(PENDING, job_id=13)
        self.save(failed(), job_id=14, concluded_s=1.0)
        self.ctx.progress_file("slurm-12-x").write(JobProgress(NOW_S, {"": progress_of(500, 1000)}))

    def save(self, *tasks: Task, job_id: int, concluded_s: float | None = None, **changes: object) -> None:
        job = replace(job_of(*tasks, job_id=job_id, concluded_s=concluded_s), **changes)  # type: ignore[arg-type] # any field
        self.ctx.store.save(job)
        self.ctx.owner_record(job.id).write(Owner.this_process())


@pytest.fixture
def home(tmp_path: Path) -> Home12:
    return Home12(tmp_path)


def refs(listing: Listing) -> list[tuple[str, StateGroup]]:
    return [(task.ref, task.group) for task in listing.tasks]


def test_running_tasks_come_first_and_old_jobs_are_left_out(home: Home12) -> None:
    home.save(running_task(), job_id=15)
    found = refs(LiveJobs(home.ctx).listing())
    assert found == [("12", StateGroup.RUNNING), ("15", StateGroup.RUNNING), ("13", StateGroup.PENDING)]


def test_a_running_task_has_its_progress_and_an_estimate(home: Home12) -> None:
    task = LiveJobs(home.ctx).listing().tasks[0]
    assert task.progress.progress
    assert task.progress.progress.fraction == 0.5
    assert task.estimate.remaining_s == pytest.approx(9240, rel=0.1)
    assert not task.is_stale


def test_changed_files_are_read_again(home: Home12) -> None:
    live = LiveJobs(home.ctx)
    live.listing()
    event = Event(NOW_S, EventKind.STALLED, "no progress for 12m")
    home.ctx.progress_file("slurm-12-x").write(JobProgress(NOW_S, {"": progress_of(900, 1000)}, (event,)))
    home.save(running_task(), job_id=13)
    listing = live.listing()
    assert refs(listing) == [("12", StateGroup.RUNNING), ("13", StateGroup.RUNNING)]
    assert listing.tasks[0].problems == (EventKind.STALLED,)
    assert listing.tasks[0].progress.progress
    assert listing.tasks[0].progress.progress.current == 900


def test_a_job_that_was_shown_stays_with_its_outcome(home: Home12) -> None:
    live = LiveJobs(home.ctx)
    live.listing()
    home.save(succeeded(), job_id=12, concluded_s=NOW_S)
    assert refs(live.listing()) == [("13", StateGroup.PENDING), ("12", StateGroup.COMPLETED)]
    assert refs(LiveJobs(home.ctx).listing()) == [("13", StateGroup.PENDING)]


def test_a_job_keeps_its_id_when_it_starts(home: Home12) -> None:
    live = LiveJobs(home.ctx)
    pending = next(task for task in live.listing().tasks if task.ref == "13")
    home.save(running_task(), job_id=13)
    assert next(task for task in live.listing().tasks if task.ref == "13").id == pending.id


def test_named_jobs_are_shown_whatever_their_state(home: Home12) -> None:
    assert refs(LiveJobs(home.ctx, [JobRef(14)]).listing()) == [("14", StateGroup.FAILED)]
    assert refs(LiveJobs(home.ctx, [JobRef(99)]).listing()) == []


def test_tasks_of_an_array_have_rows_and_those_pending_share_one(home: Home12) -> None:
    tasks = [running_task("3"), running_task("1"), succeeded("0"), replace(PENDING, key="4")]
    home.save(*tasks, job_id=20, array_indices="0-9", pending_indices="5-9")
    live = LiveJobs(home.ctx, [JobRef(20)])
    assert refs(live.listing()) == [
        ("20_1", StateGroup.RUNNING),
        ("20_3", StateGroup.RUNNING),
        ("20_[4,5-9]", StateGroup.PENDING),
        ("20_0", StateGroup.COMPLETED),
    ]
    assert refs(LiveJobs(home.ctx, [JobRef(20, 3)]).listing())[0] == ("20_3", StateGroup.RUNNING)
    assert "20_0" not in dict(refs(LiveJobs(home.ctx).listing()))


@pytest.mark.parametrize("task", [JobRef(20, 3), JobRef(1003)])
def test_only_the_named_task_of_an_array_is_shown_beside_another_job(home: Home12, task: JobRef) -> None:
    home.save(replace(running_task("3"), raw_job_id=1003), running_task("1"), job_id=20, array_indices="1,3")
    listing = LiveJobs(home.ctx, [task, JobRef(12)]).listing()
    assert refs(listing) == [("12", StateGroup.RUNNING), ("20_3", StateGroup.RUNNING)]


def test_old_data_are_dated(home: Home12) -> None:
    home.save(running_task(), job_id=13)
    home.save(running_task(), job_id=12, answered_s=NOW_S - 500)
    listing = LiveJobs(home.ctx).listing()
    assert [task.is_stale for task in listing.tasks] == [True, False]
    assert (listing.stale_since_s, listing.as_of_s) == (NOW_S - 500, NOW_S)


def test_data_become_old_and_estimates_go_on_without_a_change_of_files(home: Home12) -> None:
    live = LiveJobs(home.ctx, [JobRef(12)])
    first = live.listing()
    home.clock.now_s += 5
    second = live.listing()
    assert (second.at_s, second.tasks) == (NOW_S + 5, first.tasks)
    home.clock.now_s += 100
    third = live.listing()
    assert third.stale_since_s == NOW_S
    assert third.tasks[0].is_stale
    assert third.tasks[0].estimate != first.tasks[0].estimate


def test_during_an_outage_all_data_are_stale(home: Home12) -> None:
    home.save(running_task(), job_id=12, answered_s=NOW_S - 20, stale_since_s=NOW_S - 5)
    listing = LiveJobs(home.ctx, [JobRef(12)]).listing()
    assert (listing.stale_since_s, listing.as_of_s) == (NOW_S - 20, None)


def test_a_state_file_that_cannot_be_read_is_counted(home: Home12) -> None:
    (home.ctx.home.state / "slurm-99-x.json").write_text("{", encoding="utf-8")
    assert LiveJobs(home.ctx).listing().unreadable == 1


def test_a_job_that_left_the_queue_is_ending(home: Home12) -> None:
    from jobmon_core.domain.job.tracking.model import EndInquiry

    home.save(replace(running_task(), inquiry=EndInquiry(NOW_S, NOW_S, JobState.COMPLETED)), job_id=12)
    assert refs(LiveJobs(home.ctx).listing())[0] == ("12", StateGroup.ENDING)
