from __future__ import annotations

from pathlib import Path

from jobmon_core.scheduler.numbered_files import reserve_id


def test_an_id_is_unique_among_all_backends_of_a_home(tmp_path: Path) -> None:
    local, ssh = tmp_path / "local", tmp_path / "ssh"
    for folder in (local, ssh, tmp_path / "replies"):
        folder.mkdir()
    (tmp_path / "replies" / "99").mkdir()
    made = [reserve_id(root, Path.mkdir) for root in (local, ssh, ssh, local)]
    assert [path.name for path in made] == ["1", "2", "3", "4"]
    assert made[1].parent == ssh


def test_an_id_that_is_taken_meanwhile_is_skipped(tmp_path: Path) -> None:
    def create(path: Path) -> None:
        if path.name == "1":
            raise FileExistsError
        path.mkdir()

    assert reserve_id(tmp_path, create).name == "2"
