"""A running job whose log is silent, and whose tracker's files are not."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.domain.job.job_settings import JobSettings, TrackSettings
from jobmon_core.domain.job.tracking.model import End, Source
from jobmon_core.domain.logs.progress.events.event import EventKind
from jobmon_core.domain.logs.tracker import TrackerRun
from jobmon_core.domain.slurm.states import JobState, Outcome
from tests.support.event_files import first_event, record, scalar_event
from tests.support.followed_job import RUNNING, START_S, FollowedJob

END = End(JobState.COMPLETED, "COMPLETED", Outcome.SUCCESS, Source.QUEUE, ended_s=START_S + 900)


class Training(FollowedJob):
    """A job that writes TensorBoard's event files below ``runs``, and a line of its log that says nothing."""

    def __init__(self, folder: Path, settings: JobSettings | None = None, script: str = "") -> None:
        super().__init__(folder, settings)
        (folder / "job.sh").write_text(script or "python train.py --logging_dir runs\n", encoding="utf-8")
        self.job = replace(self.job, workdir=str(folder), command=str(folder / "job.sh"))

    def events(self, run: str = "a", since_s: float = 0.0) -> Path:
        """Begin an event file."""
        path = self.folder / "runs" / run / f"events.out.tfevents.{int(START_S + since_s)}.n1.7.0"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(record(first_event(START_S + since_s)))
        return path

    def log_step(self, path: Path, step: int, loss: float, **further: float) -> None:
        """Log a step at the time of the test."""
        scalars = {"train/loss": loss, **further}
        texts = (record(scalar_event(name, value, step, self.now_s)) for name, value in scalars.items())
        with path.open("ab") as file:
            file.write(b"".join(texts))
        os.utime(path, (self.now_s, self.now_s))

    def train(self, path: Path, steps: range, seconds: float = 30.0) -> list[EventKind]:
        """Let a step pass after another; return what was noticed."""
        kinds: list[EventKind] = []
        for step in steps:
            self.now_s += seconds
            self.log_step(path, step, 1 / step)
            kinds = self.kinds(0.0, "" if self.log.exists() else "loading the model\n")
        return kinds

    @property
    def tracked(self) -> tuple[TrackerRun, ...]:
        """The runs that are shown."""
        return self.saved.tasks[""].tracked


@pytest.fixture
def job(tmp_path: Path) -> Training:
    return Training(tmp_path, JobSettings(total_items=100))


def test_the_tracker_shows_the_progress_that_the_log_does_not(job: Training) -> None:
    job.train(job.events(), range(1, 11))
    followed = job.saved.tasks[""]
    assert followed.progress is not None
    assert (followed.progress.current, followed.progress.total) == (10, 100)
    assert followed.progress.loss == pytest.approx(0.1)
    assert [(each.at_s - START_S, each.current) for each in followed.history.samples] == [
        (30.0 * step, step) for step in range(1, 11)
    ]
    (run,) = job.tracked
    assert (run.run_id, run.step) == ("a", 10)


def test_steps_between_two_looks_count_at_the_times_that_the_tracker_noted(job: Training) -> None:
    path = job.events()
    for step in range(1, 31):
        job.now_s += 2.0
        job.log_step(path, step, 1 / step)
    job.later(1.0, "loading\n")
    samples = job.saved.tasks[""].history.samples
    assert [(each.at_s - START_S, each.current) for each in samples] == [(2.0 * n, n) for n in range(1, 31)]


def test_the_users_own_folder_and_metrics_are_shown(tmp_path: Path) -> None:
    track = TrackSettings({"tensorboard": str(tmp_path / "runs")}, ("win_share",))
    job = Training(tmp_path, JobSettings(track=track), script="python play.py\n")
    path = job.events()
    job.now_s += 30.0
    job.log_step(path, 5, 0.25, win_share=0.5, other=3.0, **{"eval/accuracy": 0.75})
    job.later(0.0, "playing\n")
    progress = job.saved.tasks[""].progress
    assert progress is not None
    assert progress.metrics == {"win_share": 0.5}


@pytest.mark.parametrize("make", [None, Path.mkdir, Path.touch, os.mkfifo])
def test_a_place_of_the_user_without_a_run_is_named_with_the_reason(
    make: Callable[[Path], object] | None, tmp_path: Path
) -> None:
    place = tmp_path / "mine"
    job = Training(tmp_path, JobSettings(track=TrackSettings({"tensorboard": str(place)})))
    if make:
        make(place)
    job.later(30.0, "loading\n")
    (said,) = job.tracked
    assert (said.place, said.step) == (str(place), None)
    assert said.partial


def test_without_a_lead_no_folder_is_opened(tmp_path: Path) -> None:
    job = Training(tmp_path, script="python train.py\n")
    job.train(job.events(), range(1, 4))
    assert job.tracked == ()
    assert job.saved.tasks[""].progress is None


def test_the_script_is_searched_once_slurm_has_named_it(job: Training) -> None:
    path, command = job.events(), job.job.command
    job.job = replace(job.job, command="")
    job.train(path, range(1, 4))
    assert [run.step for run in job.tracked] == []
    job.job = replace(job.job, command=command)
    job.train(path, range(4, 6))
    assert [run.step for run in job.tracked] == [5]


