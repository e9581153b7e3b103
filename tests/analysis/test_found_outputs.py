from __future__ import annotations

import os
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from jobmon.views.artifacts import artifacts_json, artifacts_rows
from jobmon_core.analysis.artifacts import Listings, look_at_all_found, look_at_found_outputs
from jobmon_core.analysis.progress import ProgressState, follow_progress
from jobmon_core.domain.artifacts.model import Artifacts
from jobmon_core.domain.job.tracking.model import Task, WatchedJob
from jobmon_core.domain.slurm.log_paths import BY_USER, LogPaths
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.store.json_file import JsonFile

START_S = 1_764_000_000
TASK = Task("", state=JobState.RUNNING, start_s=START_S)


@pytest.fixture
def job(tmp_path: Path) -> WatchedJob:
    logs = LogPaths(str(tmp_path / "train.out"), str(tmp_path / "train.out"), source=BY_USER)
    return WatchedJob("slurm-12-x", 12, float(START_S), workdir=str(tmp_path), logs=logs, tasks={"": TASK})


def write(path: Path, text: str = "x", *, at_s: int = START_S + 30) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    os.utime(path, (at_s, at_s))


def look(job: WatchedJob, before: Artifacts | None = None, now_s: float = START_S + 60.0) -> Artifacts:
    return look_at_found_outputs(
        job, TASK, job.logs.stdout, before or Artifacts(), now_s, listings=Listings()
    )[0]


def test_the_folder_that_the_log_names_is_looked_at_and_marked(job: WatchedJob, tmp_path: Path) -> None:
    write(tmp_path / "train.out", "Saving model checkpoint to runs/checkpoint-500\n")
    write(tmp_path / "runs" / "a.csv", "1,2\n")
    (tmp_path / "runs" / "checkpoint-500").mkdir()
    os.utime(tmp_path / "runs" / "checkpoint-500", (START_S + 40, START_S + 40))
    found = look(job)
    assert found.outputs is not None
    assert (found.outputs.folder, found.outputs.count, found.outputs.is_found) == (
        f"{tmp_path}/runs",
        1,
        True,
    )
    assert found.checkpoints is not None
    assert found.checkpoints.is_found
    rows = dict(artifacts_rows(found, START_S + 60.0, is_running=True))
    assert rows["outputs"].endswith(f"in {tmp_path}/runs (found in the log or script)")
    assert artifacts_json(found)["outputs"]["found_in_log"]
    assert found.written_s == START_S + 40  # it counts as activity


@pytest.mark.parametrize("at_s", [START_S - 10, None])
def test_a_folder_that_is_missing_or_holds_nothing_of_this_run_is_not_taken(
    job: WatchedJob, tmp_path: Path, at_s: int | None
) -> None:
    write(tmp_path / "train.out", "Model saved to runs/model.pt\n")
    if at_s:
        write(tmp_path / "runs" / "model.pt", at_s=at_s)
    assert look(job) == Artifacts(searched_bytes=29)


def test_a_log_is_searched_again_only_once_it_has_grown(job: WatchedJob, tmp_path: Path) -> None:
    write(tmp_path / "train.out", "starting up\n")
    write(tmp_path / "runs" / "model.pt")
    before = look(job)
    write(tmp_path / "train.out", "Model saved to runs/model.pt\n")
    assert look(job, replace(before, searched_bytes=25)).outputs is None
    assert look(job, before).outputs is not None


def test_the_script_names_the_folder_too(job: WatchedJob, tmp_path: Path) -> None:
    write(tmp_path / "job.sh", "OUT=runs_$SLURM_JOB_ID\npython train.py --output_dir $OUT\n")
    write(tmp_path / "train.out", "starting up\n")
    write(tmp_path / "runs_12" / "model.pt")
    found = look(replace(job, command=str(tmp_path / "job.sh")))
    assert found.outputs is not None
    assert found.outputs.folder == f"{tmp_path}/runs_12"


