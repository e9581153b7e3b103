from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.logs.diagnosis.log_text import (
    LINE_LIMIT,
    clean_lines,
    is_binary,
    searched_text,
    without_label,
)

ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]*[0-~])?")
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f]")
UNPRINTABLE = re.compile(r"[\x01-\x06\x0e-\x1a\x1c-\x1f\x7f-\x9f\ufffd]")

# what logs are made of, and what tears it apart
PIECES = [
    b"a", b"word ", b" ", b"\t", b"\n", b"\n", b"\r", b"\r\n", b"\x00", b"\x07", b"\x08", b"\x0b", b"\x1b",
    b"\x1b[31m", b"\x1b]0;", b"\x1b\\", b"[", b"m", b"\x7f", b"\xc2", b"\x85", b"\xc2\x9b", b"\xc2\xa0",
    b"\xc3\xa9", b"\xe2\x80", b"\xa8", b"\xff", "\ufffd".encode(), b"x" * (LINE_LIMIT - 1),
    b"y" * (3 * LINE_LIMIT),
]  # fmt: skip
LOGS = st.one_of(st.binary(), st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join))


def clean_line(text: str) -> str:
    (line,) = clean_lines(text.encode())
    return line


def cleaned_by_hand(line: str) -> str:
    """What cleaning means, for one line, with no thought of speed."""
    states = ANSI.sub("", line).split("\r")
    held = [state for state in states if state.strip(" \t\x00")]
    last = states[0] if len(states) == 1 else (["", *held])[-1]
    shown = CONTROLS.sub("", last).rstrip()
    return shown if len(shown) <= LINE_LIMIT else f"{shown[:2500]} ... {shown[-1500:]}"


def test_terminal_colours_titles_and_cursor_movements_are_stripped() -> None:
    assert clean_line("\x1b[0m\x1b[91mERROR\x1b[K : bad\x1b]0;title\x07 end\x1b(B") == "ERROR : bad end"


def test_zeros_and_control_characters_are_stripped_and_tabs_stay() -> None:
    assert clean_line("\x00\x00a\x08\tb\x00\x7f") == "a\tb"


def test_a_progress_bar_is_reduced_to_its_last_state() -> None:
    assert clean_line(" 10%|#   |\r 50%|##  |\r100%|####|") == "100%|####|"


def test_a_carriage_return_at_the_end_of_a_line_keeps_its_text() -> None:
    assert clean_line("hello\r") == "hello"
    assert clean_line("1/2\r2/2\r   \r") == "2/2"


def test_an_overlong_line_keeps_its_start_and_its_end() -> None:
    shown = clean_line("start" + "x" * 100_000 + "end")
    assert shown.startswith("start")
    assert shown.endswith("end")
    assert len(shown) <= LINE_LIMIT + len(" ... ")


def test_only_line_feeds_split_lines() -> None:
    assert clean_lines("a\x0bb\u2028c\r\nd\n".encode()) == ("ab\u2028c", "d")
    assert clean_lines(b"a\n\nb") == ("a", "", "b")
    assert (clean_lines(b""), clean_lines(b"\n"), clean_lines(b"\n\x00")) == ((), ("",), ("", ""))


def test_invalid_utf8_is_replaced() -> None:
    assert clean_lines(b"caf\xe9 ok") == ("caf\ufffd ok",)


@pytest.mark.parametrize(
    "data",
    [
        b"plain\n",
        "ünïcödé ✓\n".encode() * 40,
        b"caf\xe9\n",
        b"\x00" * 5000 + b"after the crash\n",
        b"\x1b[31mred\x1b[0m\n" * 50,
    ],
)
def test_text_with_accents_colours_or_zeros_is_not_binary(data: bytes) -> None:
    assert not is_binary(data)


@pytest.mark.parametrize("data", [bytes(range(256)) * 20, b"\x7fELF\x02\x01\x01" + bytes(range(1, 200)) * 10])
def test_machine_data_is_binary(data: bytes) -> None:
    assert is_binary(data)


@pytest.mark.parametrize(
    ("line", "bare"),
    [
        ("12: ValueError: x", "ValueError: x"),
        ("[rank3]: ValueError: x", "ValueError: x"),
        ("[default3]:ValueError: x", "ValueError: x"),
        ("[1,0]<stderr>: ValueError: x", "ValueError: x"),
        ("(VllmWorker rank=0 pid=226) ERROR 06-11 01:51:09 [executor.py:527] ValueError: x", "ValueError: x"),
        ("E0501 22:05:19.414000 1396 torch/api.py:881] failed", "failed"),
        ('0:   File "a.py", line 3', '  File "a.py", line 3'),
        ("INFO 06-11 01:51:09 [executor.py:527] fine", "INFO 06-11 01:51:09 [executor.py:527] fine"),
        ("  3: ValueError: x", "ValueError: x"),
        ("3:", ""),
        ("    3 errors: x", "    3 errors: x"),
        ("ValueError: 12: x", "ValueError: 12: x"),
    ],
)  # fmt: skip
def test_the_label_of_a_rank_is_removed(line: str, bare: str) -> None:
    assert without_label(line) == bare


@pytest.mark.parametrize(
    ("line", "searched"),
    [
        ("[2026-11-22T07:53:10.008] error: *** JOB 5 ON n1", "slurmstepd: error: *** JOB 5 ON n1"),
        ("[2026-11-22T07:53:10] fatal: no", "slurmstepd: fatal: no"),
        ("0: [2026-11-22T07:53:10.008] error: execve(): a.out", "slurmstepd: error: execve(): a.out"),
        ("slurmstepd: error: x", "slurmstepd: error: x"),
        ("[2026-11-22T07:53:10.008] error, not of Slurm", "[2026-11-22T07:53:10.008] error, not of Slurm"),
        ("[2026-11-22 07:53:10] error: x", "[2026-11-22 07:53:10] error: x"),
    ],
)
def test_messages_of_slurmstepd_are_searched_alike_in_all_versions(line: str, searched: str) -> None:
    assert searched_text(line) == searched


@given(st.text())
def test_a_label_is_always_the_start_of_the_line(text: str) -> None:
    assert text.endswith(without_label(text))


@given(LOGS)
def test_lines_are_cleaned_together_as_each_is_alone(data: bytes) -> None:
    lines = data.decode(errors="replace").split("\n")
    if lines[-1] == "":
        lines.pop()
    assert clean_lines(data) == tuple(cleaned_by_hand(line) for line in lines)


@given(LOGS)
def test_no_bytes_leave_a_control_character(data: bytes) -> None:
    shown = "".join(clean_lines(data))
    assert not any(ord(char) < 32 and char != "\t" for char in shown)
    assert not CONTROLS.search(shown)


@given(LOGS)
def test_binary_is_what_has_many_unprintable_characters(data: bytes) -> None:
    text = data.decode(errors="replace").replace("\x00", "")
    assert is_binary(data) == (len(UNPRINTABLE.findall(text)) > max(16, 0.15 * len(text)))