def test_of_several_places_that_the_log_names_the_latest_counts(tmp_path: Path) -> None:
    job = Training(tmp_path, script="python train.py\n")
    for name in ("a", "b"):
        job.later(1.0, f"Logging to ./runs/{name}\n" * 9)
        job.train(job.events(name, job.now_s - START_S), range(1, 4))
        assert [(run.run_id, run.step) for run in job.tracked] == [(name, 3)]


def test_the_log_wins_where_it_shows_progress(job: Training) -> None:
    path = job.events()
    job.now_s += 30.0
    job.log_step(path, 700, 0.5, **{"val/accuracy": 0.875})
    job.later(0.0, "step 7/50\n")
    progress = job.saved.tasks[""].progress
    assert progress is not None
    assert (progress.current, progress.total, progress.loss) == (7, 50, 0.5)
    assert progress.metrics == {"val/accuracy": 0.875}


def test_a_step_that_a_warning_mentions_is_not_the_progress(job: Training) -> None:
    path = job.events()
    job.train(path, range(1, 11))
    job.later(1.0, "[WARN] Loss spike: loss is 9 (step 10)\n")
    job.train(path, range(11, 31))
    followed = job.saved.tasks[""]
    assert followed.progress is not None
    assert followed.progress.current == 30
    assert followed.progress.loss == pytest.approx(1 / 30)
    assert [each.current for each in followed.history.samples] == list(range(1, 31))


def test_a_stall_needs_a_tracker_that_is_silent_too(job: Training) -> None:
    path = job.events()
    for step in range(10, 60, 10):
        job.later(30, f"step {step}/100\n")
    for step in range(60, 70):
        job.now_s += 200.0
        job.log_step(path, step, 0.5)
        assert job.kinds(0.0) == []
    assert job.kinds(1000) == [EventKind.STALLED]
    (stall,) = (each for each in job.saved.events if each.kind is EventKind.STALLED)
    assert "nothing was written to its logs and TensorBoard" in stall.text


def test_a_run_that_only_its_tracker_shows_can_stall(job: Training) -> None:
    assert job.train(job.events(), range(1, 11)) == []
    assert job.kinds(1000) == [EventKind.STALLED]


def test_a_loss_that_only_the_tracker_shows_may_diverge(job: Training) -> None:
    path = job.events()
    job.train(path, range(1, 41))
    job.now_s += 30.0
    job.log_step(path, 41, float("nan"))
    assert job.kinds(0.0) == [EventKind.DIVERGED]


def test_a_run_from_before_the_start_is_not_its_own(job: Training) -> None:
    job.train(job.events(since_s=-3600.0), range(1, 4))
    assert job.tracked == ()


def test_of_two_runs_in_one_folder_neither_is_guessed(job: Training) -> None:
    first, second = job.events("a"), job.events("b", 120.0)
    job.now_s += 300.0
    for path in (first, second):
        job.log_step(path, 5, 0.5)
    job.later(0.0, "loading\n")
    (said,) = job.tracked
    assert said.step is None
    assert "2 runs in" in said.partial
    assert job.saved.tasks[""].progress is None


def test_a_training_and_its_validation_are_one_run(job: Training) -> None:
    first, second = job.events("fit/train"), job.events("fit/validation", 5.0)
    job.now_s += 300.0
    job.log_step(first, 5, 0.5)
    job.log_step(second, 5, 0.75)
    job.later(0.0, "loading\n")
    progress = job.saved.tasks[""].progress
    assert progress is not None
    assert (progress.loss, progress.metrics) == (0.5, {"validation/train/loss": 0.75})


def test_the_last_values_are_read_after_the_end(job: Training) -> None:
    path = job.events()
    job.train(path, range(1, 11))
    job.log_step(path, 100, 0.0625)
    job.job = replace(job.job, tasks={"": replace(RUNNING, state=JobState.COMPLETED, end=END)})
    job.later(0.0)
    progress = job.saved.tasks[""].progress
    assert progress is not None
    assert (progress.fraction, progress.loss) == (1.0, 0.0625)
    assert job.saved.tasks[""].tracked[0].step == 100


def test_a_folder_that_all_tasks_of_an_array_share_is_not_one_tasks_own(job: Training) -> None:
    job.job = replace(job.job, array_indices="0-1", tasks={"1": replace(RUNNING, key="1")})
    job.train(job.events(), range(1, 4))
    assert job.saved.tasks["1"].tracked == ()


def test_a_folder_of_its_own_is(tmp_path: Path) -> None:
    job = Training(tmp_path, script="python train.py --logging_dir runs/$SLURM_ARRAY_TASK_ID\n")
    job.job = replace(job.job, array_indices="0-1", tasks={"1": replace(RUNNING, key="1")})
    job.train(job.events("1"), range(1, 4))
    assert [run.step for run in job.saved.tasks["1"].tracked] == [3]


def test_a_damaged_file_costs_only_itself(job: Training) -> None:
    job.events().write_bytes(b"\xff" * 4096)
    job.later(30, "step 1/10\n")
    progress = job.saved.tasks[""].progress
    assert progress is not None
    assert progress.current == 1
