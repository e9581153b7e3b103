"""Which checkpoints and outputs are credited to a job: its own, and in every command the same."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.app.jobs.artifacts import checkpoints_of, folders_of, verify
from jobmon_core.context import Context
from jobmon_core.domain.artifacts.checkpoints.model import FoundCheckpoints
from jobmon_core.domain.artifacts.completeness import Completeness
from jobmon_core.domain.artifacts.model import Artifacts, Checkpoints, ListedFile, Outputs
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.tracking.model import End, Source, Task, WatchedJob
from jobmon_core.domain.slurm.log_paths import BY_USER, LogPaths
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.store.home import Home
from tests.support.checkpoint_layouts import torch_file

START_S, END_S = 1_764_000_000, 1_764_000_900
ENDED = Task(
    "",
    JobState.FAILED,
    end=End(JobState.FAILED, "FAILED", Outcome.FAILURE, Source.QUEUE, 1, started_s=START_S, ended_s=END_S),
)


def job_in(folder: Path, log: str = "", *, backend: str = "slurm", task: Task = ENDED) -> WatchedJob:
    path = folder / "train.out"
    path.write_text(log, encoding="utf-8")
    logs = LogPaths(str(path), str(path), source=BY_USER)
    return WatchedJob(
        "x-12-x", 12, START_S - 60.0, submitted_s=START_S - 60, backend=backend, workdir=str(folder),
        logs=logs, tasks={"": task}, concluded_s=END_S + 5.0,
    )  # fmt: skip


def saved(path: Path, at_s: float = START_S + 60) -> Path:
    torch_file(path)
    os.utime(path, (at_s, at_s))
    return path


def found(job: WatchedJob, folder: Path) -> FoundCheckpoints:
    (listed,) = checkpoints_of(Context(Home(folder / "home"), {}), job, job.ref)
    return listed.found


def names(job: WatchedJob, folder: Path) -> list[str]:
    return [each.path for each in found(job, folder).checkpoints]


def test_what_only_lies_below_the_working_directory_is_not_credited(tmp_path: Path) -> None:
    saved(tmp_path / "runs" / "b" / "ckpt_7.pt")
    looked = found(job_in(tmp_path, "step 1\n"), tmp_path)
    assert (looked.folder, looked.checkpoints) == ("", ())
    assert looked.problem.startswith("neither the job configuration nor the log or the script names")


def test_only_those_between_the_start_and_the_end_are(tmp_path: Path) -> None:
    for step, at_s in ((1, START_S - 99), (2, START_S + 9), (3, END_S - 9), (4, END_S + 99)):
        saved(tmp_path / "runs" / f"ckpt_{step}.pt", at_s)
    job = job_in(tmp_path, "Saving model checkpoint to runs/ckpt_2.pt\n")
    assert names(job, tmp_path) == ["ckpt_3.pt", "ckpt_2.pt"]
    killed = replace(ENDED, end=replace(ENDED.end, state=JobState.TIMEOUT)) if ENDED.end else ENDED
    saved(tmp_path / "runs" / "ckpt_4.pt", END_S + 31)  # on SIGTERM, before `KillWait` was over
    job = job_in(tmp_path, "Saving model checkpoint to runs/ckpt_2.pt\n", task=killed)
    assert names(job, tmp_path) == ["ckpt_4.pt", "ckpt_3.pt", "ckpt_2.pt"]


def test_in_a_folder_that_is_named_those_of_other_runs_are_counted_but_not_listed(tmp_path: Path) -> None:
    for step in (1, 2):
        saved(tmp_path / "out" / f"ckpt_{step}.pt", START_S - 99)
    job = replace(job_in(tmp_path), settings=JobSettings(checkpoint_dir=f"{tmp_path}/out"))
    looked = found(job, tmp_path)
    assert (looked.folder, looked.newest_complete) == (f"{tmp_path}/out", None)
    assert looked.problem == (
        "none that this run is known to have saved; the newest complete one is ckpt_2.pt, of 1m 39s before "
        f"its start; `jobmon checkpoints {tmp_path}/out` lists the 2 checkpoints there"
    )


def test_the_names_that_the_user_gives_count_too(tmp_path: Path) -> None:
    saved(tmp_path / "out" / "save-1.pt")
    saved(tmp_path / "out" / "save-2" / "a.pt")
    saved(tmp_path / "out" / "part-3.pt")
    settings = JobSettings(output_dir=f"{tmp_path}/out", checkpoint_pattern="save-*")
    job = replace(job_in(tmp_path), settings=settings)
    assert sorted(names(job, tmp_path)) == ["save-1.pt", "save-2"]
    best = found(job, tmp_path).newest_complete
    assert best is not None
    assert best.is_complete


def test_of_files_that_the_log_names_in_the_working_directory_none_below_it_counts(tmp_path: Path) -> None:
    saved(tmp_path / "ckpt_1.pt")
    saved(tmp_path / "other" / "ckpt_9.pt", START_S + 99)
    assert names(job_in(tmp_path, "Saving model checkpoint to ckpt_1.pt\n"), tmp_path) == ["ckpt_1.pt"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_checkpoint_of_another_user_is_not_credited(tmp_path: Path) -> None:
    os.chown(saved(tmp_path / "shared" / "ckpt_9.pt", START_S + 99), 4711, -1)
    saved(tmp_path / "shared" / "ckpt_1.pt")
    job = job_in(tmp_path, "Saving model checkpoint to shared/ckpt_1.pt\n")
    assert names(job, tmp_path) == ["ckpt_1.pt"]


def test_a_file_that_was_added_to_a_checkpoint_after_the_end_does_not_hide_it(tmp_path: Path) -> None:
    folder = tmp_path / "out" / "step_100"
    saved(folder / "model.pt")
    saved(folder / "merged.bin", END_S + 999)
    assert names(job_in(tmp_path, "Saving model to out/step_100/model.pt\n"), tmp_path)


@pytest.mark.parametrize("backend", ["ray", "ssh"])
def test_a_path_in_the_log_of_another_machine_is_not_looked_for_here(backend: str, tmp_path: Path) -> None:
    saved(tmp_path / "runs" / "ckpt_1.pt")
    log = f"Saving model checkpoint to {tmp_path}/runs/ckpt_1.pt\n"
    job = replace(job_in(tmp_path, log, backend=backend), workdir="/")
    looked = found(job, tmp_path)
    assert (looked.folder, looked.checkpoints) == ("", ())
    assert "another machine" in looked.problem


def test_a_folder_that_the_user_names_for_a_job_of_ray_is_looked_at(tmp_path: Path) -> None:
    saved(tmp_path / "out" / "ckpt_1.pt")
    named = JobSettings(checkpoint_dir=f"{tmp_path}/out")
    assert names(replace(job_in(tmp_path, backend="ray"), settings=named), tmp_path) == ["ckpt_1.pt"]


def test_the_folder_in_which_the_monitor_has_seen_them_comes_first(tmp_path: Path) -> None:
    saved(tmp_path / "a" / "ckpt_1.pt")
    saved(tmp_path / "b" / "ckpt_2.pt")
    job = job_in(tmp_path, "output_dir: b\nSaving model checkpoint to a/ckpt_1.pt\n")
    seen = Checkpoints(f"{tmp_path}/b", 1, ListedFile("ckpt_2.pt"), is_found=True)
    ctx = Context(Home(tmp_path / "home"), {})
    ctx.progress_file(job.id).write(JobProgress(1.0, artifacts={"": Artifacts(1.0, checkpoints=seen)}))
    assert found(job, tmp_path).folder == f"{tmp_path}/b"


def test_the_folder_that_show_lists_is_verified_without_files_of_other_runs(tmp_path: Path) -> None:
    for name, at_s in (("a.json", START_S + 60), ("old.json", START_S - 99), ("later.json", END_S + 99)):
        (tmp_path / name).write_text("[1]" if name == "a.json" else "[")
        os.utime(tmp_path / name, (at_s, at_s))
    job, ctx = job_in(tmp_path), Context(Home(tmp_path / "home"), {})
    with pytest.raises(JobmonError, match="no folder of outputs is known"):
        folders_of(ctx, job, job.ref)
    seen = Artifacts(1.0, Outputs(str(tmp_path), is_found=True))
    ctx.progress_file(job.id).write(JobProgress(1.0, artifacts={"": seen}))
    (folder,) = folders_of(ctx, job, job.ref)
    found = verify(ctx, Completeness(folder.folder), folder)
    assert (folder.folder, found.count, found.is_complete) == (str(tmp_path), 1, True)
