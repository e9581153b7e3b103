from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given

from jobmon_core.context import Context
from jobmon_core.domain.job.job_progress import FollowedTask, JobProgress
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.logs.progress.model import Progress
from jobmon_core.store.home import Home
from jobmon_core.store.job_files import progress_file
from jobmon_core.store.remove_job import remove_job_files
from jobmon_core.system.json_codec import from_json, to_json
from tests.support.live_jobs import progress_of
from tests.support.records import anything


@given(anything(JobProgress))
def test_any_progress_survives_json(progress: JobProgress) -> None:
    assert from_json(JobProgress, to_json(progress)) == progress


def test_a_progress_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = Context(Home(tmp_path), {}).progress_file("slurm-12-x")
    assert file.read() == JobProgress()
    event = Event(1.0, EventKind.RECOVERED, "it moves again", "3", EventKind.STALLED)
    progress = JobProgress(5.0, {"3": progress_of(500, 1000)}, (event,))
    file.write(progress)
    assert file.read() == progress
    assert file.path.parent.stat().st_mode & 0o777 == 0o700


def test_a_loss_that_is_not_a_number_is_kept(tmp_path: Path) -> None:
    file = progress_file(tmp_path / "12.json")
    file.write(JobProgress(1.0, {"": FollowedTask(Progress(loss=math.nan, grad_norm=math.inf))}))
    progress = file.read().tasks[""].progress
    assert progress
    assert progress.loss is not None
    assert math.isnan(progress.loss)
    assert progress.grad_norm == math.inf


@pytest.mark.parametrize("content", ["", "{", "[]", '{"tasks": 3}', '{"updated_s": "soon"}'])
def test_a_damaged_file_shows_no_progress(tmp_path: Path, content: str) -> None:
    (tmp_path / "12.json").write_text(content, encoding="utf-8")
    assert progress_file(tmp_path / "12.json").read() == JobProgress()


def test_it_is_removed_with_the_records_of_its_job(tmp_path: Path) -> None:
    home = Home(tmp_path)
    progress_file(home.progress_file("slurm-12-x")).write(JobProgress(1.0))
    remove_job_files(home, "slurm-12-x")
    assert not home.progress_file("slurm-12-x").exists()
