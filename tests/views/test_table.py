from __future__ import annotations

from jobmon.views.console import Console, Style
from jobmon.views.table import Cell, table_lines
from jobmon.views.text_width import text_width

HEADERS = ("JOB", "NAME", "STATE")
ROWS = (
    (Cell("12"), Cell("学習"), Cell("RUNNING", Style.ACTIVE)),
    (Cell("1234"), Cell("a name of some length"), Cell("FAILED", Style.BAD)),
)


def lines(console: Console, *steps: tuple[int, int]) -> list[str]:
    return list(table_lines(HEADERS, ROWS, console, steps))


def test_columns_are_aligned_for_wide_characters() -> None:
    assert lines(Console()) == [
        "JOB   NAME                   STATE",
        "12    学習                   RUNNING",
        "1234  a name of some length  FAILED",
    ]


def test_on_a_terminal_columns_shrink_in_the_given_order_until_the_table_fits() -> None:
    shown = lines(Console(30), (1, 14), (2, 4), (1, 3))
    assert shown[2] == "1234  a name of some…  FAILED"
    assert all(text_width(line) <= 30 for line in shown)
    assert lines(Console(200), (1, 3)) == lines(Console())


def test_a_text_that_does_not_fit_is_replaced_by_the_short_one_before_more_is_cut() -> None:
    rows = [
        (Cell("a" * 10), Cell("COMPLETED:5 FAILED:3", Style.BAD, ("F:3 CD:5",))),
        (Cell("b"), Cell("RUNNING")),
    ]
    steps = ((1, 18), (0, 4))
    assert list(table_lines(("A", "B"), rows, Console(31), steps))[1] == "aaaaaaaaaa  F:3 CD:5"
    assert list(table_lines(("A", "B"), rows, Console(32), steps))[1] == "aaaaaaaaaa  COMPLETED:5 FAILED:3"
    assert list(table_lines(("A", "B"), rows, Console(16), steps))[1] == "aaaaa…  F:3 CD:5"


def test_a_pipe_gets_all_text() -> None:
    assert lines(Console(), (1, 3)) == lines(Console(200))


def test_styles_do_not_count_as_columns() -> None:
    styled = lines(Console(200, colour=True))
    assert styled[1] == "12    学習                   \x1b[36mRUNNING\x1b[0m"
    assert "\x1b" not in "".join(lines(Console(200)))
