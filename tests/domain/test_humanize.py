from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.humanize import count, duration, money, number, plural, rate, size


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "0s"),
        (0, "0s"),
        (45.4, "45s"),
        (59.6, "1m"),
        (185, "3m 05s"),
        (3600, "1h"),
        (3659, "1h"),
        (86_400, "1d"),
        (7380, "2h 03m"),
        (100_800, "1d 04h"),
        (90 * 86_400, "90d"),
    ],
)
def test_a_duration_is_formatted_for_people(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("count_bytes", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1.5 * 2**30, "1.5 GiB"),
        (2**20 - 1, "1.0 MiB"),  # not 1024.0 KiB
        (2**40 - 1, "1.0 TiB"),
        (5 * 2**60, "5120.0 PiB"),
    ],
)
def test_a_size_is_formatted_for_people(count_bytes: float, text: str) -> None:
    assert size(count_bytes) == text


@given(st.integers(0, 2**60))
def test_no_size_below_the_last_unit_shows_four_digits_before_its_point(count_bytes: int) -> None:
    figure, unit = size(count_bytes).split()
    assert float(figure) < 1024 or unit == "PiB"


@pytest.mark.parametrize(("number", "text"), [(0, "0 tasks"), (1, "1 task"), (250_000, "250,000 tasks")])
def test_a_number_agrees_with_its_noun(number: int, text: str) -> None:
    assert count(number, "task") == text


def test_counts_keep_their_figures() -> None:
    numbers = (67_300, 2.5, 0.04, 0.5, 0.001, 12_345_678_901, math.inf)
    assert [number(each) for each in numbers] == ["67,300", "2.5", "0.04", "0.5", "0", "12G", "?"]


@pytest.mark.parametrize(
    ("per_s", "text"),
    [
        (251.3, "251.3/s"),
        (1.0, "1.0/s"),
        (0.25, "15.0/min"),
        (0.001, "3.6/h"),
        (12_345.6, "12,346/s"),
        (123_456.0, "123k/s"),
        (2_500_000.0, "2.5M/s"),
        (0.0, "0.0/h"),
        (None, ""),
        (math.nan, ""),
        (-1.0, ""),
    ],
)
def test_a_rate_is_readable(per_s: float | None, text: str) -> None:
    assert rate(per_s) == text


def test_a_rate_names_its_unit() -> None:
    assert rate(251.3, "item") == "251.3 items/s"
    assert rate(2.0, "it") == "2.0 it/s"
    assert [plural(each) for each in ("batch", "epoch", "samples", "%", "")] == [
        "batches",
        "epochs",
        "samples",
        "%",
        "",
    ]


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (1234.5, "1,234.50 EUR"),
        (0.0, "0.00 EUR"),
        (0.05, "0.05 EUR"),
        (0.0012, "0.0012 EUR"),
        (0.0001, "0.0001 EUR"),
        (2.78e-6, "0.0000028 EUR"),
        (9.9e-5, "0.000099 EUR"),
    ],
)
def test_an_amount_of_money_has_no_exponent(amount: float, text: str) -> None:
    assert money(amount, "EUR") == text
