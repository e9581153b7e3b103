"""What jobmon says of files of the real libraries, given how Slurm says that the job ended."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.analysis.explainer import with_tracked_runs
from jobmon_core.domain.job.job_progress import FollowedTask
from jobmon_core.domain.job.job_settings import JobSettings, TrackSettings
from jobmon_core.domain.job.tracking.model import End, Source
from jobmon_core.domain.logs.diagnosis.model import INCOMPLETE, Diagnosis
from jobmon_core.domain.logs.progress.events.event import EventKind
from jobmon_core.domain.logs.tracker import Tracker
from jobmon_core.domain.slurm.states import JobState, Outcome
from tests.support.followed_job import RUNNING, FollowedJob
from tests.support.real_trackers import (
    FORMATS,
    Format,
    TrackedProgram,
    grouped,
    install_trackers,
    one_worker,
)
from tests.support.waiting import eventually

CLEAN = Diagnosis(None, "", "", "")
STATES = {
    Outcome.SUCCESS: JobState.COMPLETED,
    Outcome.FAILURE: JobState.FAILED,
    Outcome.CANCELLED: JobState.CANCELLED,
}
MLFLOW, WANDB, TRACKIO = FORMATS["MLflow's database"], FORMATS["W&B offline"], FORMATS["Trackio"]
INSPECT = FORMATS["inspect-ai .eval"]


@pytest.fixture(autouse=True)
def libraries() -> None:
    if why := install_trackers():
        pytest.skip(why)


class TrackedJob(FollowedJob):
    """A job that runs now, and whose configuration names the folder of its tracker."""

    def __init__(self, folder: Path, tracker: Tracker) -> None:
        self.files = folder / "logs"
        super().__init__(folder, JobSettings(track=TrackSettings({str(tracker): str(self.files)})))
        self.log.write_text("loading\n", encoding="utf-8")
        self.start()

    def start(self) -> None:
        """Let its next run start now."""
        self.now_s = time.time()
        self.job = replace(
            self.job, workdir=str(self.folder), tasks={"": replace(RUNNING, start_s=int(self.now_s))}
        )

    def look(self) -> FollowedTask:
        """Look at its log and its tracker, now."""
        self.later(time.time() - self.now_s)
        return self.saved.tasks[""]

    def ended(self, outcome: Outcome) -> Diagnosis:
        """Return what is said of its end."""
        state = STATES[outcome]
        end = End(state, state, outcome, Source.QUEUE, ended_s=int(time.time()) + 1)
        self.job = replace(self.job, tasks={"": replace(self.job.tasks[""], state=state, end=end)})
        return with_tracked_runs(CLEAN, self.job, self.job.tasks[""], self.look())


@pytest.mark.parametrize("kind", grouped(FORMATS.values()))
def test_a_healthy_run_contradicts_nothing(kind: Format, tmp_path: Path) -> None:
    job = TrackedJob(tmp_path, kind.tracker)
    with TrackedProgram(kind, job.files, "first") as program:
        program.log(0, 30)
        (run,) = job.look().tracked
        assert run.step is not None
        program.log(30, 60)
        followed = job.look()
        program.end()
    assert followed.progress is not None
    assert not [each for each in job.saved.events if each.kind is EventKind.TRACKER]
    found = job.ended(Outcome.SUCCESS)
    assert (found.tracker_says, found.cause) == ("", None)


@pytest.mark.parametrize("kind", grouped([MLFLOW, WANDB, FORMATS["MLflow's files"]]))
@pytest.mark.parametrize("outcome", [Outcome.FAILURE, Outcome.CANCELLED])
def test_a_killed_run_still_runs_for_its_tracker(kind: Format, outcome: Outcome, tmp_path: Path) -> None:
    job = TrackedJob(tmp_path, kind.tracker)
    with TrackedProgram(kind, job.files, "first") as program:
        program.log(0, 30)
        job.look()
        program.kill()
    said = job.ended(outcome).tracker_says
    assert f"{kind.tracker.label} still says running, but the job has ended" in said
    assert ("wandb sync" if kind is WANDB else "set_terminated") in said


@one_worker(MLFLOW)
def test_a_run_that_finished_below_its_total_makes_the_success_doubtful(tmp_path: Path) -> None:
    job = TrackedJob(tmp_path, Tracker.MLFLOW)
    with TrackedProgram(MLFLOW, job.files, "first") as program:
        program.log(0, 20)
        job.look()
        program.end()
    found = job.ended(Outcome.SUCCESS)
    assert (found.cause, found.doubt) == (INCOMPLETE, "MLflow says finished at step 19 of 60")


@one_worker(MLFLOW)
def test_a_run_that_finished_before_the_job_failed_is_named(tmp_path: Path) -> None:
    job = TrackedJob(tmp_path, Tracker.MLFLOW)
    with TrackedProgram(MLFLOW, job.files, "first") as program:
        program.log(0, 60)
        job.look()
        program.end()
    assert "MLflow says finished, but the job failed" in job.ended(Outcome.FAILURE).tracker_says


@pytest.mark.parametrize("kind", grouped([MLFLOW, WANDB]))
def test_a_failed_run_of_a_success_is_named_and_of_a_cancelled_job_is_not(
    kind: Format, tmp_path: Path
) -> None:
    job = TrackedJob(tmp_path, kind.tracker)
    with TrackedProgram(kind, job.files, "first") as program:
        program.log(0, 60)
        job.look()
        program.end(1)
    assert "says failed, but the job ended with exit code 0" in job.ended(Outcome.SUCCESS).tracker_says
    assert job.ended(Outcome.CANCELLED).tracker_says == ""


@pytest.mark.parametrize("kind", grouped([MLFLOW, WANDB]))
@pytest.mark.parametrize(("second", "count"), [("second", 1), ("first", 0)])
def test_a_requeued_job_whose_tracker_begins_a_new_run_did_not_resume(
    kind: Format, second: str, count: int, tmp_path: Path
) -> None:
    job = TrackedJob(tmp_path, kind.tracker)
    with TrackedProgram(kind, job.files, "first") as program:
        program.log(0, 30)
        job.look()
        program.kill()
    killed_s = time.time()
    # Slurm notes whole seconds, and jobmon allows for two
    eventually(lambda: time.time() > killed_s + 3)
    job.start()
    job.job = replace(job.job, tasks={"": replace(job.job.tasks[""], restarts=1)})
    with TrackedProgram(kind, job.files, second) as program:
        program.log(20, 40)
        job.look()
        job.look()
        program.end()
    said = [each for each in job.saved.events if each.kind is EventKind.TRACKER]
    assert len(said) == count, said
    assert all("did not resume" in each.text and each.is_quiet for each in said)


@one_worker(TRACKIO)
def test_an_alert_that_the_program_sends_to_trackio_is_told_once(tmp_path: Path) -> None:
    job = TrackedJob(tmp_path, Tracker.TRACKIO)
    with TrackedProgram(TRACKIO, job.files, "first") as program:
        program.log(0, 60)
        job.look()
        program.end()
    job.look()
    job.look()
    told = [each for each in job.saved.events if each.kind is EventKind.TRACKER_ALERT]
    assert [each.text for each in told] == ["Loss spike: first is odd (step 59)"]


@one_worker(INSPECT)
def test_the_log_of_a_failed_evaluation_is_evidence(tmp_path: Path) -> None:
    job = TrackedJob(tmp_path, Tracker.INSPECT)
    job.job = replace(job.job, settings=JobSettings())
    with TrackedProgram(INSPECT, job.files, "first") as program:
        program.log(0, 30)
        program.end(1)
    (path,) = job.files.glob("*.eval")
    job.log.write_text(
        f"loading\nTask interrupted\n\nLog: {path.relative_to(job.folder)}\n", encoding="utf-8"
    )
    job.job = replace(job.job, tasks={})
    task = replace(RUNNING, start_s=int(job.now_s))
    end = End(JobState.FAILED, "FAILED", Outcome.FAILURE, Source.QUEUE, ended_s=int(time.time()) + 1)
    ended = replace(task, state=JobState.FAILED, end=end)
    job.job = replace(job.job, tasks={"": ended})
    found = with_tracked_runs(CLEAN, job.job, ended, None)
    assert found.tracker == "inspect-ai run first, 1 sample failed"
    assert any("broken" in line.text and line.file == str(path) for line in found.evidence)