def test_the_script_counts_although_the_log_had_text_before_slurm_named_its_path(
    job: WatchedJob, tmp_path: Path
) -> None:
    write(tmp_path / "job.sh", "python train.py --output_dir runs\n")
    write(tmp_path / "train.out", "starting up\n")
    write(tmp_path / "runs" / "model.pt")
    before = look(replace(job, workdir=""))
    found = look(replace(job, command=str(tmp_path / "job.sh")), before)
    assert found.outputs is not None
    assert found.outputs.folder == f"{tmp_path}/runs"


def test_the_folder_that_the_script_names_may_be_filled_late(job: WatchedJob, tmp_path: Path) -> None:
    write(tmp_path / "job.sh", "python train.py --output_dir runs\n")
    write(tmp_path / "train.out", "starting up\n")
    job = replace(job, command=str(tmp_path / "job.sh"))
    before = look(job)
    assert before.outputs is None
    write(tmp_path / "train.out", "starting up\nloading the data\n")
    write(tmp_path / "runs" / "model.pt")
    assert look(job, before).outputs is not None


@pytest.mark.parametrize("named", [".", "/tmp", "~"])
def test_the_working_directory_and_homes_are_not_folders_of_outputs(
    job: WatchedJob, tmp_path: Path, named: str
) -> None:
    write(tmp_path / "train.out", f"output_dir: {named}\nModel saved to {tmp_path}/model.pt\n")
    write(tmp_path / "model.pt")
    assert look(job).outputs is None


def array_of(job: WatchedJob, tmp_path: Path, folders: list[str]) -> tuple[WatchedJob, list[Task]]:
    """An array whose tasks have logs of their own, each of which names one of these folders of 20 files."""
    tasks = [replace(TASK, key=str(number)) for number in range(len(folders))]
    logs = {task.key: LogPaths(f"{tmp_path}/{task.key}.out", source=BY_USER) for task in tasks}
    for task, folder in zip(tasks, folders, strict=True):
        write(tmp_path / f"{task.key}.out", f"Saving model checkpoint to {folder}/checkpoint-500\n")
        for number in range(20):
            write(tmp_path / folder / f"{number}.csv")
    return replace(job, array_indices="0-9", tasks={task.key: task for task in tasks}, task_logs=logs), tasks


def test_a_folder_that_many_tasks_name_is_listed_once(
    job: WatchedJob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def counted(entry: os.DirEntry[str]) -> os.stat_result | None:
        asked.append(entry.name)
        return entry.stat()

    monkeypatch.setattr("jobmon_core.observe.artifacts.listing.status_of", counted)
    array, _ = array_of(job, tmp_path, ["runs"] * 5)
    follow_progress([array], lambda job_id: tmp_path / f"{job_id}.json", START_S + 60.0)
    record = JsonFile(tmp_path / f"{array.id}.json", ProgressState, 2**20, durable=False).read()
    assert [each.outputs.count for each in record.artifacts.values() if each.outputs] == [20] * 5
    assert len(asked) <= 2 * 20  # in search of the folder, and for the sizes


def test_tasks_for_which_no_time_was_left_come_first_in_the_next_look(
    job: WatchedJob, tmp_path: Path
) -> None:
    array, tasks = array_of(job, tmp_path, ["a", "b", "c"])
    known = dict[str, Artifacts]()
    seen_keys: list[list[str]] = []
    for number in range(3):
        times = count(0.0, 1.0)  # each listing takes a second, and a task needs three
        listings = Listings(times.__next__)
        looks = [*look_at_all_found(array, tasks, (), known, START_S + 60.0 + number, listings=listings)]
        seen_keys.append([key for key, _, _ in looks])
        known |= {key: seen for key, seen, _ in looks}
    assert seen_keys == [["0"], ["1"], ["2"]]
    assert all(each.outputs and each.outputs.count == 20 for each in known.values())
