"""The order of the tests of a parallel run, by how long each of them took when that was recorded last.

`dev/test --record-durations` writes the file; a test that it lacks counts as a short one.
"""

from __future__ import annotations

import json
from collections import defaultdict
from itertools import accumulate
from pathlib import Path

import pytest

_TESTS = Path(__file__).resolve().parents[1]
DURATIONS = _TESTS.parent / ".ci" / "durations.json"
_WAIT_FOR_SLURM = (_TESTS / "real", _TESTS / "dev")
_GROUPS, _WAITING, _OTHERS = 0.25, 0.9, 1.0  # the part of the run after which all of them have started
_LEAST_S = 3.0  # shorter ones are not recorded
_SHORT_S = 0.1


def order(items: list[pytest.Item]) -> None:
    """Order the tests so that they keep the processors busy, and end in all workers at once.

    Of each kind the longest begin first. Tests that wait for Slurm are spread among those that compute. A
    group takes one worker for minutes, so it must begin early, but groups that all begin at once would leave
    nothing to compute meanwhile.
    """
    known: dict[str, float] = json.loads(DURATIONS.read_text(encoding="ascii")) if DURATIONS.exists() else {}
    units: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        marker = item.get_closest_marker("xdist_group")
        units[f"@{marker.args[0]}" if marker else item.nodeid].append(item)
    kinds: dict[float, list[tuple[float, list[pytest.Item]]]] = defaultdict(list)
    for name, unit in units.items():
        kinds[_started_by(unit)].append((known.get(name.partition("[")[0], _SHORT_S), unit))
    position: dict[pytest.Item, float] = {}
    for started_by, kind in kinds.items():
        kind.sort(key=lambda found: -found[0])
        until_s = list(accumulate(duration_s for duration_s, _ in kind))
        for end_s, (duration_s, unit) in zip(until_s, kind, strict=True):
            position |= dict.fromkeys(unit, started_by * (end_s - duration_s) / until_s[-1])
    items.sort(key=position.__getitem__)


def _started_by(unit: list[pytest.Item]) -> float:
    if unit[0].get_closest_marker("xdist_group"):
        return _GROUPS
    waits = any(unit[0].path.is_relative_to(folder) for folder in _WAIT_FOR_SLURM)
    return _WAITING if waits else _OTHERS


class Recorder:
    """Adds up the time of each group, and of the cases of each test that is in no group."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._took_s: defaultdict[str, float] = defaultdict(float)
        self._cases: defaultdict[str, set[str]] = defaultdict(set)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the time of one phase of a test, whose name ends with that of its group, if any."""
        test, _, group = report.nodeid.partition("@")
        name = f"@{group}" if group else test.partition("[")[0]
        self._took_s[name] += report.duration
        self._cases[name].add("" if group else test)

    def pytest_sessionfinish(self) -> None:
        """Write the file, with the mean of the cases of a test."""
        took_s = {name: took_s / len(self._cases[name]) for name, took_s in sorted(self._took_s.items())}
        found = {name: round(mean_s, 1) for name, mean_s in took_s.items() if mean_s >= _LEAST_S}
        DURATIONS.write_text(f"{json.dumps(found, indent=0)}\n", encoding="ascii")
