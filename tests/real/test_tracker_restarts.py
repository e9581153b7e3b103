"""Attempts of a lineage that go on in the tracker's run of the first one, or do not, by real libraries."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.analysis.progress import follow_progress
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.job.job_settings import AttemptPlace, JobSettings, TrackSettings
from jobmon_core.domain.job.restart.model import Attempt
from jobmon_core.domain.job.restart.next_submission import tracker_variables
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.logs.progress.events.event import EventKind
from jobmon_core.domain.slurm.log_paths import BY_SLURM, LogPaths
from jobmon_core.store.job_files import progress_file
from jobmon_core.store.lineages import LineageStore
from tests.support.followed_job import RUNNING
from tests.support.real_trackers import FORMATS, Format, TrackedProgram, grouped, install_trackers, one_worker
from tests.support.waiting import eventually

MLFLOW, WANDB = FORMATS["MLflow's database"], FORMATS["W&B offline"]


@pytest.fixture(autouse=True)
def libraries() -> None:
    if why := install_trackers():
        pytest.skip(why)


class Attempts:
    """The attempts of a lineage; each is a job with a silent log, in the folder that its tracker shares."""

    def __init__(self, folder: Path, kind: Format) -> None:
        self.folder, self.files = folder, folder / "logs"
        self.kind, self.started_s = kind, [time.time()]
        self.lineages = LineageStore(folder / "lineages")

    def run(self, name: str, steps: range) -> None:
        """Let the next attempt log steps to a run, look at it twice, and kill it."""
        number = len(self.started_s) - 1
        with TrackedProgram(self.kind, self.files, name) as program:
            program.log(steps.start, steps.stop)
            self._look(number)
            self._look(number)
            program.kill()
        killed_s = time.time()
        # Slurm notes whole seconds, and jobmon allows for two
        eventually(lambda: time.time() > killed_s + 3)
        self.started_s.append(time.time())

    def _look(self, number: int) -> None:
        log, place = self.folder / f"{number}.log", AttemptPlace("abc", number)
        log.write_text("loading\n", encoding="utf-8")
        if number:
            place = replace(place, resume_from=str(self.folder / "checkpoint-20"), resume_step=20)
        track = TrackSettings({str(self.kind.tracker): str(self.files)})
        job = WatchedJob(
            *(f"slurm-{number}-x", number + 1, self.started_s[number]),
            logs=LogPaths(str(log), str(log), BY_SLURM),
            settings=JobSettings(track=track, attempt=place),
            tasks={"": replace(RUNNING, start_s=int(self.started_s[number]))},
            workdir=str(self.folder),
        )
        attempt = Attempt(number, job.id, str(job.job_id), "slurm")
        self.lineages.update(
            "abc",
            lambda known: known if known.attempt(number) else replace(known, id="abc").with_attempt(attempt),
        )
        found = follow_progress([job], self._file, time.time(), lineages=self.lineages)[job.id]
        assert not found.problem

    def _file(self, state_id: str) -> Path:
        return self.folder / f"{state_id}.json"

    def saved(self, number: int) -> JobProgress:
        """Return what the looks at an attempt have found."""
        return progress_file(self._file(f"slurm-{number}-x")).read()

    def said(self, number: int, *kinds: EventKind) -> list[str]:
        """Return what is new of an attempt."""
        return [each.text for each in self.saved(number).events if each.kind in kinds]


@pytest.mark.parametrize("kind", grouped([MLFLOW, WANDB]))
@pytest.mark.parametrize("second", ["first", "second"])
def test_an_attempt_that_begins_a_new_run_did_not_resume_the_first_attempts_run(
    kind: Format, second: str, tmp_path: Path
) -> None:
    attempts = Attempts(tmp_path, kind)
    attempts.run("first", range(30))
    attempts.run(second, range(20, 40))
    (before,), (after,) = (attempts.saved(number).tasks[""].tracked for number in (0, 1))
    assert (before.run_id == after.run_id, after.step) == (second == "first", 39)
    said = attempts.said(1, EventKind.TRACKER)
    assert len(said) == (second != "first")
    assert all(f"logs to run {after.run_id}, the one before to {before.run_id}" in each for each in said)


@one_worker(MLFLOW)
def test_the_id_of_the_first_attempts_run_is_passed_on_though_no_log_names_it(tmp_path: Path) -> None:
    attempts = Attempts(tmp_path, MLFLOW)
    attempts.run("first", range(30))
    tracked = attempts.saved(0).tasks[""].tracked
    run_id = (attempts.files / "first.id").read_text()
    assert tracker_variables(["loading"], {}, tracked) == {"MLFLOW_RUN_ID": run_id}


@one_worker(MLFLOW)
@pytest.mark.parametrize(
    ("second", "start", "text"),
    [
        ("first", 20, "Attempt 1 resumed at step 20"),
        ("second", 20, "Attempt 1 resumed at step 20"),
        ("second", 0, "Attempt 1 started from scratch at step 1"),
    ],
)
def test_a_tracker_proves_a_resume_that_no_log_shows(
    second: str, start: int, text: str, tmp_path: Path
) -> None:
    attempts = Attempts(tmp_path, MLFLOW)
    attempts.run("first", range(30))
    attempts.run(second, range(start, start + 20))
    (said,) = attempts.said(1, EventKind.RESUMED, EventKind.NOT_RESUMED)
    assert said.startswith(text)
    assert attempts.lineages.load("abc").attempt(1).first_step == max(1, start)  # type: ignore[union-attr] # it is there
    assert bool(attempts.lineages.load("abc").ended_why) == (start == 0)
    steps = [sample.current for sample in attempts.saved(1).tasks[""].history.samples]
    assert steps == [float(step) for step in range(start, start + 20)]
