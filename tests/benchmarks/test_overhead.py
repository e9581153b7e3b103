"""How `benchmarks/overhead.py` measures whether the memory of an agent grows."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from benchmarks.overhead_parts.fast_agent import LEVELS, FastClock
from benchmarks.overhead_parts.long_run import Level, LongRun
from jobmon_core.system.clock import Wake


def growth(*private: int) -> float:
    """The growth in a run of one hour for each figure."""
    return LongRun([], [Level(hour, size, size) for hour, size in enumerate(private, start=1)]).growth


def test_memory_that_an_agent_takes_in_the_second_half_of_the_time_is_growth() -> None:
    assert growth(90, 95, 100, 101, 102, 103) == pytest.approx(0.03)


def test_memory_that_it_takes_in_the_first_half_is_none() -> None:
    assert growth(50, 90, 100, 100, 99, 100) == 0


def test_memory_that_it_gives_back_before_the_end_is_growth() -> None:
    assert growth(100, 100, 100, 110, 100, 100) == pytest.approx(0.1)


def test_the_clock_keeps_nothing_of_what_it_measures(tmp_path: Path) -> None:
    clock = FastClock(hours=10)
    with (tmp_path / "figures").open("w", encoding="ascii") as file, redirect_stdout(file):
        clock.wait(1)
        before = sys.getallocatedblocks()
        while clock.wait(1) is Wake.DUE:
            pass
        kept = sys.getallocatedblocks() - before
    rounds = (tmp_path / "figures").read_text(encoding="ascii").splitlines()
    assert len(rounds) == 36000 - 1 + LEVELS
    assert kept < 1000
