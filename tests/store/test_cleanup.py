from __future__ import annotations

from pathlib import Path

import pytest

from jobmon_core.store.cleanup import clean_up
from jobmon_core.store.home import Home
from jobmon_core.system.files import temporary
from tests.support.processes import python, said

WRITER = """
import sys
from pathlib import Path
from jobmon_core.system.files import temporary
path = temporary(Path(sys.argv[1]))
path.write_bytes(b"half")
print(path, flush=True)
sys.stdin.read()
"""


def begun(folder: Path) -> Path:
    """What a process that was killed meanwhile began to write."""
    with python(WRITER, str(folder / "slurm-1-x.json")) as writer:
        return Path(said(writer))


def test_what_a_killed_process_began_to_write_is_removed_and_named(tmp_path: Path) -> None:
    left = begun(tmp_path)
    assert list(clean_up(tmp_path)) == [(left, "removed: what a process that was killed began to write")]
    assert list(tmp_path.iterdir()) == []
    assert list(clean_up(tmp_path)) == []


def test_what_a_living_process_writes_is_left_to_it(tmp_path: Path) -> None:
    mine = temporary(tmp_path / "mine.json")
    mine.touch()
    with python(WRITER, str(tmp_path / "theirs.json")) as writer:
        theirs = Path(said(writer))
        assert list(clean_up(tmp_path)) == []
        assert {mine, theirs} == set(tmp_path.iterdir())


def test_a_process_with_the_number_of_a_dead_writer_is_not_taken_for_it(tmp_path: Path) -> None:
    mine = temporary(tmp_path / "mine.json").name
    former = mine.rpartition("-")[0] + "-1.tmp"
    (tmp_path / former).touch()
    assert len(list(clean_up(tmp_path))) == 1


def test_what_another_host_writes_is_left_to_it(tmp_path: Path) -> None:
    left = begun(tmp_path)
    host, _, rest = left.name.removeprefix(".slurm-1-x.json.").partition("-")
    other = left.rename(left.with_name(f".slurm-1-x.json.{int(host, 16) ^ 1:08x}-{rest}"))
    assert list(clean_up(tmp_path)) == []
    assert other.exists()


@pytest.mark.parametrize(
    "name", [".tmp", ".x.tmp", ".x.1234.tmp", "x.json", ".x.json.zzzzzzzz-1-1.tmp", ".vimrc"]
)
def test_what_others_keep_there_stays(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    assert list(clean_up(tmp_path)) == []
    assert (tmp_path / name).exists()


def test_a_link_laid_where_a_file_of_ours_belongs_is_removed_and_what_it_names_stays(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    before = victim.stat()
    for suffix in (".lock", ".owner", ".reply"):
        (tmp_path / f"x{suffix}").symlink_to(victim)
    (tmp_path / "x.json").symlink_to(victim)  # who reads state files reports it
    assert len(list(clean_up(tmp_path))) == 3
    assert {path.name for path in tmp_path.iterdir()} == {"victim", "x.json"}
    assert victim.stat() == before


def test_every_folder_of_a_home_that_is_written_to_is_swept(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    left = [begun(folder) for folder in (home.logs.parent, home.state, home.monitors, home.shared_answers)]
    assert [path for path, _ in home.clean_up()] == left


def test_a_folder_that_can_not_be_cleaned_is_no_failure(tmp_path: Path) -> None:
    left = begun(tmp_path)
    left.unlink()
    left.mkdir()
    assert list(clean_up(tmp_path)) == []
