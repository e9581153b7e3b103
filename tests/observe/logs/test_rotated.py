from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.observe.logs.open_file import find_rotated
from jobmon_core.observe.logs.read import read_tail


def aged(path: Path, text: str, seconds: int) -> None:
    path.write_text(text)
    os.utime(path, (seconds, seconds))


def test_a_missing_log_is_replaced_by_its_newest_rotated_copy(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    aged(tmp_path / "job.log.0", "older\n", 1000)
    aged(tmp_path / "job.log.1", "younger\n", 2000)
    gone = read_tail(str(log))
    assert (gone.excerpt.path, gone.excerpt.texts) == (f"{log}.1", ("younger",))


def test_an_empty_log_is_not_replaced(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    aged(tmp_path / "job.log.1", "of an earlier job\n", 2000)
    log.touch()
    assert read_tail(str(log)).problem == "is empty"


@pytest.mark.parametrize("suffix", [".gz", ".1.gz"])
def test_a_compressed_copy_replaces_a_missing_log(tmp_path: Path, suffix: str) -> None:
    log = tmp_path / "job.log"
    Path(f"{log}{suffix}").write_bytes(gzip.compress(b"the end\n"))
    part = read_tail(str(log))
    assert (part.excerpt.path, part.excerpt.texts) == (f"{log}{suffix}", ("the end",))


def test_a_log_with_text_is_not_replaced(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    aged(log, "new\n", 1000)
    aged(tmp_path / "job.log.1", "old\n", 2000)
    assert read_tail(str(log)).excerpt.texts == ("new",)


def test_an_empty_copy_a_folder_and_a_pipe_replace_nothing(tmp_path: Path) -> None:
    log = tmp_path / "job.log"
    (tmp_path / "job.log.1").touch()
    (tmp_path / "job.log.0").mkdir()
    os.mkfifo(tmp_path / "job.log.gz")
    assert find_rotated(str(log)) == str(log)
    assert read_tail(str(log)).problem == "does not exist"


def test_a_device_and_an_empty_path_are_not_replaced() -> None:
    assert [find_rotated(path) for path in ("/dev/null", "")] == ["/dev/null", ""]


@given(st.text())
def test_no_path_raises(path: str) -> None:
    assert find_rotated(path).startswith(path)
