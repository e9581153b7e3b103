from __future__ import annotations

from jobmon.views.console import Style
from jobmon.views.top.drawing import Column, Span, table
from tests.support.styled_lines import as_text


def column(header: str, *texts: str, importance: int = 0, is_right_aligned: bool = False) -> Column:
    return Column(header, [Span(text) for text in texts], importance, is_right_aligned)


COLUMNS = (
    column("", "0", "10"),
    column("UTIL", "92%", "1%", importance=3, is_right_aligned=True),
    column("NETWORK", "in 1.2 MiB/s", "", importance=1),
    column("POWER", "", "", importance=9),
    column("NOTE", "", "学習", importance=2),
)


def test_cells_are_aligned_and_empty_columns_left_out() -> None:
    found = table("GPUs", COLUMNS, 80)
    assert as_text([found.header, *found.rows]) == [
        "GPUs  UTIL  NETWORK       NOTE",
        "  0    92%  in 1.2 MiB/s",
        "  10    1%                学習",
    ]
    assert found.header[0].style is Style.BOLD


def test_the_least_important_columns_make_room_for_the_others() -> None:
    assert as_text([table("GPUs", COLUMNS, 29).header]) == ["GPUs  UTIL  NOTE"]
    assert as_text([table("GPUs", COLUMNS, 12).header]) == ["GPUs  UTIL"]
    assert as_text(table("GPUs", COLUMNS, 1).rows) == ["  0", "  10"]


def test_without_rows_there_is_no_table() -> None:
    assert table("GPUs", [column("")], 80) == ((), [])
