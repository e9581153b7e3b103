"""Axes with round numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.job.report.axis import (
    linear_axis,
    logarithmic_axis,
    round_step,
    time_ticks,
)

_HOUR_S, _DAY_S = 3600.0, 86_400.0


def test_an_axis_ends_at_round_numbers() -> None:
    assert linear_axis(0, 100).ticks == (0, 25, 50, 75, 100)
    assert linear_axis(0, 77.3).ticks == (0, 20, 40, 60, 80)
    assert linear_axis(2.1, 2.9).ticks == pytest.approx((2.0, 2.2, 2.4, 2.6, 2.8, 3.0))


@given(st.floats(-1e12, 1e12), st.floats(1e-9, 1e12))
def test_an_axis_holds_all_values_and_has_few_marks(lowest: float, spread: float) -> None:
    axis = linear_axis(lowest, lowest + spread)
    assert 2 <= len(axis.ticks) <= 8
    rounding = 1e-6 * (spread + abs(lowest))
    assert axis.low <= lowest + rounding
    assert axis.high >= lowest + spread - rounding


@pytest.mark.parametrize("value", [0, 5, -3.7])
def test_a_range_without_length_still_has_an_axis(value: float) -> None:
    axis = linear_axis(value, value)
    assert axis.low <= value <= axis.high
    assert axis.low < axis.high


def test_a_logarithmic_axis_goes_by_powers_of_ten() -> None:
    axis = logarithmic_axis(0.3, 7000)
    assert axis.ticks == pytest.approx((0.1, 1, 10, 100, 1000, 10_000))
    assert axis.share(10) == pytest.approx(2 / 5)
    assert axis.share(0) == 0
    assert len(logarithmic_axis(1e-9, 1e9).ticks) <= 6


def test_a_step_is_round() -> None:
    assert [round_step(each) for each in (0.03, 1, 1.2, 2.1, 24, 26, 900)] == pytest.approx(
        [0.05, 1, 2, 2.5, 25, 50, 1000]
    )


@pytest.mark.parametrize(
    ("span_s", "ticks_s"),
    [
        (1.0, (0, 1)),
        (45.0, (0, 10, 20, 30, 40)),
        (3 * _HOUR_S, tuple(1800.0 * number for number in range(7))),
        (3 * _DAY_S, tuple(12 * _HOUR_S * number for number in range(7))),
    ],
)
def test_times_are_marked_at_full_hours_and_the_like(span_s: float, ticks_s: tuple[float, ...]) -> None:
    assert time_ticks(span_s) == ticks_s


@given(st.floats(1, 1e12))
def test_a_time_axis_never_has_many_marks(span_s: float) -> None:
    assert len(time_ticks(span_s)) <= 7
