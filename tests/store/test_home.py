from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.store.home import CheckedHome, Home, file_name
from jobmon_core.system.files import temporary

CHECKOUT = Path(__file__).resolve().parents[2]
WORDS = st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=3)


def test_the_variable_names_the_home(tmp_path: Path) -> None:
    assert Home.find({"JOBMON_HOME": f" {tmp_path}/here "}).root == tmp_path / "here"


def test_a_tilde_in_the_variable_is_the_users_home(tmp_path: Path) -> None:
    assert Home.find({"JOBMON_HOME": "~/jobmon"}).root == tmp_path / "jobmon"


def test_a_relative_home_does_not_move_with_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert Home.find({"JOBMON_HOME": "here"}).root == tmp_path / "here"


@pytest.mark.parametrize("environment", [{}, {"JOBMON_HOME": ""}, {"JOBMON_HOME": "  "}])
def test_a_checkout_is_its_own_home(environment: dict[str, str]) -> None:
    assert Home.find(environment).root == CHECKOUT


def test_finding_the_home_creates_nothing(tmp_path: Path) -> None:
    home = Home.find({"JOBMON_HOME": str(tmp_path / "here")})
    assert home.config.name == "config.json"
    assert not home.root.exists()


def test_every_folder_of_a_new_home_is_private(tmp_path: Path) -> None:
    home = Home(tmp_path / "new" / "home")
    folders = (home.state, home.monitors, home.shared_answers, home.backend_folder("local"), home.logs)
    made = {*folders, home.root, home.root.parent}
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in made} == {0o700}


def test_one_look_at_many_jobs_finds_the_same_folders_and_makes_the_missing_ones(tmp_path: Path) -> None:
    home, checked = Home(tmp_path / "new"), CheckedHome(tmp_path / "new")
    found = checked.state, checked.monitors, checked.progress, checked.shared_answers
    assert all(each.is_dir() for each in found)
    assert found == (home.state, home.monitors, home.progress, home.shared_answers)
    assert checked.owner_file("slurm-1-x") == home.owner_file("slurm-1-x")


def test_one_look_at_many_jobs_refuses_a_folder_that_is_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "state").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StorageFailed, match="symbolic link"):
        _ = CheckedHome(tmp_path).progress


def test_an_existing_home_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "checkout").mkdir(mode=0o755)
    home = Home(tmp_path / "checkout")
    assert stat.S_IMODE(home.state.stat().st_mode) == 0o700
    assert stat.S_IMODE(home.root.stat().st_mode) == 0o755


@given(WORDS, WORDS)
def test_different_names_have_different_files(some: list[str], others: list[str]) -> None:
    assert (file_name(*some) == file_name(*others)) == (some == others)


@given(WORDS)
def test_file_names_have_no_special_characters(words: list[str]) -> None:
    assert not set(file_name(*words)) & {"/", "\0", "\n", " ", "*"}


def unfinished(folder: Path, age_s: float = 90_000.0) -> Path:
    """Create the temporary file of a process that was killed while writing."""
    path = Path(temporary(folder / "slurm-1-x.json"))
    path.write_bytes(b"half")
    os.utime(path, (0, time.time() - age_s))
    return path


def cleaned(folder: Path) -> list[Path]:
    return list(Home(folder).clean_up())


def test_the_temporary_file_of_a_killed_process_is_removed(tmp_path: Path) -> None:
    left = unfinished(tmp_path)
    assert cleaned(tmp_path) == [left]
    assert not left.exists()
    assert cleaned(tmp_path) == []


def test_the_temporary_file_of_a_group_is_removed(tmp_path: Path) -> None:
    groups = Home(tmp_path).groups
    groups.mkdir(parents=True)
    left = unfinished(groups)
    assert cleaned(tmp_path) == [left]


def test_the_temporary_file_of_the_first_release_is_removed(tmp_path: Path) -> None:
    left = unfinished(tmp_path).rename(tmp_path / ".slurm-1-x.json.0a1b2c3d-4711-123456.tmp")
    assert cleaned(tmp_path) == [left]


def test_a_temporary_file_that_may_still_be_written_stays(tmp_path: Path) -> None:
    path = unfinished(tmp_path, age_s=3600.0)
    assert cleaned(tmp_path) == []
    assert path.exists()


def test_a_folder_with_the_name_of_a_temporary_file_stays(tmp_path: Path) -> None:
    left = unfinished(tmp_path)
    left.unlink()
    left.mkdir()
    os.utime(left, (0, 0))
    assert cleaned(tmp_path) == []
    assert left.exists()


@pytest.mark.parametrize(
    "name", [".tmp", ".x.tmp", ".x.1234.tmp", "x.json", ".x.json.zzzzzzzz-1-1.tmp", ".vimrc"]
)
def test_foreign_files_stay(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    os.utime(tmp_path / name, (0, 0))
    assert cleaned(tmp_path) == []
    assert (tmp_path / name).exists()


def test_every_folder_of_a_home_is_cleaned(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    left = [
        unfinished(folder) for folder in (home.logs.parent, home.state, home.monitors, home.shared_answers)
    ]
    assert cleaned(home.root) == left


@pytest.mark.parametrize(("age_s", "stays"), [(90_000.0, False), (3600.0, True)])
def test_the_copy_of_a_script_that_a_killed_rerun_left_is_removed(
    tmp_path: Path, age_s: float, *, stays: bool
) -> None:
    home = Home(tmp_path)
    copy = home.runs / "rerun-1a_b2c3d"
    copy.mkdir(mode=0o700)
    (copy / "train.sh").touch()
    home.run_file("rerun-1").touch()
    for path in home.runs.iterdir():
        os.utime(path, (0, time.time() - age_s))
    assert cleaned(tmp_path) == ([] if stays else [copy])
    assert copy.exists() == stays
    assert home.run_file("rerun-1").exists()
