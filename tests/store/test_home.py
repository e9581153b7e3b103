from __future__ import annotations

import stat
from pathlib import Path

import pytest

from jobmon_core.store.home import Home

CHECKOUT = Path(__file__).resolve().parents[2]


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


def test_looking_for_the_home_makes_nothing(tmp_path: Path) -> None:
    home = Home.find({"JOBMON_HOME": str(tmp_path / "here")})
    assert home.config.name == "config.json"
    assert not home.root.exists()


def test_every_folder_of_a_new_home_is_private(tmp_path: Path) -> None:
    home = Home(tmp_path / "new" / "home")
    folders = (home.state, home.monitors, home.shared_answers, home.backend_folder("local"), home.logs)
    made = {*folders, home.root, home.root.parent}
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in made} == {0o700}


def test_a_home_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "checkout").mkdir(mode=0o755)
    home = Home(tmp_path / "checkout")
    assert stat.S_IMODE(home.state.stat().st_mode) == 0o700
    assert stat.S_IMODE(home.root.stat().st_mode) == 0o755
