from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.store.home import Home
from jobmon_core.store.remove_job import remove_job_files


def test_a_folder_in_the_place_of_a_file_is_reported_and_left_alone(tmp_path: Path) -> None:
    home = Home(tmp_path)
    state, blocked = home.state / "slurm-12-x.json", home.logs / "slurm-12-x.log"
    state.touch()
    blocked.mkdir()
    with pytest.raises(StorageFailed, match=r"slurm-12-x\.log cannot be removed: it is a folder"):
        remove_job_files(home, "slurm-12-x")
    assert blocked.is_dir()
    assert not state.exists()


def test_files_that_are_missing_do_not_matter(tmp_path: Path) -> None:
    remove_job_files(Home(tmp_path), "slurm-12-x")


def test_what_agents_measured_is_removed_with_the_records(tmp_path: Path) -> None:
    home = Home(tmp_path)
    report = home.telemetry_folder("slurm-12-x", "") / "n1" / "latest.json"
    report.parent.mkdir(parents=True)
    report.touch()
    remove_job_files(home, "slurm-12-x")
    assert not home.telemetry("slurm-12-x").exists()


def test_the_record_of_what_was_run_and_the_notes_are_removed_too(tmp_path: Path) -> None:
    home = Home(tmp_path)
    files = [home.run_file("slurm-12-x"), home.note_file("slurm-12-x"), home.run_file("slurm-13-x")]
    for file in files:
        file.touch()
    remove_job_files(home, "slurm-12-x")
    assert [file.exists() for file in files] == [False, False, True]
