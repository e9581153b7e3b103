"""The outputs and checkpoints of running jobs: what is looked at, and what it means for a stall."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.domain.artifacts.model import Artifacts, Checkpoints, Outputs
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.tracking.model import End, Source
from jobmon_core.domain.logs.progress.events.event import EventKind
from jobmon_core.domain.slurm.log_paths import BY_SLURM, LogPaths
from jobmon_core.domain.slurm.states import JobState, Outcome
from tests.support.followed_job import RUNNING, START_S, FollowedJob

END = End(JobState.COMPLETED, "COMPLETED", Outcome.SUCCESS, Source.QUEUE, ended_s=START_S + 900)


@pytest.fixture
def job(tmp_path: Path) -> FollowedJob:
    """A job whose outputs, checkpoints among them, are in the folder ``out``."""
    return FollowedJob(tmp_path, JobSettings(output_dir=str(tmp_path / "out")))


def artifacts(job: FollowedJob, key: str = "") -> Artifacts:
    return job.saved.artifacts[key]


def outputs(job: FollowedJob, key: str = "") -> Outputs:
    found = artifacts(job, key).outputs
    assert found is not None
    return found


def checkpoints(job: FollowedJob, key: str = "") -> Checkpoints:
    found = artifacts(job, key).checkpoints
    assert found is not None
    return found


def with_steps(job: FollowedJob) -> FollowedJob:
    """Let the job print some steps, so that a pause may be a stall."""
    for step in range(10, 60, 10):
        job.later(30, f"step {step}/100\n")
    return job


def test_a_log_that_names_no_folder_is_noted_and_nothing_is_looked_at(tmp_path: Path) -> None:
    for settings in (None, JobSettings(log_dir=str(tmp_path))):
        job = FollowedJob(tmp_path, settings)
        job.later(30, "step 10/100\n")
        assert job.saved.artifacts[""].outputs is None
        assert job.saved.artifacts[""].searched_bytes


def test_outputs_are_counted_with_their_growth_and_their_disk(job: FollowedJob) -> None:
    for size_kib in (10, 40):
        job.now_s += 30
        job.write(job.folder / "out" / "a.jsonl", size_kib * 1024)
        job.later(0)
    found = outputs(job)
    assert (found.folder, found.count, found.total.size_bytes) == (f"{job.folder}/out", 1, 40 * 1024)
    assert found.files[0].growth.rate_per_s(job.now_s) == 1024
    disk = artifacts(job).disk
    assert disk is not None
    assert disk.total_bytes > 0


def test_logs_and_checkpoints_are_no_outputs(tmp_path: Path) -> None:
    job = FollowedJob(tmp_path, JobSettings(output_dir=str(tmp_path)))
    job.write(tmp_path / "epoch_1.pt", 100)
    job.write(tmp_path / "a.jsonl", 7)
    job.later(30, "step 10/100\n")
    assert {file.name for file in outputs(job).files} == {"a.jsonl"}
    assert checkpoints(job).count == 1


def test_the_patterns_of_the_user_decide(tmp_path: Path) -> None:
    settings = JobSettings(
        output_dir=str(tmp_path / "%j"),
        output_pattern="part_%j_*.csv",
        checkpoint_dir=str(tmp_path / "saves"),
        checkpoint_pattern="save-*",
    )
    job = FollowedJob(tmp_path, settings)
    for name in ("12/part_12_0.csv", "12/part_13_0.csv", "12/a.txt", "saves/save-1", "saves/epoch_1.pt"):
        job.write(tmp_path / name, 1)
    job.later(30)
    assert [file.name for file in outputs(job).files] == ["part_12_0.csv"]
    newest = checkpoints(job).newest
    assert newest is not None
    assert (checkpoints(job).count, newest.name) == (1, "save-1")


def test_a_pattern_without_a_folder_is_for_the_folder_of_the_job(tmp_path: Path) -> None:
    job = FollowedJob(tmp_path, JobSettings(output_pattern="*.csv"))
    job.job = replace(job.job, workdir=str(tmp_path))
    job.write(tmp_path / "a.csv", 1)
    job.later(30)
    assert [file.name for file in outputs(job).files] == ["a.csv"]
    assert artifacts(job).checkpoints is None


def test_checkpoints_that_nobody_named_are_shown_once_there_is_one(job: FollowedJob) -> None:
    job.later(30)
    assert outputs(job).problem == "no such folder yet"
    assert artifacts(job).checkpoints is None
    job.write(job.folder / "out" / "epoch_1.pt", 1)
    job.later(30)
    assert checkpoints(job).count == 1


def test_a_saved_checkpoint_is_an_event_with_its_time(job: FollowedJob) -> None:
    job.later(30)
    job.write(job.folder / "out" / "epoch_1.pt", 1)
    (event,) = job.later(30)
    assert (event.kind, event.text, event.at_s) == (
        EventKind.CHECKPOINT, "checkpoint saved (epoch_1.pt)", START_S + 30,
    )  # fmt: skip
    assert job.later(30) == (event,)


def test_a_checkpoint_of_an_earlier_run_is_neither_shown_nor_an_event(job: FollowedJob) -> None:
    job.write(job.folder / "out" / "epoch_1.pt", 1, age_s=5)  # after the submission, before the start
    assert job.later(30) == ()
    assert artifacts(job).checkpoints is None
    job.write(job.folder / "out" / "epoch_2.pt", 1)
    job.later(30)
    newest = checkpoints(job).newest
    assert newest is not None
    assert (checkpoints(job).count, newest.name) == (1, "epoch_2.pt")


def test_many_checkpoints_leave_room_for_warnings(tmp_path: Path) -> None:
    job = FollowedJob(tmp_path, JobSettings(output_dir=str(tmp_path / "out"), stall_timeout_s=60.0))
    with_steps(job).later(61)
    for number in range(50):
        job.write(tmp_path / "out" / f"epoch_{number}.pt", 1)
        job.later(30)
    kinds = [event.kind for event in job.saved.events]
    assert EventKind.STALLED in kinds
    assert kinds.count(EventKind.CHECKPOINT) + kinds.count(EventKind.MILESTONE) == 30


def test_a_job_whose_outputs_grow_has_not_stalled(job: FollowedJob) -> None:
    with_steps(job)
    for minute in range(1, 60):
        job.write(job.folder / "out" / "a.jsonl", minute)
        assert EventKind.STALLED not in job.kinds(60)
    (held_back,) = (event for event in job.saved.events if event.subject)
    assert (held_back.subject, held_back.is_quiet) == ("block-buffered-output", True)
    assert EventKind.STALLED in job.kinds(600)
    assert job.saved.events[-1].text.endswith("nothing was written to its logs and outputs for 11m")


def test_a_job_that_saves_checkpoints_has_not_stalled(job: FollowedJob) -> None:
    with_steps(job)
    for number in range(60):
        (job.folder / "out").mkdir(exist_ok=True)
        job.write(job.folder / "out" / f"epoch_{number}.pt", 1)
        job.later(60)
    assert EventKind.STALLED not in job.kinds(0)


def test_the_last_look_is_after_the_end(job: FollowedJob) -> None:
    job.later(30, "step 10/100\n")
    job.now_s += 30
    job.write(job.folder / "out" / "epoch_9.pt", 1)
    job.job = replace(job.job, tasks={"": replace(RUNNING, state=JobState.COMPLETED, end=END)})
    assert job.kinds(0) == [EventKind.CHECKPOINT]
    assert job.kinds(0) == [EventKind.CHECKPOINT]


def test_tasks_of_an_array_that_share_a_folder_share_what_is_found(job: FollowedJob) -> None:
    tasks = {key: replace(RUNNING, key=key) for key in ("1", "2")}
    job.job = replace(job.job, tasks=tasks, array_indices="1-2")
    with_steps(job)
    for number in range(60):
        job.write(job.folder / "out" / f"{number}.jsonl", 1)
        job.later(60)
    assert job.saved.artifacts.keys() == {""}
    assert job.saved.artifacts_of("2") == artifacts(job)
    stalled = [event.task for event in job.saved.events if event.kind is EventKind.STALLED]
    assert stalled == ["1", "2"], "the outputs may be those of another task"


def test_shared_outputs_hide_no_stall_of_a_task_with_a_checkpoint_folder_of_its_own(tmp_path: Path) -> None:
    settings = JobSettings(output_dir=str(tmp_path / "out"), checkpoint_dir=str(tmp_path / "saved-%a"))
    job = FollowedJob(tmp_path, settings)
    tasks = {key: replace(RUNNING, key=key) for key in ("1", "2")}
    job.job = replace(job.job, tasks=tasks, array_indices="1-2")
    with_steps(job)
    for number in range(20):
        job.write(tmp_path / "out" / "rows.jsonl", number)
        job.write(tmp_path / "saved-2" / "last.pt", number)
        job.later(60)
    stalled = [event.task for event in job.saved.events if event.kind is EventKind.STALLED]
    assert stalled == ["1"]


def test_each_task_of_an_array_may_have_a_folder_of_its_own(tmp_path: Path) -> None:
    job = FollowedJob(tmp_path, JobSettings(output_dir=str(tmp_path / "out-%a")))
    tasks = {key: replace(RUNNING, key=key) for key in ("1", "2")}
    job.job = replace(job.job, tasks=tasks, array_indices="1-2")
    for size_bytes in (5, 65):
        job.write(tmp_path / "out-2" / "a.jsonl", size_bytes)
        job.later(30)
    assert outputs(job, "1").problem == "no such folder yet"
    assert (outputs(job, "2").total.size_bytes, outputs(job, "2").total.bytes_per_s) == (65, 2.0)


def test_logs_of_ended_tasks_are_no_outputs_either(tmp_path: Path) -> None:
    job = FollowedJob(tmp_path, JobSettings(output_dir=str(tmp_path), output_pattern="*.log"))
    logs = LogPaths(str(tmp_path / "%a.log"), str(tmp_path / "%a.log"), BY_SLURM)
    tasks = {key: replace(RUNNING, key=key) for key in ("1", "2")}
    job.job = replace(job.job, tasks=tasks, array_indices="1-2", logs=logs)
    for name in ("1.log", "2.log", "other.log"):
        job.write(tmp_path / name, 1)
    for _ in range(3):
        job.later(30)
        tasks["1"] = replace(RUNNING, key="1", state=JobState.COMPLETED, end=END)
    assert [file.name for file in outputs(job).files] == ["other.log"]


def test_a_progress_file_without_outputs_is_read_on(job: FollowedJob) -> None:
    job.later(30, "step 10/100\n")
    path = job.folder / "slurm-12-x.json"
    record = json.loads(path.read_text())
    del record["artifacts"]
    path.write_text(json.dumps(record))
    job.later(30, "step 20/100\n")
    assert len(job.saved.tasks[""].history.samples) == 2
    assert outputs(job).problem == "no such folder yet"


def test_outputs_that_grow_by_less_than_the_user_demands_do_not_hide_a_stall(tmp_path: Path) -> None:
    for demanded, expected in ((None, False), (10.0, False), (1024.0, True)):
        folder = tmp_path / str(demanded)
        folder.mkdir()
        settings = JobSettings(output_dir=str(folder / "out"), min_growth_bytes=demanded)
        job = with_steps(FollowedJob(folder, settings))
        for minute in range(1, 60):
            job.write(folder / "out" / "a.jsonl", 100 * minute)
            job.later(60)
        stalled = [event.text for event in job.saved.events if event.kind is EventKind.STALLED]
        assert bool(stalled) is expected, demanded
        assert all(text.endswith("and its outputs hardly grew") for text in stalled)


def test_outputs_that_the_log_names_count_as_activity(tmp_path: Path) -> None:
    job = FollowedJob(tmp_path)
    job.later(1, f"output_dir: {tmp_path}/out\n")
    job.write(tmp_path / "out" / "a.jsonl", 1)
    with_steps(job)
    for minute in range(1, 60):
        job.write(tmp_path / "out" / "a.jsonl", minute)
        assert EventKind.STALLED not in job.kinds(60)
    assert artifacts(job).outputs is not None
    assert EventKind.STALLED in job.kinds(600)
