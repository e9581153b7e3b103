from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon.views.console import Style
from jobmon.views.text_width import text_width
from jobmon.views.top.drawing import (
    ASCII,
    UNICODE,
    Column,
    Line,
    Section,
    Span,
    bar,
    in_ascii,
    section_lines,
    sparkline,
    table,
    text_line,
    throughput,
    titled,
)
from jobmon_core.domain.logs.progress.model import History, Sample
from tests.support.styled_lines import as_text


@pytest.mark.parametrize(
    ("fraction", "drawn"),
    [
        (0.0, "----------"),
        (0.04, "----------"),
        (0.5, "#####-----"),
        (0.999, "#########-"),
        (1.0, "##########"),
    ],
)
def test_a_bar_is_full_only_at_the_end(fraction: float, drawn: str) -> None:
    assert bar(fraction, 10, ASCII) == drawn


def test_a_sparkline_shows_the_course() -> None:
    assert sparkline([1, 2, 3, 8], 10, UNICODE) == "▁▂▃█"
    assert sparkline([1, 1, 9, 9], 2, UNICODE) == "▁█"
    assert sparkline([7, 7, 7], 10, UNICODE) == "▄▄▄"
    assert sparkline([7, 7, 7], 10, UNICODE, lowest=0.0) == "███"
    assert sparkline([1, math.nan, math.inf, 2], 10, ASCII) == "_#"
    assert sparkline([1], 10, UNICODE) == sparkline([], 10, UNICODE) == ""


@given(st.lists(st.floats()), st.integers(-3, 60))
def test_a_sparkline_never_exceeds_its_width(values: list[float], width: int) -> None:
    assert text_width(sparkline(values, width, UNICODE)) <= max(0, width)


def test_the_throughput_is_that_of_equal_periods() -> None:
    samples = tuple(
        Sample(at_s, current) for at_s, current in ((0, 0), (10, 100), (20, 200), (60, 200), (80, 400))
    )
    assert throughput(History(0.0, samples), 4) == pytest.approx([10.0, 0.0, 0.0, 10.0])
    assert throughput(History(0.0, samples[:2]), 4) == []


def test_samples_of_one_moment_have_no_throughput() -> None:
    samples = (Sample(0.0, 0.0), Sample(0.0, 1.0), Sample(5e-324, 2.0))
    assert throughput(History(0.0, samples), 2) == []


@given(st.lists(st.tuples(st.floats(0, 2e9), st.floats(0, 1e12)), max_size=20), st.integers(0, 40))
def test_no_history_breaks_the_throughput(points: list[tuple[float, float]], width: int) -> None:
    history = History(0.0, tuple(Sample(*point) for point in sorted(points)))
    assert len(throughput(history, width)) <= width


@given(st.text())
def test_ascii_keeps_the_width(text: str) -> None:
    assert in_ascii(text).isascii()
    assert text_width(in_ascii(text)) == text_width(text)


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
    header, rows = table("GPUs", COLUMNS, 80)
    assert as_text([header, *rows]) == [
        "GPUs  UTIL  NETWORK       NOTE",
        "  0    92%  in 1.2 MiB/s",
        "  10    1%                学習",
    ]
    assert header[0].style is Style.BOLD


def test_the_least_important_columns_make_room_for_the_others() -> None:
    assert as_text([table("GPUs", COLUMNS, 29)[0]]) == ["GPUs  UTIL  NOTE"]
    assert as_text([table("GPUs", COLUMNS, 12)[0]]) == ["GPUs  UTIL"]
    assert as_text(table("GPUs", COLUMNS, 1)[1]) == ["  0", "  10"]


def test_without_rows_there_is_no_table() -> None:
    assert table("GPUs", [column("")], 80) == ((), [])


def rows(number: int) -> list[Line]:
    return [text_line(f"  row {each}") for each in range(number)]


def test_sections_keep_their_order_and_those_of_low_rank_get_room_first() -> None:
    sections = [titled("Outputs", rows(5), 2), titled("Events", rows(5), 1), titled("Tasks", [], 0)]
    assert as_text(section_lines(sections, 4)) == ["Events", "  row 0", "  row 1", "  and 3 more"]
    assert as_text(section_lines(sections, 8)) == [
        "Outputs",
        "  row 0",
        "  row 1",
        "  and 3 more",
        "Events",
        "  row 0",
        "  row 1",
        "  and 3 more",
    ]
    assert len(section_lines(sections, 40)) == 12
    assert section_lines(sections, 2) == []
    assert section_lines(sections, -3) == []


def test_a_single_row_is_shown_with_its_title() -> None:
    assert as_text(section_lines([titled("Nodes", rows(1), 0)], 2)) == ["Nodes", "  row 0"]


def test_of_rows_in_a_fixed_order_those_that_stand_out_stay() -> None:
    found = rows(6)
    found[4] = (Span("  row 4  "), Span("idle", Style.ATTENTION))
    found[1] = (Span("  row 1  "), Span("    ", Style.ATTENTION))
    section = Section(text_line("GPUs"), found, 0, is_by_importance=False)
    assert as_text(section_lines([section], 4)) == ["GPUs", "  row 0", "  row 4  idle", "  and 4 more"]
