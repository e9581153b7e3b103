from __future__ import annotations

import os
from pathlib import Path

from jobmon_core.observe.logs.scan_dirs import ScanBudget, find_files, stat_own_file


def test_the_number_of_entries_read_is_limited(tmp_path: Path) -> None:
    for number in range(5001):
        (tmp_path / f"{number}.log").touch()
    budget = ScanBudget()
    assert [len(budget.entries(str(tmp_path))) for _ in range(5)] == [5000] * 4 + [0]


def test_names_that_are_not_printable_are_skipped(tmp_path: Path) -> None:
    for name in (b"good.log", b"line\nend.log", b"caf\xe9.log", b"\x1b[31m.log"):
        (tmp_path / os.fsdecode(name)).touch()
    assert [entry.name for entry in ScanBudget().entries(str(tmp_path))] == ["good.log"]


def test_only_a_folder_has_entries(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("gone", "pipe", "a\x00b", "\ud800"):
        assert ScanBudget().entries(f"{tmp_path}/{name}") == []


def test_only_a_regular_non_empty_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("text")
    (tmp_path / "empty.log").touch()
    (tmp_path / "link.log").symlink_to(tmp_path / "a.log")
    os.mkfifo(tmp_path / "pipe.log")
    found = [
        stat_own_file(f"{tmp_path}/{name}")
        for name in ("a.log", "empty.log", "link.log", "pipe.log", "", "\x00")
    ]
    assert [file is not None for file in found] == [True, False, False, False, False, False]


def test_subfolders_are_searched_to_a_limited_depth_without_links(tmp_path: Path) -> None:
    for folder in ("a", "a/b", "a/b/c"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.log").write_text("text")
    (tmp_path / "a" / "again").symlink_to(tmp_path / "a")
    found = find_files(str(tmp_path), lambda name: name == "x.log", ScanBudget(), levels=3)
    assert [file.path for file in found] == [f"{tmp_path}/a/x.log", f"{tmp_path}/a/b/x.log"]
