from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.logs.progress.log.values import (
    count_of,
    counted_unit,
    duration_s,
    number,
    plain_label,
    rate_per_s,
    total_of_share,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12), ("1,200", 1200), ("1.5k", 1500), ("2M", 2e6), ("1e-5", 1e-5), ("-0.5", -0.5),
        ("'3.5'", 3.5),
        ("inf", math.inf), ("?", None), ("", None), ("Unknown", None), ("1.2.3", None),
    ],
)  # fmt: skip
def test_numbers(text: str, value: float | None) -> None:
    assert number(text) == value


def test_a_count_is_finite() -> None:
    assert (count_of("5"), count_of("nan"), count_of("inf")) == (5, None, None)
    assert (count_of("1e308"), count_of("9" * 300)) == (None, None)  # their products would be infinite


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("02:05", 125), ("1:02:05", 3725), ("2:01:02:05", 176_525), ("1 day, 2:40:00", 96_000),
        ("3 days", 259_200), ("36 s", 36), ("12.5", 12.5), ("1h 2m", 3720), ("173ms", 0.173), ("2.0s", 2.0),
        ("?", None), ("", None), ("-:--:--", None),
    ],
)  # fmt: skip
def test_durations(text: str, seconds: float | None) -> None:
    assert duration_s(text) == pytest.approx(seconds)


def test_rates_are_per_second() -> None:
    assert rate_per_s("2.5", "it/s") == 2.5
    assert rate_per_s("4", " s/it") == 0.25
    assert rate_per_s("?", "it/s") is None
    assert rate_per_s("0.00", "s/it") is None
    assert rate_per_s("1e-320", "s/it") is None


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("it/s", "step"),
        ("s/it", "step"),
        ("img/s", "item"),
        ("batches", "batch"),
        ("Samples", "item"),
        ("epoch", "epoch"),
        ("iB/s", "byte"),
        ("MB/s", "byte"),
    ],
)
def test_units_are_singular(text: str, unit: str) -> None:
    assert counted_unit(text) == unit


@pytest.mark.parametrize(
    ("n", "percent", "total"),
    [
        (20, "41.67", 48),
        (1, "2.08", 48),
        (4190, "13.97", 30_000),
        (3000, "6.0", 50_000),
        (100, "3", None),  # 2,858 to 4,000
        (1, "0.00", None),
        (0, "0.00", None),
        (5, "", None),
    ],
)
def test_a_share_gives_the_roundest_total_that_fits(n: float, percent: str, total: float | None) -> None:
    assert total_of_share(n, percent) == total


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("[rank3]: Steps", "Steps"),
        ("(TaskRunner pid=12) Training Progress", "Training Progress"),
        ("2026-01-01 10:00:00,123 INFO Epoch 3/9", "Epoch"),
        ("loss 0.25, epoch 3", "loss epoch"),
        ("Map (num_proc=4)", "Map (num proc )"),
    ],
)
def test_a_label_is_the_same_for_all_updates_of_a_bar(text: str, label: str) -> None:
    assert plain_label(text) == label


@given(st.text(max_size=60))
def test_no_text_is_refused(text: str) -> None:
    number(text)
    duration_s(text)
    counted_unit(text)
    assert len(plain_label(text)) <= 40
