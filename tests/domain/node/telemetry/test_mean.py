"""What is kept of the samples, and that it stays small."""

from __future__ import annotations

import pytest

from jobmon_core.domain.node.telemetry.mean import Thinning
from jobmon_core.domain.node.telemetry.model import Gpu, Sample

START_S, INTERVAL_S = 1_790_000_000.0, 5.0


def sample(at_s: float, percent: float = 50.0) -> Sample:
    return Sample(at_s, INTERVAL_S, gpus=(Gpu(0, utilization_percent=percent, lowest_percent=percent),))


def kept(thinning: Thinning, until_s: float, since_s: float = 0.0) -> list[Sample]:
    rounds = int((until_s - since_s) / INTERVAL_S)
    times = (START_S + since_s + (number + 1) * INTERVAL_S for number in range(rounds))
    return [mean for at_s in times if (mean := thinning.add(sample(at_s)))]


def test_ten_minutes_are_kept_in_detail_then_one_mean_a_minute() -> None:
    thinning = Thinning(START_S)
    assert len(kept(thinning, 600.0)) == 120
    means = kept(thinning, 1200.0, 600.0)
    assert len(means) == 10
    assert {mean.span_s for mean in means} == {60.0}


def test_after_three_days_one_mean_is_kept_each_ten_minutes() -> None:
    means = kept(Thinning(START_S), 4 * 86400.0, 3 * 86400.0 + 5)
    assert len(means) == 143
    assert {mean.span_s for mean in means} == {600.0}


def test_a_mean_keeps_the_extremes() -> None:
    thinning = Thinning(START_S, 60.0)
    means = [thinning.add(sample(START_S + 5.0 * (i + 1), 100.0 if i else 0.0)) for i in range(12)]
    (mean,) = filter(None, means)
    assert mean.gpus[0].utilization_percent == 91.7
    assert mean.gpus[0].lowest_percent == 0.0


def test_what_is_left_is_kept_at_the_end() -> None:
    thinning = Thinning(START_S, 60.0)
    thinning.add(sample(START_S + 5))
    left = thinning.flush()
    assert left is not None
    assert left.span_s == 5.0
    assert thinning.flush() is None


def test_what_is_held_back_has_a_mean_without_the_latest_sample() -> None:
    thinning = Thinning(START_S, 600.0)
    assert thinning.add(sample(START_S + 5, 100.0)) is None
    assert thinning.held_back() is None
    for number in range(1, 100):
        assert thinning.add(sample(START_S + 5 + 5 * number, 0.0)) is None
    recent = thinning.held_back()
    assert recent is not None
    assert (recent.at_s, recent.span_s) == (START_S + 495.0, 495.0)
    assert recent.gpus[0].utilization_percent == pytest.approx(1.0, abs=0.2)  # means of rounded means
