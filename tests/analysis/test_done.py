"""What shows that a job is done: a marker, lines of its logs, what it produces; all of this run."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from jobmon_core.analysis.done import look_for_done
from jobmon_core.app.processes.watch import with_log_sizes
from jobmon_core.domain.job.job_settings import Done, JobSettings
from jobmon_core.domain.job.tracking.done import GRACE_S, DoneLook, record_by_files
from jobmon_core.domain.job.tracking.model import EndInquiry, Task, WatchedJob
from jobmon_core.domain.slurm.log_paths import BY_USER, LogPaths
from jobmon_core.domain.slurm.rows import NotListed, Unreachable
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.monitor.done_hints import DoneHints
from tests.support.clock import FakeClock

START_S = 1_000_000


def job_in(folder: Path, marker: str = "", artifact: str = "", log: str = "") -> WatchedJob:
    """Return a running process with a log that an earlier run began."""
    path = folder / "log"
    path.write_text("earlier done\n", "utf-8")
    paths = LogPaths(str(path), str(path), BY_USER)
    marker, artifact = (str(folder / name) if name else "" for name in (marker, artifact))
    settings = with_log_sizes(JobSettings(done=Done(marker, log, artifact)), [paths])
    task = Task("", JobState.RUNNING, JobState.RUNNING, start_s=START_S)
    return WatchedJob(
        "process-7-x",
        7,
        START_S,
        logs=paths,
        tasks={"": task},
        settings=settings,
        unprovable_why="nobody knows",
    )


def write(path: Path, text: str = "", at_s: float = START_S + 60, *, append: bool = False) -> None:
    with path.open("a" if append else "w", encoding="utf-8") as file:
        file.write(text)
    os.utime(path, (at_s, at_s))


@pytest.mark.parametrize(
    ("done", "after", "found", "missing"),
    [
        ({"marker": "DONE"}, lambda f: write(f / "DONE"), ["marker"], []),
        ({"marker": "DONE"}, lambda f: write(f / "DONE", at_s=START_S - 1), [], ["marker"]),
        ({"marker": "DONE"}, lambda _: None, [], ["marker"]),
        ({"log": "^all [0-9]+ done"}, lambda f: write(f / "log", "all 7 done\n", append=True), ["log"], []),
        ({"log": "^earlier done"}, lambda f: write(f / "log", "bye\n", append=True), [], ["log"]),
        ({"log": "^new done"}, lambda f: write(f / "log", "new done\n"), ["log"], []),
        ({"artifact": "r*.csv"}, lambda f: write(f / "r7.csv"), ["artifact"], []),
        ({"artifact": "r*.csv"}, lambda f: write(f / "r7.csv", at_s=START_S - 1), [], ["artifact"]),
        ({"artifact": "r.csv", "marker": "DONE"}, lambda f: write(f / "r.csv"), ["artifact"], ["marker"]),
    ],
)
def test_only_what_this_run_wrote_counts(
    tmp_path: Path, done: dict[str, str], after: Callable[[Path], None], found: list[str], missing: list[str]
) -> None:
    job = job_in(tmp_path, **done)
    after(tmp_path)
    look = look_for_done(job, job.tasks[""])
    assert [part.split()[0] for part in look.found] == found
    assert [part.split()[0] for part in look.missing] == missing
    assert look.is_proof == (not missing)


@pytest.mark.parametrize(
    ("content", "status"),
    [
        ('{"exit_status": 3}', 3),
        ('{"exit_status": 0}', 0),
        ('{"exit_status": true}', None),
        ("[1]", None),
        ("done", None),
    ],
)
def test_a_marker_may_state_an_exit_status(tmp_path: Path, content: str, status: int | None) -> None:
    job = job_in(tmp_path, marker="DONE")
    write(tmp_path / "DONE", content)
    assert look_for_done(job, job.tasks[""]).exit_status == status


def inquired(job: WatchedJob) -> WatchedJob:
    """Return the job after all of its processes are gone."""
    task = Task("", JobState.RUNNING, JobState.RUNNING, start_s=START_S, inquiry=EndInquiry(START_S, START_S))
    return WatchedJob(job.id, 7, START_S, tasks={"": task}, settings=job.settings, unprovable_why="x")


def test_without_proof_the_answer_waits_for_a_grace_and_is_then_unchanged(tmp_path: Path) -> None:
    job, gone = inquired(job_in(tmp_path, marker="DONE")), NotListed()
    assert isinstance(record_by_files(job, gone, DoneLook, START_S + GRACE_S - 1), Unreachable)
    assert record_by_files(job, gone, DoneLook, START_S + GRACE_S) is gone
    proved = record_by_files(job, gone, lambda: DoneLook(("marker DONE",), at_s=START_S + 9), START_S + 99)
    assert isinstance(proved, tuple)
    assert [(each.state, each.reason, each.end_s) for each in proved] == [
        (JobState.COMPLETED, "marker DONE", START_S + 9)
    ]


def test_an_ended_process_counts_as_running_while_another_one_of_its_job_runs(tmp_path: Path) -> None:
    job = inquired(job_in(tmp_path, marker="DONE"))
    answer = record_by_files(job, (), DoneLook, START_S + 99)
    assert isinstance(answer, tuple)
    assert [each.state for each in answer] == [JobState.RUNNING]


def test_a_marker_that_appears_makes_the_job_due_once(tmp_path: Path) -> None:
    clock = FakeClock(START_S + 100.0)
    job, hints = job_in(tmp_path, marker="DONE"), DoneHints(clock)
    assert hints.look() is None
    assert hints.follow(job) is None
    assert hints.look() == set()
    write(tmp_path / "DONE", at_s=START_S - 1)
    assert hints.look() == set()
    write(tmp_path / "DONE")
    assert hints.look() == {job.id}
    assert hints.look() == set()
    clock.now_s += 5
    assert hints.follow(job) == START_S + 100
    hints.forget(job.id)
    assert hints.look() is None
