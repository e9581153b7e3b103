from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.analysis.ending.complete import end_steps
from jobmon_core.analysis.ending.files import EndFiles
from jobmon_core.analysis.explainer import diagnoses_of, evidence_of, unique_job_id, with_progress
from jobmon_core.domain.job.job_progress import FollowedTask, JobProgress
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.tracking.model import End, Source, Task, WatchedJob
from jobmon_core.domain.logs.diagnosis.model import INCOMPLETE, Diagnosis, EarlierLog
from jobmon_core.domain.node.telemetry.model import Node, Sample
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.store.telemetry import TaskTelemetry
from jobmon_core.system.helper import Helper
from tests.support.live_jobs import progress_of

JOB = WatchedJob("slurm-12-x", 12, 0.0)
ARRAY = replace(JOB, array_indices="1-3")


@pytest.mark.parametrize(
    ("job", "task", "expected"),
    [
        (JOB, Task(""), 12),
        (ARRAY, Task("1", raw_job_id=14), 14),
        (ARRAY, Task("3", raw_job_id=12), None),
        (ARRAY, Task("2"), None),
        (replace(JOB, backend="local"), Task(""), None),  # 12 may be anything in run-12.out
        (replace(JOB, backend="process"), Task(""), None),
    ],
)
def test_only_an_id_that_no_other_job_has_is_looked_for_in_names_of_files(
    job: WatchedJob, task: Task, expected: int | None
) -> None:
    assert unique_job_id(job, task) == expected


@pytest.mark.parametrize(
    ("uid", "canceller"),
    [(None, ""), (os.getuid(), "you"), (1, "daemon"), (4_000_000_000, "user 4000000000")],
)
def test_the_user_who_cancelled_a_job_is_named(uid: int | None, canceller: str) -> None:
    end = End(JobState.CANCELLED, "CANCELLED", Outcome.CANCELLED, Source.ACCOUNTING, cancelled_by=uid)
    assert evidence_of(end).canceller == canceller


@pytest.mark.parametrize(
    ("backend", "expected"), [("slurm", False), ("local", True), ("ray", True), ("a later one", True)]
)
def test_only_the_jobs_of_slurm_get_the_advice_for_slurm(backend: str, *, expected: bool) -> None:
    end = End(JobState.FAILED, "FAILED", Outcome.FAILURE, Source.QUEUE)
    assert evidence_of(end, backend).is_local is expected


SUCCESS = End(JobState.COMPLETED, "COMPLETED", Outcome.SUCCESS, Source.QUEUE)
FAILURE = End(JobState.FAILED, "FAILED", Outcome.FAILURE, Source.QUEUE, exit_code=1)
SHORT = progress_of(67_300, 100_000, unit="item")
NOTHING_FOUND = Diagnosis(None, "Completed", "", "")


def one_job(end: End, *, restarts: int = 0) -> WatchedJob:
    settings = JobSettings(total_items=100_000)
    return replace(JOB, settings=settings, tasks={"": Task("", end=end, restarts=restarts)})


def end_files(tmp_path: Path, progress: JobProgress, telemetry: TaskTelemetry) -> EndFiles:
    def read() -> JobProgress:
        return progress

    missing = tmp_path / "no_patterns.json"
    return EndFiles(
        read,
        read,
        missing,
        lambda _: {},
        lambda *_: tmp_path / "bundle",
        lambda *_: telemetry,
        tmp_path,
        lambda: 0.0,
    )


def test_a_diagnosis_says_how_far_the_task_came(tmp_path: Path) -> None:
    files = end_files(tmp_path, JobProgress(tasks={"": SHORT}), TaskTelemetry(tmp_path / "none"))
    found = diagnoses_of(one_job(FAILURE), ("",), files)
    assert found[""].work == "reached item 67,300 of 100,000 (67%)"
    assert found[""].has_course


@pytest.mark.parametrize("fail", [lambda: os._exit(1), lambda: 1 // 0])
def test_a_diagnosis_does_not_depend_on_the_search_for_changes(
    tmp_path: Path, fail: Callable[[], object]
) -> None:
    def broken(_: Mapping[str, Diagnosis]) -> dict[str, str]:
        fail()
        raise AssertionError

    logged: list[str] = []
    files = end_files(tmp_path, JobProgress(tasks={"": SHORT}), TaskTelemetry(tmp_path / "none"))
    steps = end_steps(one_job(FAILURE), ("",), files._replace(changes_of=broken))
    found = Helper().run_steps(dict[str, Diagnosis], {}, steps, logged.append)
    assert (found[""].work, found[""].changes) == ("reached item 67,300 of 100,000 (67%)", "")
    assert found[""].bundle
    (line,) = logged
    assert line.startswith("what changed since the job last worked is not known: ")


@pytest.mark.parametrize("has_telemetry", [False, True])
def test_a_diagnosis_says_whether_a_report_would_have_charts(tmp_path: Path, *, has_telemetry: bool) -> None:
    telemetry = TaskTelemetry(tmp_path / "telemetry")
    if has_telemetry:
        telemetry.add(Sample(at_s=1.0, node=Node("n1")))
    found = diagnoses_of(one_job(FAILURE), ("",), end_files(tmp_path, JobProgress(), telemetry))
    assert found[""].has_course is has_telemetry


@pytest.mark.parametrize(
    ("job", "cause"),
    [
        (one_job(SUCCESS), INCOMPLETE),
        (one_job(SUCCESS, restarts=1), None),  # the last run may have done only the rest
        (replace(one_job(SUCCESS), tasks={each: Task(each, end=SUCCESS) for each in "12"}), None),
        (replace(one_job(SUCCESS), settings=None), None),
    ],
)
def test_only_the_whole_work_of_a_job_is_compared_with_what_the_user_named(
    job: WatchedJob, cause: str | None
) -> None:
    assert with_progress(NOTHING_FOUND, job, SUCCESS, SHORT).cause == cause


def test_of_more_workers_than_are_read_the_sum_proves_nothing() -> None:
    workers = replace(SHORT, logs=tuple(f"/w/worker_{number}.log" for number in range(65)))
    assert with_progress(NOTHING_FOUND, one_job(SUCCESS), SUCCESS, workers).cause is None


def test_a_count_that_never_moved_may_be_that_of_an_earlier_run_in_the_same_log() -> None:
    once = FollowedTask(SHORT.progress, replace(SHORT.history, samples=SHORT.history.samples[-1:]))
    appended = replace(one_job(FAILURE), earlier_logs={"/w/train.log": EarlierLog(900, "0")})
    assert with_progress(NOTHING_FOUND, appended, FAILURE, once).work == ""
    assert with_progress(NOTHING_FOUND, one_job(FAILURE), FAILURE, once).work != ""
