"""An agent beside 32 workers on 8 GPUs stays small and quick."""

from __future__ import annotations

import shutil
import statistics
from pathlib import Path

import pytest

from benchmarks.overhead_parts.long_run import watch_many

_HOURS = 0.3  # of a clock that jumps over each wait
_ROUNDS_AT_LEAST = 1000
# by the wall clock: on a machine that does much else, single rounds take as long as that makes them wait
_USUAL_S, _MOSTLY_S, _PERCENT = 0.2, 5.0, 99
_GROWTH = 0.05  # of the memory within half of that time, in which an agent still fills what it keeps


@pytest.mark.skipif(
    not (shutil.which("gcc") or shutil.which("cc")), reason="no C compiler for the fake driver"
)
def test_a_round_over_many_workers_is_short_and_the_memory_stays_as_it_is(tmp_path: Path) -> None:
    run = watch_many(_HOURS, tmp_path)
    assert len(run.rounds_s) >= _ROUNDS_AT_LEAST
    assert statistics.median(run.rounds_s) < _USUAL_S
    assert statistics.quantiles(run.rounds_s, n=100)[_PERCENT - 1] < _MOSTLY_S
    assert run.growth < _GROWTH
