from __future__ import annotations

import os
import tempfile
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobmon_core.domain.logs.diagnosis.log_lines import LogExcerpt, LogLines
from jobmon_core.observe.logs.read import TAIL_BYTES, read_head, read_tail


def numbered(part: LogExcerpt) -> list[tuple[int | None, str]]:
    lines = LogLines([part])
    return [(lines[n].number, lines[n].text) for n in range(len(lines))]


def log_of(folder: Path, data: bytes | str) -> Path:
    log = folder / "a.log"
    log.write_bytes(data if isinstance(data, bytes) else data.encode())
    return log


def test_a_short_log_is_read_completely_with_line_numbers(tmp_path: Path) -> None:
    log = log_of(tmp_path, "one\n\nthree\nfour without an end")
    for part in (read_tail(str(log)), read_head(str(log))):
        assert numbered(part) == [(1, "one"), (2, ""), (3, "three"), (4, "four without an end")]
        assert (part.size, part.problem, part.complete, part.note) == (log.stat().st_size, "", True, "")
        assert part.path == str(log)


def test_the_tail_is_limited_in_bytes_and_numbered_correctly(tmp_path: Path) -> None:
    log = log_of(tmp_path, "".join(f"line {n}\n" for n in range(1, 1001)))
    part = read_tail(str(log), 30)
    assert numbered(part) == [(998, "line 998"), (999, "line 999"), (1000, "line 1000")]
    assert not part.complete


def test_the_head_is_limited_in_bytes_and_ends_with_a_complete_line(tmp_path: Path) -> None:
    part = read_head(str(log_of(tmp_path, "one\ntwo\nthree\n")), 10)
    assert numbered(part) == [(1, "one"), (2, "two")]
    assert not part.complete


def test_only_a_line_with_a_missing_beginning_is_dropped(tmp_path: Path) -> None:
    log = str(log_of(tmp_path, "first\nsecond\nthird\n"))
    assert numbered(read_tail(log, 15)) == [(2, "second"), (3, "third")]
    assert numbered(read_tail(log, 13)) == [(2, "second"), (3, "third")]
    assert numbered(read_tail(log, 12)) == [(3, "third")]


def test_both_ends_of_a_single_overlong_line_can_be_read(tmp_path: Path) -> None:
    log = str(log_of(tmp_path, "a\n" + "x" * 100 + "end"))
    assert numbered(read_tail(log, 5)) == [(2, "xxend")]
    assert numbered(read_head(log, 1)) == [(1, "a")]


def test_lines_are_unnumbered_if_counting_would_take_long(tmp_path: Path) -> None:
    log = tmp_path / "long.log"
    with log.open("wb") as file:
        file.truncate(33 * 2**20)  # a hole: no disk is used
        file.seek(0, os.SEEK_END)
        file.write(b"\n" + b"x" * TAIL_BYTES + b"\nsecond\nthird\n")
    assert numbered(read_tail(str(log))) == [(None, "second"), (None, "third")]
    assert read_tail(str(log)).first_number is None


@pytest.mark.parametrize("size", [100 * 2**20, 2**40])
def test_a_huge_file_without_line_ends_costs_little_time_and_memory(tmp_path: Path, size: int) -> None:
    log = tmp_path / "huge.log"
    with log.open("wb") as file:
        file.truncate(size)
        file.seek(0, os.SEEK_END)
        file.write(b"x" * 2_000_000 + b"the end")
    tracemalloc.start()
    start_s = time.process_time()
    tail = read_tail(str(log))
    head = read_head(str(log))
    elapsed_s = time.process_time() - start_s
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [text[-7:] for text in tail.texts] == ["the end"]
    assert (head.texts, head.problem) == ((), "contains only zero bytes")
    assert elapsed_s < 60  # of CPU time, and mostly one
    assert peak < 12 * TAIL_BYTES


