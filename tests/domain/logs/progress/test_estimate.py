from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.logs.progress.estimate import estimate, estimate_or_printed, limit_outlook, time_limit
from jobmon_core.domain.logs.progress.history import add_sample
from jobmon_core.domain.logs.progress.model import (
    Confidence,
    Estimate,
    History,
    LimitOutlook,
    Progress,
    Sample,
)
from tests.domain.logs.progress.test_history import history_of

TOTAL = 1000


def run(paces: list[float], pause_s: float = 0.0, pause_every: int = 0) -> History:
    """Return the history of steps that take ``paces`` seconds each."""
    at_s, points = 0.0, [(0.0, 0.0)]
    for step, pace in enumerate(paces, 1):
        at_s += pace
        points.append((at_s, float(step)))
        if pause_every and step % pause_every == 0:
            at_s += pause_s
    return history_of(*points)


def remaining(history: History, now_s: float | None = None) -> float:
    said = estimate(history, TOTAL, history.samples[-1].at_s if now_s is None else now_s).remaining_s
    assert said is not None
    return said


def test_a_steady_run_ends_when_its_pace_says() -> None:
    said = estimate(run([2.0] * 400), TOTAL, 800)
    assert said.remaining_s == pytest.approx(1200)
    assert said.shortest_s is not None
    assert said.longest_s is not None
    assert said.shortest_s < 1200 < said.longest_s
    assert said.rate_per_s == pytest.approx(0.5)
    assert said.average_rate_per_s == pytest.approx(0.5)
    assert said.confidence is Confidence.HIGH


@pytest.mark.parametrize("steps", [250, 500, 750, 950])
def test_an_even_pace_keeps_its_confidence_to_the_end(steps: int) -> None:
    assert estimate(run([2.0] * steps), TOTAL, 2.0 * steps).confidence is Confidence.HIGH


@pytest.mark.parametrize("steps", [0, 2, 40])
def test_a_run_that_has_just_started_has_no_estimate(steps: int) -> None:
    assert estimate(run([2.0] * steps), TOTAL, 100).remaining_s is None


def test_a_resumed_run_needs_5_percent_of_what_it_had_left() -> None:
    points = [(10.0 * step, 900.0 + step) for step in range(5)]
    assert estimate(history_of(*points), TOTAL, 40).remaining_s is None
    points = [(10.0 * step, 900.0 + step) for step in range(11)]
    assert estimate(history_of(*points), TOTAL, 100).remaining_s == pytest.approx(900)


def test_without_a_total_there_are_rates_only() -> None:
    said = estimate(run([2.0] * 400), None, 800)
    assert said == Estimate(rate_per_s=said.rate_per_s, average_rate_per_s=said.average_rate_per_s)
    assert said.rate_per_s == pytest.approx(0.5)
    assert said.average_rate_per_s == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("progress", "steps", "remaining_s"),
    [
        (Progress(4, TOTAL, remaining_s=1992.0, rate_per_s=0.5), 4, 1992),
        (Progress(4, TOTAL, rate_per_s=0.5), 4, 1992),
        (Progress(4, TOTAL), 4, 1992),
        (Progress(1, 3, "epoch"), 1, 4),
    ],
)
def test_until_there_is_an_estimate_what_the_log_says_counts_with_a_wide_range(
    progress: Progress, steps: int, remaining_s: float
) -> None:
    said = estimate_or_printed(run([2.0] * steps), progress, 2.0 * steps)
    assert (said.remaining_s, said.shortest_s, said.longest_s, said.confidence) == (
        remaining_s, remaining_s / 2, 2 * remaining_s, Confidence.LOW,
    )  # fmt: skip


def test_if_the_log_says_two_things_its_own_words_come_first_and_the_range_holds_both() -> None:
    said = estimate_or_printed(run([2.0] * 4), Progress(4, TOTAL, remaining_s=3000.0, rate_per_s=2.0), 8)
    assert (said.remaining_s, said.shortest_s, said.longest_s) == (3000, 498 / 2, 6000)


def test_a_small_wobble_of_the_speed_is_no_drift() -> None:
    wobble = [2.0 * (1 + 0.04 * step / 400) for step in range(400)]
    said = estimate(run(wobble), TOTAL, sum(wobble))
    assert said.remaining_s == pytest.approx(600 * 2.0 * 1.028, rel=0.01)


def test_our_own_estimate_comes_before_what_the_log_says() -> None:
    said = estimate_or_printed(run([2.0] * 400), Progress(400, TOTAL, remaining_s=9.0), 800)
    assert said == estimate(run([2.0] * 400), TOTAL, 800)


@pytest.mark.parametrize("progress", [None, Progress(0, TOTAL), Progress(7), Progress(TOTAL, TOTAL)])
def test_there_is_no_estimate_where_nothing_is_known(progress: Progress | None) -> None:
    assert estimate_or_printed(History(), progress, 100).remaining_s is None


def test_the_estimate_is_counted_down_through_a_pause_but_not_through_a_stall() -> None:
    history = run([1.0] * 500, pause_s=60, pause_every=100)
    at_s = history.samples[-1].at_s
    assert remaining(history, at_s + 30) == pytest.approx(remaining(history) - 30)
    long_after = estimate(history, TOTAL, at_s + 5000)
    assert long_after.remaining_s == pytest.approx(remaining(history) - 122)
    assert long_after.confidence is Confidence.LOW


