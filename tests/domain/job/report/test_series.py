"""Series with few points that hide no extreme and no gap."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.job.report.series import (
    Point,
    Series,
    Window,
    downsampled,
    envelope,
    loss_summary,
    progress_series,
    scaled,
    tabulated,
    throughput_series,
    weighted_mean,
)
from jobmon_core.domain.logs.progress.model import History, Sample
from tests.support.telemetry import START_S, eventful_history

WINDOW = Window(1000.0, 4600.0)
HOUR_S = 3600.0


def measured(at_s: float, value: float, span_s: float = 5.0) -> Point:
    return Point(1000.0 + at_s, value, value, value, span_s)


def test_a_short_series_is_kept_as_it_is() -> None:
    series = downsampled([measured(60, 1), measured(120, 3, 60)], WINDOW)
    assert [point.mean for point in series.points] == [1, 3]
    assert len(series.stretches) == 1


def test_means_are_weighted_by_the_time_that_they_stand_for() -> None:
    (point,) = downsampled([measured(10, 0, 5), measured(20, 12, 55)], WINDOW, 2).points
    assert point.mean == 11
    assert (point.low, point.high) == (0, 12)


def test_a_time_without_figures_is_a_gap_and_no_line() -> None:
    times = [*range(60, 660, 60), *range(1800, 2400, 60)]
    series = downsampled([measured(at_s, 1, 60) for at_s in times], WINDOW, 60)
    assert [len(stretch) for stretch in series.stretches] == [10, 10]


def test_samples_that_stand_for_ten_minutes_each_leave_no_gaps() -> None:
    series = downsampled([measured(at_s, 1, 600) for at_s in range(600, 3600, 600)], WINDOW)
    assert len(series.stretches) == 1


def test_what_is_not_finite_or_outside_the_window_is_skipped() -> None:
    series = downsampled([measured(60, math.nan), measured(-60, 1), measured(9999, 1)], WINDOW)
    assert series == Series()


@given(st.lists(st.tuples(st.floats(0, 3600), st.floats(-1e9, 1e9)), max_size=80))
def test_no_extreme_is_lost_and_the_number_of_points_is_bounded(values: list[tuple[float, float]]) -> None:
    series = downsampled([measured(at_s, value) for at_s, value in values], WINDOW, 10)
    assert len(series.points) <= 11  # the end of the window is a point of its own
    if values:
        assert max(point.high for point in series.points) == max(value for _, value in values)
        assert min(point.low for point in series.points) == min(value for _, value in values)


def test_an_envelope_spans_all_series() -> None:
    several = [downsampled([measured(60, value), measured(61, value)], WINDOW) for value in (1, 5, 9)]
    (point,) = envelope(several, WINDOW).points
    assert (point.low, point.mean, point.high) == (1, 5, 9)


def test_a_table_has_empty_cells_where_a_series_has_a_gap() -> None:
    both = downsampled([measured(at_s, at_s) for at_s in (10, 1000, 3000)], WINDOW)
    start = downsampled([measured(10, 7)], WINDOW)
    assert tabulated([both, start], WINDOW, 4) == [(900, [10, 7]), (1800, [1000, None]), (3600, [3000, None])]


def test_scaled_values_keep_their_times() -> None:
    series = scaled(downsampled([measured(60, 10)], WINDOW), 4)
    assert series.points[0] == Point(1060, 2.5, 2.5, 2.5)


def test_a_mean_without_weights_is_the_plain_one() -> None:
    assert weighted_mean([(1, 0), (3, 0)]) == 2


def test_a_window_without_length_has_shares_all_the_same() -> None:
    assert Window(5, 5).share(5) == 0
    assert Window(0, 10).share(99) == 1


def steady(minutes: int) -> History:
    samples = tuple(Sample(60.0 * number, 120.0 * number) for number in range(minutes + 1))
    return History(0.0, samples, 60.0, 60.0)


def test_a_steady_run_has_a_level_throughput() -> None:
    points = throughput_series(steady(60), Window(0, HOUR_S)).points
    assert [point.mean for point in points] == pytest.approx([2.0] * len(points))
    assert len(points) == 30  # an update each minute: a period holds two


def test_the_throughput_of_a_short_run_is_a_line_and_not_one_invisible_point() -> None:
    points = throughput_series(steady(2), Window(0, 130)).points
    assert [(point.at_s, point.mean) for point in points] == [(0, 2), (120, 2)]


def test_a_stall_up_to_the_end_is_a_throughput_of_zero() -> None:
    points = throughput_series(steady(60), Window(0, 2 * HOUR_S)).points
    assert points[-1].mean == 0
    assert points[0].mean == pytest.approx(2.0)


def test_the_stall_of_a_run_is_seen_in_its_throughput() -> None:
    series = throughput_series(eventful_history(), Window(START_S, START_S + 3 * HOUR_S))
    slow = [point.at_s - START_S for point in series.points if point.mean < 1]
    assert 1.6 * HOUR_S < min(slow) < max(slow) < 1.95 * HOUR_S


def test_a_history_without_progress_has_no_series() -> None:
    assert throughput_series(History(), Window(0, 1)) == Series()
    assert throughput_series(History(samples=(Sample(0, 1),)), Window(0, 1)) == Series()
    assert progress_series(History()) == Series()
    assert loss_summary(History()) is None


def test_the_loss_has_a_first_a_last_a_best_and_a_worst_value() -> None:
    values = (4.0, 1.0, 9.0, math.nan, 2.0)
    samples = tuple(Sample(float(number), number, loss) for number, loss in enumerate(values))
    summary = loss_summary(History(samples=samples))
    assert summary is not None
    assert (summary.first, summary.last, summary.best, summary.best_at_s) == (4.0, 2.0, 1.0, 1.0)
    assert (summary.worst, summary.worst_at_s, summary.bad_values) == (9.0, 2.0, 1)
