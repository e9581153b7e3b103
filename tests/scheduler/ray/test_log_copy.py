"""The local copy of a driver's log is what the tails that Ray gives say, each line once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.scheduler.ray import log_copy
from jobmon_core.scheduler.ray.log_copy import GAP, add_to_copy, copy_message, new_part


def tail(log: bytes, lines: int) -> bytes:
    return b"".join(log.splitlines(keepends=True)[-lines:])


@pytest.mark.parametrize(
    ("before", "now", "new"),
    [
        (b"", b"a\nb\n", b"a\nb\n"),
        (b"a\nb\n", b"a\nb\n", b""),
        (b"a\nb\n", b"b\nc\n", b"c\n"),
        (b"a\nb", b"b and more\nc\n", b" and more\nc\n"),  # the last line was not complete
        (b"a\na\n", b"a\na\n", b""),  # repeated lines count as seen
        (b"x\na\nb\n", b"a\nb\na\nb\n", b"a\nb\n"),
    ],
)
def test_only_what_is_new_is_added(before: bytes, now: bytes, new: bytes) -> None:
    assert new_part(before, now) == (new, False)


def test_lines_that_no_answer_showed_are_a_gap(tmp_path: Path) -> None:
    add_to_copy(tmp_path, b"1\n2\n")
    add_to_copy(tmp_path, b"7\n8\n")
    assert (tmp_path / "driver.log").read_bytes() == b"1\n2\n" + GAP + b"7\n8\n"


def test_lines_before_the_first_answer_are_a_gap(tmp_path: Path) -> None:
    add_to_copy(tmp_path, b"7\n8\n", lines=2)
    assert (tmp_path / "driver.log").read_bytes() == GAP + b"7\n8\n"


@given(st.lists(st.binary(max_size=20).map(lambda text: text.replace(b"\r", b"")), max_size=8))
def test_a_growing_log_with_distinct_lines_is_copied_whole(parts: list[bytes]) -> None:
    log, copy, before = b"", b"", b""
    for number, part in enumerate(parts):
        log += b"%d %s\n" % (number, part.replace(b"\n", b" "))
        now = tail(log, 3)
        copy += new_part(before, now)[0]
        before = now
    assert copy == log


def test_an_append_that_was_cut_off_is_repaired_by_the_next_answer(tmp_path: Path) -> None:
    add_to_copy(tmp_path, b"1\n2\n")
    with (tmp_path / "driver.log").open("ab") as file:
        file.write(b"3 (cut o")
    add_to_copy(tmp_path, b"2\n3\n4\n")
    assert (tmp_path / "driver.log").read_bytes() == b"1\n2\n3\n4\n"


def test_a_copy_does_not_grow_without_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_copy, "_MAX_COPY_BYTES", 200)
    for number in range(100):
        add_to_copy(tmp_path, b"line %d\nline %d\n" % (number, number + 1))
    copy = (tmp_path / "driver.log").read_bytes()
    assert copy.endswith(b"line 98\nline 99\nline 100\n")
    assert len(copy) < 300
    before = (tmp_path / "driver.log.1").read_bytes()
    first, last = int(copy.split()[1]), int(before.split()[-1])
    assert first == last + 1  # no line is lost or doubled where the copy goes on


def test_a_message_of_ray_stands_for_a_log_that_there_is_not(tmp_path: Path) -> None:
    copy_message(tmp_path, "runtime_env setup failed: no such package")
    copy_message(tmp_path, "another")
    assert (tmp_path / "driver.log").read_text() == "runtime_env setup failed: no such package\n"