def test_regular_evaluations_still_to_come_are_counted() -> None:
    history = run([1.0] * 490, pause_s=100, pause_every=100)  # four of them so far
    assert remaining(history) == pytest.approx(510 + 500, rel=0.02)
    history = run([1.0] * 510, pause_s=100, pause_every=100)  # the half window would hold too many
    assert remaining(history) == pytest.approx(490 + 400, rel=0.02)


def test_after_a_single_evaluation_the_next_is_expected_after_as_many_steps() -> None:
    history = run([1.0] * 350, pause_s=100, pause_every=300)
    assert remaining(history) == pytest.approx(650 + 200, rel=0.02)


def test_a_slow_start_is_forgotten() -> None:
    assert remaining(run([20.0] * 10 + [1.0] * 390)) == pytest.approx(600, rel=0.02)


def test_after_a_change_of_speed_only_the_time_since_counts() -> None:
    assert remaining(run([1.0] * 300 + [2.0] * 100)) == pytest.approx(1200, rel=0.05)


def test_most_of_a_steady_drift_is_carried_on() -> None:
    paces = [2.0 - step / TOTAL for step in range(TOTAL)]  # the longest requests come first
    history = run(paces[:500])
    assert remaining(history) == pytest.approx(sum(paces[500:]), rel=0.12)  # the last half says 30 % more


def test_at_the_total_nothing_remains() -> None:
    assert remaining(run([1.0] * 1010)) == 0


_TIMES = st.floats(min_value=0, max_value=1e9)


@given(
    st.lists(st.tuples(_TIMES, st.floats(min_value=0, max_value=1e12)), max_size=60),
    st.floats(1e-3, 1e12),
    _TIMES,
)
def test_any_history_gives_no_error_and_no_negative_time(
    points: list[tuple[float, float]], total: float, now_s: float
) -> None:
    history = History()
    for at_s, current in zip(sorted(at_s for at_s, _ in points), sorted(c for _, c in points), strict=True):
        history = add_sample(history, Sample(at_s, current))
        said = estimate(history, total, now_s)
        if said.remaining_s is not None:
            assert said.shortest_s is not None
            assert said.longest_s is not None
            assert 0 <= said.shortest_s <= said.remaining_s <= said.longest_s


@pytest.mark.parametrize("slower", [1.0, 1.05])
@pytest.mark.parametrize("validation_s", [0.0, 20.0])
def test_half_way_through_unequal_epochs_the_estimate_is_right_within_10_percent(
    slower: float, validation_s: float
) -> None:
    paces = [slower ** (step // 100) for step in range(TOTAL)]  # ten epochs
    ends_s = list(itertools.accumulate(paces))
    true_s = ends_s[-1] + 10 * validation_s
    done = sum(end_s + index // 100 * validation_s <= true_s / 2 for index, end_s in enumerate(ends_s))
    history = run(paces[:done], pause_s=validation_s, pause_every=100)
    assert remaining(history, true_s / 2) == pytest.approx(true_s / 2, rel=0.1)


HOUR_S = 3600.0


def said(remaining_s: float, confidence: Confidence = Confidence.HIGH) -> Estimate:
    return Estimate(1.0, 1.0, remaining_s, 0.9 * remaining_s, 1.1 * remaining_s, confidence=confidence)


def test_a_job_that_needs_more_than_is_left_misses_its_limit() -> None:
    # started 10 h ago, limit 12 h
    assert limit_outlook(said(8 * HOUR_S), 0, 12 * HOUR_S, 10 * HOUR_S) == LimitOutlook(
        fits=False,
        ends_s=18 * HOUR_S,
        time_left_s=2 * HOUR_S,
        sufficient_time="21:00:00",
    )


@pytest.mark.parametrize(
    ("remaining_h", "confidence", "fits"),
    [
        (1.0, Confidence.HIGH, True),
        (1.95, Confidence.HIGH, None),  # the range holds the limit
        (2.1, Confidence.MEDIUM, None),
        (3.0, Confidence.MEDIUM, False),
        (3.0, Confidence.LOW, None),
    ],
)
def test_the_whole_range_must_lie_on_one_side(
    *, remaining_h: float, confidence: Confidence, fits: bool | None
) -> None:
    outlook = limit_outlook(said(remaining_h * HOUR_S, confidence), 0, 12 * HOUR_S, 10 * HOUR_S)
    assert outlook is not None
    assert outlook.fits is fits


def test_without_an_estimate_there_is_no_outlook() -> None:
    assert limit_outlook(Estimate(), 0, 100, 50) is None


@pytest.mark.parametrize(
    ("duration_s", "text"),
    [
        (0, "10:00"),
        (601, "20:00"),
        (3600, "1:00:00"),
        (3601, "1:30:00"),
        (5.2 * HOUR_S, "5:30:00"),
        (6.1 * HOUR_S, "7:00:00"),
        (23.5 * HOUR_S, "1-00:00"),
        (25 * HOUR_S, "1-06:00"),
        (240 * HOUR_S, "10-00:00"),
    ],
)
def test_a_limit_is_rounded_up_as_a_user_writes_it(duration_s: float, text: str) -> None:
    assert time_limit(duration_s) == text
