from __future__ import annotations

import os
import pwd
import socket
import tempfile
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobmon_core.observe.logtail import MAX_BYTES, MAX_LINES, read_tail


def texts(path: Path, max_lines: int = MAX_LINES, max_bytes: int = MAX_BYTES) -> list[str]:
    return [line.text for line in read_tail(str(path), max_lines, max_bytes).lines]


def test_a_short_log_is_read_whole_with_exact_line_numbers(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("one\n\nthree\nfour without an end")
    tail = read_tail(str(log))
    assert [(line.number, line.text) for line in tail.lines] == [
        (1, "one"), (2, ""), (3, "three"), (4, "four without an end"),
    ]  # fmt: skip
    assert (tail.size, tail.problem, tail.lines[0].file) == (log.stat().st_size, "", str(log))


def test_only_the_last_lines_are_kept_and_still_numbered_right(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("".join(f"line {n}\n" for n in range(1, 1001)))
    lines = read_tail(str(log), 3).lines
    assert [(line.number, line.text) for line in lines] == [
        (998, "line 998"),
        (999, "line 999"),
        (1000, "line 1000"),
    ]


def test_lines_are_unnumbered_where_the_head_was_not_read_and_a_cut_line_is_left_out(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("a long first line\nsecond\nthird\n")
    lines = read_tail(str(log), max_bytes=16).lines
    assert [(line.number, line.text) for line in lines] == [(None, "second"), (None, "third")]


def test_a_gigabyte_without_a_line_end_costs_as_little_as_any_log(tmp_path: Path) -> None:
    log = tmp_path / "huge.log"
    with log.open("wb") as file:
        file.truncate(2**30)  # a hole: no disk is used
        file.seek(0, os.SEEK_END)
        file.write(b"x" * 2_000_000 + b"the end")
    tracemalloc.start()
    started = time.perf_counter()
    lines = read_tail(str(log)).lines
    elapsed_s = time.perf_counter() - started
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(lines) == 1
    assert lines[0].text.endswith("the end")
    assert elapsed_s < 2
    assert peak < 12 * MAX_BYTES


def test_a_log_that_is_cleaned_is_fit_to_be_shown(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_bytes(b"\x1b[31mred\x1b[0m\n 10%\r 90%\r100%\n\x00\x00caf\xe9\n")
    assert texts(log) == ["red", "100%", "caf\ufffd"]


def test_a_binary_file_is_called_one(tmp_path: Path) -> None:
    log = tmp_path / "model.pt"
    log.write_bytes(bytes(range(256)) * 100)
    tail = read_tail(str(log))
    assert (tail.lines, tail.problem) == ((), "is a binary file, not a log")


def test_an_empty_log_is_called_empty(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.touch()
    assert read_tail(str(log)).problem == "is empty"


@pytest.mark.parametrize("name", ["gone.log", "gone/deep.log", "x" * 300])
def test_a_missing_log_is_called_missing(tmp_path: Path, name: str) -> None:
    assert "does not exist" in read_tail(str(tmp_path / name)).problem


def test_the_place_that_keeps_nothing_is_called_so() -> None:
    assert "thrown away" in read_tail("/dev/null").problem


def test_a_device_is_never_opened() -> None:
    assert "is a device" in read_tail("/dev/zero").problem


def test_a_folder_is_called_a_folder(tmp_path: Path) -> None:
    assert read_tail(str(tmp_path)).problem == "is a folder"


def test_a_pipe_is_named_without_waiting_for_a_writer(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "is a pipe" in read_tail(str(pipe)).problem


def test_a_socket_is_named() -> None:
    with socket.socket(socket.AF_UNIX) as server, tempfile.TemporaryDirectory() as short:
        server.bind(f"{short}/s")
        assert "is a socket" in read_tail(f"{short}/s").problem


def test_a_log_without_permission_says_so(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text("secret\n")
    log.chmod(0)
    # root may read everything: look with the eyes of somebody else
    somebody = pwd.getpwnam("nobody").pw_uid if os.geteuid() == 0 else os.geteuid()
    before = os.geteuid()
    os.seteuid(somebody)
    try:
        problem = read_tail(str(log)).problem
    finally:
        os.seteuid(before)
    assert "permission" in problem


def test_links_in_a_circle_and_impossible_names_are_problems_too(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    assert "circle" in read_tail(str(tmp_path / "a")).problem
    assert read_tail("a\x00b").problem.startswith("could not be read")
    assert read_tail("").problem


@settings(deadline=None)  # a busy machine is no fault
@given(st.binary(max_size=3000), st.integers(1, 20), st.integers(1, 500))
def test_no_bytes_make_the_reader_raise_or_exceed_its_bounds(
    data: bytes, max_lines: int, max_bytes: int
) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        tail = read_tail(file.name, max_lines, max_bytes)
    assert len(tail.lines) <= max_lines
    assert sum(len(line.text) for line in tail.lines) <= max_bytes
    assert tail.size == len(data)
    assert bool(tail.problem) == (not tail.lines)
