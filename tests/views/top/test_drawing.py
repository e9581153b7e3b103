from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon.views.text_width import text_width
from jobmon.views.top.drawing import ASCII, UNICODE, bar, in_ascii, sparkline, throughput
from jobmon_core.domain.logs.progress.model import History, Sample


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
