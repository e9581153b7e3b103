from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.artifacts.quote import MAX_LINES, quote_text


def quoted(name: str, text: str, *, is_whole: bool = True) -> list[str]:
    return quote_text(name, text.split("\n"), is_whole=is_whole).split("\n")


def test_a_small_table_is_aligned_and_its_numbers_stay_as_they_are() -> None:
    assert quoted("metrics.csv", "split,accuracy,loss\nval,0.9120,1e-05\ntest,0.8\n") == [
        "split  accuracy   loss",
        "val      0.9120  1e-05",
        "test        0.8",
    ]


@pytest.mark.parametrize("delimiter", ["\t", ";", "|"])
def test_other_delimiters_are_found(delimiter: str) -> None:
    assert quoted("m.tsv", f"a{delimiter}b\n1{delimiter}2") == ["a  b", "1  2"]


def test_of_a_long_table_the_header_and_the_last_rows_are_shown() -> None:
    shown = quoted("m.csv", "step,loss\n" + "".join(f"{n},0.{n}\n" for n in range(100)))
    assert shown[:3] == ["step  loss", "   …", "  90  0.90"]
    assert shown[-1] == "  99  0.99"
    assert len(shown) <= MAX_LINES


def test_a_wide_table_is_shown_by_its_lines() -> None:
    header = ",".join("abcdefgh")
    assert quoted("m.csv", f"{header}\n1,2,3,4,5,6,7,8\n") == [header, "1,2,3,4,5,6,7,8"]


def test_a_small_object_is_shown_by_its_keys() -> None:
    text = '{"accuracy": 0.91200, "n": 12345678901234567890, "best": {"epoch": 3}, "tags": ["a", 1],'
    text += '"ok": true, "x": NaN}'
    assert quoted("eval.json", text) == [
        "accuracy: 0.91200",
        "n: 12345678901234567890",
        "best: {epoch: 3}",
        "tags: [a, 1]",
        "ok: true",
        "x: NaN",
    ]


@pytest.mark.parametrize("text", ["[1, 2]", '{"a": 1', "{}", "[" * 100_000, "not json"])
def test_other_json_is_shown_by_its_last_lines(text: str) -> None:
    (line,) = quoted("eval.json", text)
    assert line == text[: len(line) - 1] + (text[len(line) - 1 :] if len(text) <= 110 else "…")


def test_of_any_other_file_the_last_lines_are_shown() -> None:
    assert quoted("report.txt", "\n".join(f"line {n}" for n in range(50)) + "\n\n")[-1] == "line 49"


@given(st.text(max_size=300), st.sampled_from(["a.csv", "a.json", "a.txt", "a.tsv"]), st.integers(0, 1))
def test_no_file_raises_and_no_quote_is_long(text: str, name: str, whole: int) -> None:
    shown = quote_text(name, text.split("\n"), is_whole=bool(whole)).split("\n")
    assert len(shown) <= MAX_LINES
    assert all(len(line) <= 110 for line in shown)
