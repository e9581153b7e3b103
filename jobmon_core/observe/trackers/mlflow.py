"""Read the runs of MLflow: of its SQLite database, and of its folders of files.

Formats: those of mlflow 3.17 (store/tracking/dbmodels/models.py and file_store.py of
https://github.com/mlflow/mlflow). A file of metrics has a line for each value: milliseconds, value, step.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.logs.tracker import Tracker, TrackerRun
from jobmon_core.observe.logs.open_file import read_regular
from jobmon_core.observe.logs.scan_dirs import ScanBudget, find_files
from jobmon_core.observe.trackers.building import (
    Limits,
    RunBuilder,
    real_of,
    short,
    sound_time,
    status_of,
    total_in,
)
from jobmon_core.observe.trackers.databases import Tables, look_at, rows
from jobmon_core.observe.trackers.files import Look, files_below, look_at_groups

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from jobmon_core.domain.logs.tracker import Cursor
    from jobmon_core.observe.logs.scan_dirs import FoundFile
    from jobmon_core.observe.trackers.databases import Row
    from jobmon_core.observe.trackers.files import Found, OpenFile

_NUMBERS = {"1": "RUNNING", "2": "SCHEDULED", "3": "FINISHED", "4": "FAILED", "5": "KILLED"}  # in meta.yaml
_INFINITE = 1.797e308  # the database has the largest float in place of an infinite one
_DATABASE, _META, _METRICS = "mlflow.db", "meta.yaml", "metrics"
_LEVELS = 4  # from the folder with mlruns down to a run's
_MAX_META, _MAX_PARAM = 2**16, 2**10  # bytes
_TAIL = 2**16  # bytes of a file of metrics that is too long
_LINE_FIELDS = 3
_OF_METRICS = "SELECT rowid, run_uuid, key, value, timestamp, step, is_nan FROM metrics WHERE"
_LATEST = "SELECT 0, run_uuid, key, value, timestamp, step, is_nan FROM latest_metrics WHERE run_uuid = ?"


def look(place: str, before: Cursor | None, limits: Limits) -> Found:
    """Return the runs at ``place``: a database, a folder with mlflow.db, or one in or around mlruns."""
    this = Look(place, before, limits)
    # another database in a folder is of another program
    databases = files_below(place, lambda name: name == _DATABASE or place.endswith(f"/{name}"), levels=1)
    look_at(databases, _TABLES, this)
    return look_at_groups(this, _META.__eq__, _LEVELS, lambda meta: os.path.dirname(meta.path), _run_in_files)  # noqa: PTH120 - a text


def _described(database: sqlite3.Connection, run: TrackerRun, limits: Limits) -> TrackerRun | None:
    query = "SELECT name, status, start_time, end_time, lifecycle_stage FROM runs WHERE run_uuid = ?"
    for name, status, start_ms, end_ms, stage in rows(database, query, run.run_id, at_most=1):
        if stage == "deleted":
            return None
        now = described(run, limits, name, status, start_ms, end_ms)
        if run.started_s is None:
            query = "SELECT key, value FROM params WHERE run_uuid = ?"
            params = rows(database, query, run.run_id, at_most=1_000)
            now = replace(now, total_steps=total_in({str(key): value for key, value in params}))
        return now
    return None


def _fold(builder: RunBuilder, row: Row) -> None:
    _, _, key, value, time_ms, step, is_nan = row
    number = math.nan if is_nan else real_of(value)
    if number is not None and abs(number) >= _INFINITE:
        number = math.copysign(math.inf, number)
    builder.add(str(key), number, step, seconds(time_ms))


_TABLES = Tables(
    Tracker.MLFLOW,
    "SELECT run_uuid FROM runs ORDER BY rowid DESC",
    f"{_OF_METRICS} rowid > ? ORDER BY rowid DESC",
    (f"{_OF_METRICS} run_uuid = ? ORDER BY rowid DESC", _LATEST),
    _described,
    _fold,
)


def described(run: TrackerRun, limits: Limits, name: object, status: object, *times_ms: object) -> TrackerRun:
    """Return a run with what MLflow says now: a word, and when it started and ended."""
    return replace(
        run,
        name=short(name, limits.max_name),
        status=status_of(status),
        started_s=seconds(times_ms[0]),
        ended_s=seconds(times_ms[1]),
    )


def seconds(time_ms: object) -> float | None:
    """Return the time of MLflow's milliseconds, a number or its text."""
    number = real_of(time_ms)
    return None if number is None else sound_time(number / 1000)


def _run_in_files(folder: str, _metas: list[FoundFile], this: Look) -> TrackerRun | None:
    """Return the run in a folder; None if it holds an experiment or a deleted run."""
    meta = _settings(read_regular(f"{folder}/{_META}", _MAX_META) or b"")
    run_id = short(meta.get("run_id") or meta.get("run_uuid"), this.limits.max_name)
    if not run_id or meta.get("lifecycle_stage") == "deleted":
        return None
    metrics = f"{folder}/{_METRICS}"
    files = find_files(metrics, lambda _: True, ScanBudget(), levels=2)[: this.limits.max_metrics]
    known = this.known(run_id, files)
    run = known or TrackerRun(Tracker.MLFLOW, run_id, place=folder, total_steps=_total(folder))
    status, times_ms = meta.get("status", ""), (meta.get("start_time"), meta.get("end_time"))
    run = described(run, this.limits, meta.get("run_name"), _NUMBERS.get(status, status), *times_ms)
    builder = RunBuilder(run, this.limits)
    lines = [_MetricReader(builder, file.path[len(metrics) + 1 :]) for file in files]
    whys = [this.read_on(file, known, each.read) for file, each in zip(files, lines, strict=True)]
    return builder.built(*whys)


def _total(folder: str) -> int | None:
    """Return how many steps the parameters of a run announce."""
    files = find_files(f"{folder}/params", lambda _: True, ScanBudget(), levels=1)[:100]
    texts = ((read_regular(file.path, _MAX_PARAM) or b"").decode("utf-8", "replace") for file in files)
    return total_in({file.path.rpartition("/")[2]: text for file, text in zip(files, texts, strict=True)})


def _settings(content: bytes) -> dict[str, str]:
    """Return the entries of a YAML file that are on one line, as texts without quotes."""
    pairs = (line.partition(":") for line in content.decode("utf-8", "replace").splitlines())
    return {
        name: value.strip().strip("'\"") for name, colon, value in pairs if colon and name == name.strip()
    }


@dataclass(frozen=True, slots=True)
class _MetricReader:
    builder: RunBuilder
    key: str

    def read(self, file: OpenFile, start: int) -> Iterator[int]:
        """Read the lines from ``start``, of a very long file the last ones; yield where they end."""
        begin = max(start, file.size - _TAIL)
        data = file.read_at(begin, _TAIL)
        end = data.rfind(b"\n") + 1
        lines = data[:end].decode("utf-8", "replace").splitlines()
        if begin > start:
            del lines[:1]  # it may be a part of one
        for line in lines:
            words = line.split()[:_LINE_FIELDS]
            if len(words) == _LINE_FIELDS:
                self.builder.add(self.key, words[1], words[2], seconds(words[0]))
        yield begin + end
