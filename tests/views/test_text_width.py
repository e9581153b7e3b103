from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon.views.text_width import fill, sentences, text_width, truncated, wrap, wrap_unbroken

PRINTABLE = st.text(st.characters(exclude_categories=["C", "Z"]) | st.just(" "))


@pytest.mark.parametrize(
    ("text", "columns"),
    [("", 0), ("train", 5), ("学習", 4), ("e\u0301te\u0301", 3), ("\uff46ull", 5), ("é…", 2)],
)
def test_wide_characters_take_two_columns_and_combining_marks_none(text: str, columns: int) -> None:
    assert text_width(text) == columns


def test_a_text_is_cut_between_characters() -> None:
    assert truncated("学習ジョブ", 10) == "学習ジョブ"
    assert truncated("学習ジョブ", 9) == "学習ジョ…"
    assert truncated("学習ジョブ", 8) == "学習ジ…"


def test_long_words_are_split() -> None:
    assert wrap("学習ジョブ is done", 6) == ["学習ジ", "ョブ", "is", "done"]
    assert wrap("a\n\nbc def", 3) == ["a", "", "bc", "def"]


def test_lists_and_tables_are_wrapped_below_their_texts_and_examples_are_kept() -> None:
    text = (
        "One paragraph\nof a text.\n\nlist:\n  1. Open the menu.\n  status    list jobs\n\nexamples:\n"
        "  jobmon submit --gres=gpu:4 train.sbatch"
    )
    assert fill(text, 16).split("\n") == [
        *("One paragraph of", "a text.", ""),
        *("list:", "  1. Open the", "     menu.", "  status    list", "            jobs", ""),
        *("examples:", "  jobmon submit --gres=gpu:4 train.sbatch"),
    ]


def test_a_remark_that_does_not_fit_beside_its_example_stands_below_it() -> None:
    text = "examples:\n  jobmon status           how are my jobs?\n  jobmon logs 8123 --err -n 100"
    assert fill(text, 80) == text
    assert fill(text, 24).split("\n") == [
        *("examples:", "  jobmon status", "      how are my jobs?"),
        "  jobmon logs 8123 --err -n 100",
    ]


def test_a_number_stays_with_its_word() -> None:
    assert wrap("2 jobs: 1 running", 15) == ["2 jobs:", "1 running"]
    assert wrap("学習: 1 running", 9) == ["学習:", "1 running"]


def test_a_combining_mark_does_not_make_up_for_a_wide_character() -> None:
    assert wrap("0\u0591\u2e800", 2) == ["0\u0591", "\u2e80", "0"]


@given(PRINTABLE, st.integers(2, 30))
def test_no_line_exceeds_its_width(text: str, width: int) -> None:
    assert text_width(truncated(text, width)) <= width
    assert all(text_width(line) <= width for line in wrap(text, width))


@given(PRINTABLE, st.integers(2, 30))
def test_wrapping_loses_nothing_but_spaces(text: str, width: int) -> None:
    assert "".join(wrap(text, width)).replace(" ", "") == text.replace(" ", "")


def test_commands_and_long_words_stay_unbroken() -> None:
    assert wrap_unbroken("Run `scontrol release 12`.", 12) == ["Run", "`scontrol release 12`."]
    assert wrap_unbroken("see 学習ジョブ or `a b", 6) == ["see", "学習ジョブ", "or `a", "b"]
    assert wrap_unbroken("", 6) == [""]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("Read it. Then run it!  Done", ["Read it.", "Then run it!", "Done"]),
        ("Set it (e.g. 3. Or more). export X=1.", ["Set it (e.g. 3. Or more).", "export X=1."]),
        (
            "Run `a. b` and set WANDB_API_KEY=... in the job.",
            ["Run `a. b` and set WANDB_API_KEY=... in the job."],
        ),
    ],
)
def test_sentences_end_at_a_full_stop_outside_parentheses(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@given(PRINTABLE, st.integers(1, 40))
def test_no_word_is_lost_when_words_stay_whole(text: str, width: int) -> None:
    assert " ".join(wrap_unbroken(text, width)).split() == text.split()
