"""Which jobs a patrol looks at, and what it does if it cannot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.app.live.patrol import (
    PatrolFailed,
    failed_earlier,
    in_bounded_time,
    jobs_to_patrol,
    named_state_ids,
)
from jobmon_core.context import Context
from jobmon_core.domain.errors import StorageFailed, UnknownJob
from jobmon_core.domain.many.groups.model import Group, Member
from jobmon_core.domain.many.patrol import Memory, Remembered
from jobmon_core.lifecycle.health import Health, JobStatus
from jobmon_core.store.home import Home
from tests.support.job_records import NOW_S, RUNNING, failed, job_of, status_of, succeeded

LAST_S = NOW_S - 1800


def over(job_id: int, concluded_s: float) -> JobStatus:
    return status_of(job_of(succeeded(), job_id=job_id, concluded_s=concluded_s), Health.DONE)


@pytest.mark.parametrize(
    ("job", "memory", "is_chosen"),
    [
        (status_of(job_of(RUNNING)), Memory(LAST_S), True),
        (status_of(job_of(RUNNING), Health.DEAD), Memory(LAST_S), True),
        (over(12, LAST_S + 60), Memory(LAST_S), True),  # it began and ended since
        (over(12, LAST_S - 60), Memory(LAST_S), False),
        (over(12, LAST_S - 60), Memory(LAST_S, {"slurm-12-x": Remembered(LAST_S)}), True),  # seen running
        (over(12, LAST_S - 60), Memory(LAST_S, {"slurm-12-x": Remembered(LAST_S, is_over=True)}), False),
        (over(12, NOW_S - 3600), Memory(), True),  # the first patrol looks back a day
        (over(12, NOW_S - 90_000), Memory(), False),
    ],
)
def test_each_end_is_in_one_patrol(job: JobStatus, memory: Memory, *, is_chosen: bool) -> None:
    assert bool(jobs_to_patrol([job], (), memory, NOW_S)) is is_chosen


def test_failed_jobs_of_earlier_patrols_are_counted() -> None:
    running = status_of(job_of(RUNNING))
    failure = status_of(job_of(failed(), job_id=13, concluded_s=NOW_S - 60), Health.DONE)
    listed = [running, failure, over(14, NOW_S - 60)]
    assert failed_earlier(listed, [running], NOW_S) == 1
    assert failed_earlier(listed, listed, NOW_S) == 0


def test_a_job_that_is_named_is_looked_at_however_old_and_no_other() -> None:
    jobs = [over(12, 0.0), status_of(job_of(RUNNING, job_id=13))]
    assert jobs_to_patrol(jobs, ["slurm-12-x"], Memory(NOW_S), NOW_S) == jobs[:1]


def test_a_group_stands_for_its_submitted_runs(tmp_path: Path) -> None:
    ctx = Context(Home(tmp_path), {})
    job = replace(job_of(RUNNING), registered_s=NOW_S)
    ctx.store.save(job)
    members = {"a": Member(job.id), "b": Member("slurm-13-x"), "c": Member()}
    ctx.groups.create(Group("sweep1", NOW_S, members=members))
    assert named_state_ids(ctx, ["sweep1", "12", "train"]) == ["slurm-12-x", "slurm-13-x"]
    with pytest.raises(UnknownJob):
        named_state_ids(ctx, ["sweep2"])


def test_a_patrol_that_cannot_look_fails_as_a_failed_job_does_and_says_why() -> None:
    with pytest.raises(PatrolFailed, match="could not look at the jobs: ZeroDivisionError") as raised:
        in_bounded_time(Memory, lambda: Memory(1 / 0))
    assert raised.value.exit_code == 2

    def refuse() -> Memory:
        raise StorageFailed("state belongs to user root")

    with pytest.raises(PatrolFailed, match=r"^the patrol could not look at the jobs: state belongs to"):
        in_bounded_time(Memory, refuse)
