from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from jobmon_core.analysis.ending.run_changes import changes_lines
from jobmon_core.domain.job.tracking.model import End, Source, Task, WatchedJob
from jobmon_core.domain.logs.diagnosis.model import Diagnosis
from jobmon_core.domain.many.provenance.model import RunRecord
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.store.home import Home
from jobmon_core.store.job_files import RunRecordFile
from jobmon_core.store.jobs import JobStore

SUCCESS = End(JobState.COMPLETED, "COMPLETED", Outcome.SUCCESS, Source.QUEUE)
FAILURE = End(JobState.FAILED, "FAILED", Outcome.FAILURE, Source.QUEUE, exit_code=1)
UNKNOWN = Diagnosis(None, "Failed", "", "")
KEYS = ("0", "1", "2", "3", "4")
EARLIER = 30


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def store(home: Home, tmp_path: Path) -> JobStore:
    """The store of 30 earlier jobs: the oldest one succeeded, all others failed."""
    (tmp_path / "jobs").mkdir()
    store = JobStore(tmp_path / "jobs")
    for number in range(EARLIER):
        store.save(job(number, {"": Task("", end=FAILURE if number else SUCCESS)}))
    RunRecordFile(home.run_file(job(0, {}).id)).write(RunRecord(1.0, folder="/w"))
    return store


def job(number: int, tasks: dict[str, Task]) -> WatchedJob:
    return WatchedJob(
        f"slurm-{100 + number}-{number:02}", 100 + number, float(number), name="train", tasks=tasks
    )


@pytest.fixture
def array(home: Home) -> WatchedJob:
    found = job(50, {key: Task(key, end=FAILURE) for key in KEYS})
    RunRecordFile(home.run_file(found.id)).write(RunRecord(1.0, folder="/w"))
    return found


def every(step_s: float) -> Iterator[float]:
    """Times with ``step_s`` seconds between two looks at the clock."""
    return (number * step_s for number in count())


def test_the_earlier_jobs_are_read_once_for_all_tasks(home: Home, store: JobStore, array: WatchedJob) -> None:
    times = every(0.0001)
    lines = changes_lines(home, store, array, dict.fromkeys(KEYS, UNKNOWN), lambda: next(times))
    assert lines == dict.fromkeys(KEYS, "nothing that jobmon records since 100 succeeded")
    looks = round(next(times) / 0.0001)  # one before each state file, one before each task, one at first
    assert looks <= EARLIER + len(KEYS) + 2


def test_a_slow_search_ends_without_a_claim(home: Home, store: JobStore, array: WatchedJob) -> None:
    times = every(1.0)
    lines = changes_lines(home, store, array, dict.fromkeys(KEYS, UNKNOWN), lambda: next(times))
    assert set(lines.values()) <= {""}
    assert next(times) <= 10
