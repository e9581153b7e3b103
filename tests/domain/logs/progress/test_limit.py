import pytest

from jobmon_core.domain.logs.progress.limit import limit_outlook, time_limit
from jobmon_core.domain.logs.progress.model import Confidence, Estimate, LimitOutlook

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
