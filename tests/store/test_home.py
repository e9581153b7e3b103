from __future__ import annotations

import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.store.home import Home, clean_folder, file_name
from jobmon_core.system.files import temporary
from tests.support.processes import python, said

CHECKOUT = Path(__file__).resolve().parents[2]
WORDS = st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, max_size=3)
WRITER = """
import sys
from pathlib import Path
from jobmon_core.system.files import temporary
path = temporary(Path(sys.argv[1]))
path.write_bytes(b"half")
print(path, flush=True)
sys.stdin.read()
"""


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


def unfinished(folder: Path) -> Path:
    """Return the temporary file of a process that was killed while writing."""
    with python(WRITER, str(folder / "slurm-1-x.json")) as writer:
        return Path(said(writer))


def test_the_temporary_file_of_a_killed_process_is_removed_and_reported(tmp_path: Path) -> None:
    left = unfinished(tmp_path)
    assert list(clean_folder(tmp_path)) == [(left, "removed: a file that a killed process did not finish")]
    assert list(tmp_path.iterdir()) == []
    assert list(clean_folder(tmp_path)) == []


def test_the_temporary_file_of_a_running_process_stays(tmp_path: Path) -> None:
    own = temporary(tmp_path / "mine.json")
    own.touch()
    with python(WRITER, str(tmp_path / "theirs.json")) as writer:
        foreign = Path(said(writer))
        assert list(clean_folder(tmp_path)) == []
        assert {own, foreign} == set(tmp_path.iterdir())


def test_a_reused_pid_does_not_protect_the_file_of_a_dead_writer(tmp_path: Path) -> None:
    own = temporary(tmp_path / "mine.json").name
    former = own.rpartition("-")[0] + "-1.tmp"
    (tmp_path / former).touch()
    assert len(list(clean_folder(tmp_path))) == 1


def test_temporary_files_of_another_host_stay(tmp_path: Path) -> None:
    left = unfinished(tmp_path)
    host, _, rest = left.name.removeprefix(".slurm-1-x.json.").partition("-")
    other = left.rename(left.with_name(f".slurm-1-x.json.{int(host, 16) ^ 1:08x}-{rest}"))
    assert list(clean_folder(tmp_path)) == []
    assert other.exists()


@pytest.mark.parametrize(
    "name", [".tmp", ".x.tmp", ".x.1234.tmp", "x.json", ".x.json.zzzzzzzz-1-1.tmp", ".vimrc"]
)
def test_foreign_files_stay(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    assert list(clean_folder(tmp_path)) == []
    assert (tmp_path / name).exists()


def test_a_link_in_the_place_of_a_file_is_removed_and_its_target_stays(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    before = victim.stat()
    for suffix in (".lock", ".owner", ".reply"):
        (tmp_path / f"x{suffix}").symlink_to(victim)
    (tmp_path / "x.json").symlink_to(victim)  # reading the state file reports it
    assert len(list(clean_folder(tmp_path))) == 3
    assert {path.name for path in tmp_path.iterdir()} == {"victim", "x.json"}
    assert victim.stat() == before


def test_every_folder_of_a_home_is_cleaned(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    left = [
        unfinished(folder) for folder in (home.logs.parent, home.state, home.monitors, home.shared_answers)
    ]
    assert [path for path, _ in home.clean_up()] == left


def test_a_file_that_cannot_be_removed_is_skipped(tmp_path: Path) -> None:
    left = unfinished(tmp_path)
    left.unlink()
    left.mkdir()
    assert list(clean_folder(tmp_path)) == []