def test_zeros_at_the_end_are_skipped(tmp_path: Path) -> None:
    log = log_of(tmp_path, b"one\ntwo\n")
    os.truncate(log, 10 * 2**20)
    assert numbered(read_tail(str(log), 100)) == [(1, "one"), (2, "two")]
    assert numbered(read_head(str(log), 100))[:2] == [(1, "one"), (2, "two")]


def test_a_log_with_only_zeros_is_a_problem(tmp_path: Path) -> None:
    assert read_tail(str(log_of(tmp_path, bytes(5000)))).problem == "contains only zero bytes"


def test_terminal_codes_and_invalid_bytes_are_cleaned(tmp_path: Path) -> None:
    log = log_of(tmp_path, b"\x1b[31mred\x1b[0m\n 10%\r 90%\r100%\n\x00\x00caf\xe9\n")
    assert read_tail(str(log)).texts == ("red", "100%", "caf\ufffd")


def test_only_the_character_at_the_cut_is_lost(tmp_path: Path) -> None:
    log = str(log_of(tmp_path, "é" * 100))
    assert read_tail(log, 11).texts == ("\ufffd" + "é" * 5,)
    assert read_head(log, 11).texts == ("é" * 5 + "\ufffd",)


def test_a_huge_progress_bar_is_reduced_to_its_last_state(tmp_path: Path) -> None:
    log = tmp_path / "bar.log"
    with log.open("wb") as file:
        file.truncate(100 * 2**20)
        file.seek(0, os.SEEK_END)
        file.write(b"".join(b"\r%3d%%|####" % (n % 100) for n in range(100_000)) + b"\r100%|####")
    assert read_tail(str(log)).texts == ("100%|####",)


def test_a_binary_file_is_not_a_log(tmp_path: Path) -> None:
    part = read_tail(str(log_of(tmp_path, bytes(range(256)) * 100)))
    assert (part.texts, part.problem) == ((), "is a binary file, not a log")


def test_an_empty_log_is_a_problem(tmp_path: Path) -> None:
    assert read_tail(str(log_of(tmp_path, ""))).problem == "is empty"


@settings(deadline=None)  # the machine may be busy
@given(st.binary(max_size=3000), st.integers(1, 500))
def test_no_bytes_raise_or_exceed_the_limits(data: bytes, max_bytes: int) -> None:
    with tempfile.NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        parts = [read_tail(file.name, max_bytes), read_head(file.name, max_bytes)]
    for part in parts:
        assert sum(len(text) for text in part.texts) <= max_bytes
        assert part.size == len(data)
        assert bool(part.problem) == (not part.texts)


LINES = st.lists(st.text(st.characters(codec="ascii", exclude_categories=["C"]), max_size=8), max_size=40)


@settings(deadline=None)
@given(LINES, st.integers(1, 200))
def test_line_numbers_are_those_of_the_file(lines: list[str], max_bytes: int) -> None:
    shown = [line.rstrip() for line in lines]
    with tempfile.NamedTemporaryFile() as file:
        file.write("".join(f"{line}\n" for line in lines).encode())
        file.flush()
        parts = [read_tail(file.name, max_bytes), read_head(file.name, max_bytes)]
    for part in parts:
        for number, text in numbered(part):
            assert number is not None
            assert text in shown[number - 1]


def test_a_private_key_is_hidden_although_only_its_last_lines_are_read(tmp_path: Path) -> None:
    log, line = tmp_path / "job.log", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
    key = [f"[rank0]: -----BEGIN {'PRIVATE'} KEY-----", *[f"[rank0]: {line}"] * 20, "[rank0]: QIDAQAB="]
    end = f"[rank0]: -----END {'PRIVATE'} KEY-----"
    log.write_text("\n".join([*key, end, "ValueError: bad decrypt"]), encoding="ascii")
    texts = read_tail(str(log), 400).texts
    assert 4 <= len(texts) < 10
    assert texts == ("[rank0]: [hidden]",) * (len(texts) - 2) + (end, "ValueError: bad decrypt")
    assert not any(line in text for text in read_head(str(log), 400).texts)
