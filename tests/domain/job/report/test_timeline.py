"""Progress, throughput and loss over time, from the bounded history of a run."""

from __future__ import annotations

import math

import pytest

from jobmon_core.domain.job.report.series import Series, Window
from jobmon_core.domain.job.report.timeline import loss_summary, progress_series, throughput_series
from jobmon_core.domain.logs.progress.model import History, Sample
from tests.support.telemetry import START_S, eventful_history

HOUR_S = 3600.0


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
