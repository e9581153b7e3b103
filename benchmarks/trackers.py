"""Measure what a look at the files of three live trackers costs: time, memory, and what it keeps.

It needs nothing but jobmon::

    .venv/bin/python benchmarks/trackers.py

A run of TensorBoard, one of W&B and one of ten in MLflow's database have 20,000 steps of three scalars;
between two looks, each gets 30 steps more, 90 values: as of a program that logs each second, and a look in
the usual interval of 30 s. (The Trainer logs each 500th step unless told otherwise, Lightning each 50th.) A
look begins with the JSON that the last one left. Bounds: at most 5 ms of CPU time and 1 MB of memory for all
three. The exit status is 1 if a bound does not hold. What twice as many values cost is measured, too.
"""

from __future__ import annotations

import json
import sqlite3
import statistics
import sys
import tempfile
import time
import tracemalloc
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from benchmarks.figures import Figure, report
from benchmarks.options import options_parser
from jobmon_core.domain.logs.tracker import Tracker, TrackerRun
from jobmon_core.observe.trackers.readers import look
from jobmon_core.system.json_codec import from_json, to_json
from tests.support.event_files import first_event, record, scalar_event
from tests.support.wandb_files import file_of, history_record, run_record

_STEPS, _NEW = 20_000, 30
_NAMES = ("train/loss", "lr", "grad_norm")
_T0 = 1_800_000_000
_SCHEMA = """
CREATE TABLE runs (run_uuid PRIMARY KEY, name, status, start_time, end_time, lifecycle_stage);
CREATE TABLE params (key, value, run_uuid);
CREATE TABLE latest_metrics (key, value, timestamp, step, is_nan, run_uuid);
CREATE TABLE metrics (key, value, timestamp, run_uuid, step, is_nan);
CREATE INDEX index_metrics_run_uuid ON metrics (run_uuid);
"""


def main() -> int:
    """Print the figures; return 0 if all bounds hold."""
    options = options_parser(__doc__, repeats=(31, "how often a look is measured")).parse_args()
    with tempfile.TemporaryDirectory(prefix="jobmon-benchmark-") as name:
        return report(measured(Path(name), options.repeats), as_json=options.json)


def measured(folder: Path, repeats: int) -> list[Figure]:
    """Return the figures."""
    tracked = Tracked(folder)
    started_s = time.process_time()
    stored = looks(folder, {})
    first_ms = 1000 * (time.process_time() - started_s)
    times_ms: dict[str, list[float]] = {tracker: [] for tracker in stored}
    twice_ms: dict[str, list[float]] = {tracker: [] for tracker in stored}
    for _ in range(repeats):
        for factor, found_ms in ((1, times_ms), (2, twice_ms)):
            tracked.go_on(factor * _NEW)
            stored = looks(folder, stored, found_ms)
    tracked.go_on()
    tracemalloc.start()
    looks(folder, stored)
    peak = tracemalloc.get_traced_memory()[1]
    return [
        Figure("three live runs: CPU of a look, ms", _median_of_all(times_ms), at_most=5),
        Figure("three live runs: with twice as many values, ms", _median_of_all(twice_ms)),
        *(
            Figure(f"{tracker}: CPU of a look, ms", statistics.median(each))
            for tracker, each in times_ms.items()
        ),
        Figure("three live runs: memory of a look, MB", peak / 1e6, at_most=1),
        Figure("three live runs: kept between looks, kB", sum(map(len, stored.values())) / 1e3),
        Figure("three runs of 20,000 steps: CPU of the first look, ms", first_ms),
    ]


def _median_of_all(times_ms: dict[str, list[float]]) -> float:
    return statistics.median(map(sum, zip(*times_ms.values(), strict=True)))


def looks(
    folder: Path, stored: dict[str, str], times_ms: dict[str, list[float]] | None = None
) -> dict[str, str]:
    """Look at the three places, from what was stored; return what is to be stored."""
    after = {}
    for tracker in (Tracker.TENSORBOARD, Tracker.WANDB, Tracker.MLFLOW):
        started_s = time.process_time()
        before = from_json(tuple[TrackerRun, ...], json.loads(stored.get(tracker, "[]")))
        runs = look(tracker, str(folder / tracker), before)
        after[str(tracker)] = json.dumps(to_json(tuple(replace(run, losses=()) for run in runs)))
        if times_ms is not None:
            times_ms[tracker].append(1000 * (time.process_time() - started_s))
        if not runs:
            raise SystemExit(f"{tracker}: found no run")
    return after


class Tracked:
    """Three runs that go on."""

    def __init__(self, folder: Path) -> None:
        """Log the first steps, below this folder."""
        self._events = folder / "tensorboard" / "events.out.tfevents.1800000000.n1.7.0"
        self._wandb = folder / "wandb" / "run-abc.wandb"
        self._mlflow = folder / "mlflow" / "mlflow.db"
        for path in (self._events, self._wandb, self._mlflow):
            path.parent.mkdir()
        self._events.write_bytes(record(first_event(_T0)))
        self._records = [run_record("abc", _T0, {"max_steps": 10**6})]
        with closing(sqlite3.connect(self._mlflow)) as database, database:
            database.executescript(_SCHEMA)
            values = [(f"run{number}", "", "RUNNING", _T0 * 1000, None, "active") for number in range(10)]
            database.executemany("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)", values)
        self._step = 0
        self.go_on(_STEPS)

    def go_on(self, steps: int = _NEW) -> None:
        """Log some steps more."""
        new = range(self._step, self._step + steps)
        with self._events.open("ab") as file:
            for step in new:
                file.writelines(
                    record(scalar_event(name, 1 / (step + 1), step, _T0 + step)) for name in _NAMES
                )
        self._records += [
            history_record(**dict.fromkeys(_NAMES, 1 / (step + 1)), _step=step, _timestamp=_T0 + step)
            for step in new
        ]
        self._wandb.write_bytes(file_of(*self._records))
        rows = [
            (name, 1 / (step + 1), (_T0 + step) * 1000, "run7", step, 0) for step in new for name in _NAMES
        ]
        with closing(sqlite3.connect(self._mlflow)) as database, database:
            database.executemany("INSERT INTO metrics VALUES (?, ?, ?, ?, ?, ?)", rows)
        self._step += steps


if __name__ == "__main__":
    sys.exit(main())
