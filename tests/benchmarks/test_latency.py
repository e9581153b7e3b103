"""How `benchmarks/latency.py` computes its figures."""

from __future__ import annotations

import json

from benchmarks.latency import as_json, tables
from benchmarks.latency_parts.timeline import Spread, Timeline, spreads, too_late


def timeline(after_s: float, bound_s: float = 35.0) -> Timeline:
    """A job that ended at 100.5, was seen after 2 s, and reported ``after_s`` after its end."""
    return Timeline(100.5, 100, 102.5, 99.5 + after_s, 100.5 + after_s, bound_s)


def test_the_parts_of_a_wait_add_up_to_it() -> None:
    (whole, _, poll, conclusion, delivery) = (spread.max for spread in spreads([timeline(10)]).values())
    assert (poll, conclusion, delivery) == (2, 7, 1)
    assert poll + conclusion + delivery == whole


def test_what_took_longer_than_its_bound_is_late() -> None:
    assert too_late([timeline(10), timeline(35), timeline(36), timeline(36, bound_s=60)]) == [timeline(36)]


def test_the_95th_percentile_is_a_wait_that_happened() -> None:
    assert Spread.of([float(each) for each in range(1, 101)]) == Spread(50.5, 95, 100)
    assert Spread.of([3.0, 1.0]) == Spread(2, 3, 3)
    assert Spread.of([7.0]) == Spread(7, 7, 7)


def test_a_bound_that_breaks_is_shown() -> None:
    assert "1 jobs, bound 35 s met" in tables({"floor": [timeline(10)]})
    assert "2 jobs, bound 35 s NOT MET" in tables({"floor": [timeline(10), timeline(36)]})
    assert json.loads(as_json({"floor": [timeline(10), timeline(36)]}))["floor"]["too late"] == 1
