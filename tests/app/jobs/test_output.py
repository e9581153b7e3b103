from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from jobmon_core.app.jobs.output import (
    begin_following,
    job_output,
    known_files,
    last_lines,
    task_to_read,
    task_with_new_log,
)
from jobmon_core.context import Context
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.log_paths import LogPaths
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.store.home import Home
from tests.support.job_records import PENDING, RUNNING, ended, failed, job_of, succeeded

CANCELLED = ended(JobState.CANCELLED, Outcome.CANCELLED, "2")


@pytest.mark.parametrize(
    ("tasks", "key", "chosen"),
    [
        ((succeeded("1"), replace(RUNNING, key="2"), failed("3"), failed("4")), "", "3"),
        ((succeeded("1"), replace(RUNNING, key="2")), "", "2"),
        ((succeeded("1"), replace(PENDING, key="2")), "", "1"),
        ((succeeded("1"), CANCELLED, replace(RUNNING, key="3")), "", "3"),
        ((succeeded("1"), CANCELLED), "", "2"),
        ((succeeded("1"), failed("3")), "1", "1"),
        ((replace(PENDING, key="2"),), "", None),
        ((), "", None),
    ],
)
def test_of_an_array_the_output_of_a_failed_task_is_shown_first(
    tasks: tuple[object, ...], key: str, chosen: str | None
) -> None:
    task = task_to_read(job_of(*tasks), key)  # type: ignore[arg-type] # parametrized
    assert (task and task.key) == chosen


@pytest.mark.parametrize(
    ("template", "key", "found"),
    [
        ("%A_%3a.out", "", "3"),  # the first that is pending
        ("%A_%3a.out", "4", "4"),
        ("%A_%3a.out", "9", None),  # not pending
        ("%A.out", "4", None),  # shared by all tasks
        ("%j_%a.out", "4", None),  # its raw job id is not known yet
    ],
)
def test_a_pending_array_task_is_found_by_a_log_of_its_own(
    tmp_path: Path, template: str, key: str, found: str | None
) -> None:
    for name in ("12_003.out", "12_004.out", "12_009.out", "12.out", "12_4.out"):
        (tmp_path / name).touch()
    path = f"{tmp_path}/{template}"
    job = replace(job_of(), array_indices="1-9", pending_indices="3-5", logs=LogPaths(path, path, "Slurm"))
    task = task_with_new_log(job, key)
    assert (task and task.key) == found


def test_the_paths_of_an_array_task_are_expanded(tmp_path: Path) -> None:
    job = replace(
        job_of(failed("3"), succeeded("4")),
        logs=LogPaths("/w/%A_%a.out", "/w/%A_%a.err", "Slurm"),
        array_indices="3-4",
    )
    output = job_output(Context(Home(tmp_path), {}), job, JobRef(12))
    assert output is not None
    assert (str(output.ref), output.files()) == ("12_3", ["/w/12_3.out", "/w/12_3.err"])
    assert output.files(out=False) == ["/w/12_3.err"]
    assert known_files(job, job.tasks["4"]) == ["/w/12_4.out", "/w/12_4.err"]


def test_one_file_for_stdout_and_stderr_is_shown_once(tmp_path: Path) -> None:
    job = replace(job_of(RUNNING), logs=LogPaths("/w/%j.out", "/w/%j.out", "Slurm"))
    output = job_output(Context(Home(tmp_path), {}), job, JobRef(12))
    assert output is not None
    assert output.files() == ["/w/12.out"]


def test_logs_that_the_settings_name_follow_stdout_and_stderr(tmp_path: Path) -> None:
    worker = tmp_path / "worker_1.log"
    worker.touch()
    job = replace(
        job_of(RUNNING),
        logs=LogPaths("/w/%j.out", "/w/%j.err", "Slurm"),
        settings=JobSettings(log_dir=str(tmp_path)),
    )
    output = job_output(Context(Home(tmp_path), {}), job, JobRef(12))
    assert output is not None
    assert output.files() == ["/w/12.out", "/w/12.err", str(worker)]
    assert output.files(err=False) == ["/w/12.out"]


def test_the_last_lines_are_read_however_long_they_are(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("".join(f"{n} {'x' * 500}\n" for n in range(5000)))
    assert [line.split()[0] for line in last_lines(str(log), 2).lines] == ["4998", "4999"]
    assert len(last_lines(str(log), 3000).lines) == 3000
    assert len(last_lines(str(log), 9000).lines) == 5000
    assert last_lines(str(log), 0).lines == ()


def test_no_more_than_the_limit_is_read_however_many_lines_are_wanted(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(f"{'x' * 999}\n" * 3000)
    text, _ = begin_following(str(log), 9000, max_bytes=1_000_000)
    assert len(text.lines) == 1000


def test_a_rotated_log_is_read_in_the_place_of_a_missing_one(tmp_path: Path) -> None:
    (tmp_path / "a.log.1").write_text("old\n")
    text = last_lines(str(tmp_path / "a.log"), 5)
    assert (text.path, text.lines) == (str(tmp_path / "a.log.1"), ("old",))
    text, follower = begin_following(str(tmp_path / "a.log"), 5)
    (tmp_path / "a.log").write_text("new\n")
    assert (text.lines, follower.read().lines) == (("old",), ("new",))


def test_a_missing_or_empty_file_is_explained(tmp_path: Path) -> None:
    text = last_lines(str(tmp_path / "none"), 5)
    assert (text.problem, text.is_readable) == ("does not exist", False)
    (tmp_path / "empty").touch()
    text = last_lines(str(tmp_path / "empty"), 5)
    assert (text.problem, text.is_readable) == ("is empty", True)


def test_following_continues_exactly_where_the_last_lines_end(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("one\ntwo\nthr")
    text, follower = begin_following(str(log), 5)
    with log.open("a") as file:
        file.write("ee\nfour\n")
    assert (text.lines, follower.read().lines) == (("one", "two"), ("three", "four"))
