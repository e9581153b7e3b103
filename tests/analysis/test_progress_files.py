"""The progress files of running jobs, as they follow from growing logs."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.analysis.progress import settings_of_task
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.tracking.model import End, Source
from jobmon_core.domain.logs.progress.estimate import estimate
from jobmon_core.domain.logs.progress.events.event import EventKind
from jobmon_core.domain.logs.progress.workers import worker_rate_per_s
from jobmon_core.domain.slurm.states import JobState, Outcome
from tests.support.followed_job import RUNNING, START_S, FollowedJob

END = End(JobState.COMPLETED, "COMPLETED", Outcome.SUCCESS, Source.QUEUE, ended_s=START_S + 900)


@pytest.fixture
def job(tmp_path: Path) -> FollowedJob:
    return FollowedJob(tmp_path)


def test_each_look_adds_a_sample_at_the_time_when_the_log_was_written(job: FollowedJob) -> None:
    for step in (10, 20, 30):
        job.later(30, f"step {step}/100 loss 0.5\n")
    followed = job.saved.tasks[""]
    assert followed.progress is not None
    assert (followed.progress.current, followed.progress.total, followed.progress.loss) == (30, 100, 0.5)
    assert [(sample.at_s - START_S, sample.current) for sample in followed.history.samples] == [
        (30, 10), (60, 20), (90, 30),
    ]  # fmt: skip
    assert followed.logs == (str(job.log),)


def test_nothing_new_does_not_replace_the_file(job: FollowedJob) -> None:
    job.later(30, "step 10/100\n")
    before = (job.folder / "slurm-12-x.json").stat()
    job.later(30)
    assert (job.folder / "slurm-12-x.json").stat().st_ino == before.st_ino


def test_a_log_that_does_not_exist_yet_has_no_progress(job: FollowedJob) -> None:
    assert job.later(30) == ()
    assert job.saved.tasks.get("") is None or job.saved.tasks[""].progress is None


def test_a_stall_needs_a_log_that_does_not_grow_either(job: FollowedJob) -> None:
    for step in range(10, 60, 10):
        job.later(30, f"step {step}/100\n")
    for _ in range(10):
        assert job.kinds(60, "evaluating ...\n") == []
    assert job.kinds(60) == []
    assert job.kinds(600) == [EventKind.STALLED]
    assert job.kinds(600) == [EventKind.STALLED], "it is the same one"
    assert job.kinds(60, "step 60/100\n") == [EventKind.STALLED, EventKind.RECOVERED]
    events = job.saved.events
    assert events[-1].ended is EventKind.STALLED
    assert "nothing was written to its logs" in next(
        event.text for event in events if event.kind is EventKind.STALLED
    )


def test_the_user_may_choose_when_a_job_counts_as_stalled(tmp_path: Path) -> None:
    job = FollowedJob(tmp_path, JobSettings(stall_timeout_s=60.0))
    for step in range(10, 60, 10):
        job.later(30, f"step {step}/100\n")
    assert job.kinds(61) == [EventKind.STALLED]


@pytest.mark.parametrize(("percent", "kinds"), [(None, [EventKind.SLOW]), (60.0, [])])
def test_the_user_may_choose_when_a_job_counts_as_slow(
    tmp_path: Path, percent: float | None, kinds: list[EventKind]
) -> None:
    job = FollowedJob(tmp_path, JobSettings(slowdown_percent=percent))
    for step in range(1, 41):
        assert job.kinds(30, f"step {step}/100\n") == []
    for step in range(41, 61):
        job.kinds(60, f"step {step}/100\n")
    assert job.kinds(60, "step 61/100\n") == kinds


def test_a_job_that_will_not_make_its_limit_is_told_so(job: FollowedJob) -> None:
    kinds: list[EventKind] = []
    for step in range(1, 40):
        kinds = job.kinds(600, f"step {step}/100\n")
    assert kinds == [EventKind.TIME_LIMIT]
    assert any("--time=" in event.text for event in job.saved.events)


def test_an_ended_task_keeps_its_last_progress_and_gets_no_warning(job: FollowedJob) -> None:
    for step in range(10, 60, 10):
        job.later(30, f"step {step}/100\n")
    job.job = replace(job.job, tasks={"": replace(RUNNING, state=JobState.COMPLETED, end=END)})
    assert job.kinds(900, "step 100/100\n") == []
    assert job.kinds(9000) == []
    progress = job.saved.tasks[""].progress
    assert progress is not None
    assert progress.fraction == 1.0


def test_the_users_total_and_patterns_are_used(tmp_path: Path) -> None:
    settings = JobSettings(total_items=250, progress_patterns={"items": r"indexed (\d+)"})
    job = FollowedJob(tmp_path, settings)
    job.later(30, "indexed 50 so far\n")
    progress = job.saved.tasks[""].progress
    assert progress is not None
    assert (progress.current, progress.total, progress.unit) == (50, 250, "item")


def test_the_users_total_is_that_of_all_tasks_of_an_array(tmp_path: Path) -> None:
    job = FollowedJob(tmp_path, JobSettings(total_items=250))
    tasks = {key: replace(RUNNING, key=key) for key in ("0", "1")}
    assert settings_of_task(replace(job.job, tasks=tasks)).total_items is None
    assert settings_of_task(job.job).total_items == 250


def test_the_average_ignores_samples_of_another_unit(job: FollowedJob) -> None:
    def line(batch: int) -> str:
        return f"batch {batch} of 50: indexed {5_000 * batch} docs\n"

    for batch in (10, 20, 30):
        job.later(30, line(batch))
    patterns = {"items": r"indexed (\d+)"}
    job.job = replace(job.job, settings=JobSettings(total_items=250_000, progress_patterns=patterns))
    job.later(30, line(40))
    events = job.later(30, line(50))
    followed = job.saved.tasks[""]
    assert followed.progress is not None
    assert (followed.progress.unit, followed.progress.current) == ("item", 250_000)
    assert estimate(followed.history, None, job.now_s).average_rate_per_s == pytest.approx(50_000 / 30)
    assert EventKind.RESTARTED not in {event.kind for event in events}


@pytest.mark.parametrize(
    "damage", ["{", '{"tasks": 3}', "", '{"tasks": {"": {"history": {"samples": [1]}}}}']
)
def test_a_damaged_progress_file_is_replaced(job: FollowedJob, damage: str) -> None:
    job.later(30, "step 10/100\n")
    (job.folder / "slurm-12-x.json").write_text(damage, encoding="utf-8")
    job.later(30, "step 20/100\n")
    progress = job.saved.tasks[""].progress
    assert progress is not None
    assert progress.current == 20


def test_the_number_of_events_is_bounded(tmp_path: Path) -> None:
    job = FollowedJob(tmp_path, JobSettings(stall_timeout_s=60.0))
    for step in range(1, 130):
        job.later(10, f"step {step}/1000\n")
        job.later(100)
    assert len(job.saved.events) == 200


def test_each_worker_is_followed_by_its_own_log_once_it_has_written(tmp_path: Path) -> None:
    settings = JobSettings(num_workers=3, log_dir=str(tmp_path), log_pattern="worker_*.log")
    job = FollowedJob(tmp_path, settings)
    (tmp_path / "worker_2.log").touch()
    for count in (10, 40):
        for number in range(2):
            log = tmp_path / f"worker_{number}.log"
            with log.open("a", encoding="utf-8") as file:
                file.write(f"Processed {count + number}/100 items\n")
            os.utime(log, (START_S + count, START_S + count))
        job.later(30)
    followed = job.saved.tasks[""]
    assert followed.progress is not None
    assert (followed.progress.current, followed.progress.total) == (81, 200)
    assert list(followed.workers) == ["worker_0.log", "worker_1.log"]
    shown = followed.workers["worker_1.log"]
    assert shown.progress is not None
    assert (shown.progress.current, shown.written_s) == (41, START_S + 40)
    assert worker_rate_per_s(shown) == 1.0


def test_a_job_that_has_written_nothing_at_all_is_reported_if_the_user_names_a_time(tmp_path: Path) -> None:
    job = FollowedJob(tmp_path, JobSettings(launch_timeout_s=60.0))
    job.log.touch()
    assert job.kinds(30) == []
    assert job.kinds(30) == job.kinds(30) == [EventKind.NO_OUTPUT]
    assert job.kinds(30, "loading\n") == [EventKind.NO_OUTPUT, EventKind.RECOVERED]
    for step in range(5):
        assert job.kinds(30, f"step {step}/100\n") == [EventKind.NO_OUTPUT, EventKind.RECOVERED]


def test_a_job_whose_output_is_discarded_is_not_said_to_write_nothing(tmp_path: Path) -> None:
    job = FollowedJob(tmp_path, JobSettings(launch_timeout_s=60.0))
    job.job = replace(job.job, logs=replace(job.job.logs, stdout="/dev/null", stderr="/dev/null"))
    assert job.kinds(600) == []


def test_missing_workers_are_reported_once_while_the_others_make_progress(tmp_path: Path) -> None:
    settings = JobSettings(num_workers=2, log_dir=str(tmp_path), log_pattern="w*.log", launch_timeout_s=60.0)
    job = FollowedJob(tmp_path, settings)
    kinds: list[EventKind] = []
    for step in range(1, 5):
        (tmp_path / "w0.log").write_text("\n".join(f"step {each}/100" for each in range(step + 1)))
        os.utime(tmp_path / "w0.log", (job.now_s + 30, job.now_s + 30))
        kinds = job.kinds(30, "main log\n")
    assert kinds == [EventKind.NO_OUTPUT]
    assert "only 1 of 2 workers" in job.saved.events[0].text


def test_a_time_of_the_user_needs_no_earlier_pauses_to_call_a_job_stalled(tmp_path: Path) -> None:
    job = FollowedJob(tmp_path, JobSettings(stall_timeout_s=60.0))
    job.later(30, "step 10/100\n")
    assert job.kinds(59) == []
    assert job.kinds(1) == [EventKind.STALLED]
