from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.text import LINE_LIMIT, clean_line, decode_lines, is_binary, without_label


def test_terminal_colours_titles_and_cursor_movements_are_stripped() -> None:
    assert clean_line("\x1b[0m\x1b[91mERROR\x1b[K : bad\x1b]0;title\x07 end\x1b(B") == "ERROR : bad end"


def test_zeros_and_control_characters_are_stripped_and_tabs_stay() -> None:
    assert clean_line("\x00\x00a\x08\tb\x00\x7f") == "a\tb"


def test_a_progress_bar_is_reduced_to_its_last_state() -> None:
    assert clean_line(" 10%|#   |\r 50%|##  |\r100%|####|") == "100%|####|"


def test_a_windows_line_end_and_a_bar_that_ends_in_a_return_keep_their_text() -> None:
    assert clean_line("hello\r") == "hello"
    assert clean_line("1/2\r2/2\r   \r") == "2/2"


def test_an_overlong_line_keeps_both_its_ends() -> None:
    shown = clean_line("start" + "x" * 100_000 + "end")
    assert shown.startswith("start")
    assert shown.endswith("end")
    assert len(shown) <= LINE_LIMIT + len(" ... ")


def test_lines_are_split_where_editors_count_them_and_nowhere_else() -> None:
    assert decode_lines("a\x0bb\u2028c\r\nd\n".encode()) == ["a\x0bb\u2028c\r", "d"]
    assert decode_lines(b"a\n\nb") == ["a", "", "b"]


def test_invalid_utf8_is_replaced() -> None:
    assert decode_lines(b"caf\xe9 ok") == ["caf\ufffd ok"]


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
def test_text_with_accents_colours_or_holes_is_no_binary(data: bytes) -> None:
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
        ("ValueError: 12: x", "ValueError: 12: x"),
    ],
)  # fmt: skip
def test_the_label_of_a_rank_is_told_from_the_line(line: str, bare: str) -> None:
    assert without_label(line) == bare


@given(st.text())
def test_no_text_makes_cleaning_raise_or_leaves_a_control_character(text: str) -> None:
    shown = clean_line(text)
    assert not any(ord(char) < 32 and char not in "\t\n" for char in shown)
    assert shown.endswith(without_label(shown))


@given(st.binary())
def test_no_bytes_make_decoding_raise(data: bytes) -> None:
    assert len(decode_lines(data)) <= data.count(b"\n") + 1
    assert isinstance(is_binary(data), bool)
