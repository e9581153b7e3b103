"""Read the runs of MLflow: of its SQLite database, and of its folders of files.

Formats: those of mlflow 3.17 (store/tracking/dbmodels/models.py and file_store.py of
https://github.com/mlflow/mlflow). A file of metrics has a line for each value: milliseconds, value, step.
"""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

from jobmon_core.domain.logs.tracker import TrackerRun
from jobmon_core.observe.logs.open_file import Unreadable, read_regular, regular_file
from jobmon_core.observe.logs.scan_dirs import ScanBudget, find_files
from jobmon_core.observe.trackers.databases import Tables, look_at, rows
from jobmon_core.observe.trackers.values import add, real_of, short, sound_time, status_of, total_in

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from jobmon_core.observe.trackers.databases import Row
    from jobmon_core.observe.trackers.files import Look

_NUMBERS = {"1": "RUNNING", "2": "SCHEDULED", "3": "FINISHED", "4": "FAILED", "5": "KILLED"}  # in meta.yaml
_INFINITE = 1.797e308  # the database has the largest float in place of an infinite one
_DATABASE, _META = "mlflow.db", "meta.yaml"
_LEVELS = 4  # from the folder with mlruns down to a run's
_MAX_FILES = 100  # of metrics, and of parameters
_MAX_META, _MAX_PARAM = 2**16, 2**10  # bytes
_TAIL = 2**12  # bytes of a file of metrics, at its end: some hundred values
_LINE_FIELDS = 3


def look(this: Look) -> Iterator[TrackerRun]:
    """Yield the runs at a place: a database, a folder with mlflow.db, or one in or around mlruns."""
    # another database in a folder is of another program
    databases = this.files(lambda name: name == _DATABASE or this.place.endswith(f"/{name}"), levels=1)
    yield from look_at(databases, _TABLES, this)
    for folder, _ in this.groups(_META.__eq__, _LEVELS, os.path.dirname):
        meta = _settings(read_regular(f"{folder}/{_META}", _MAX_META) or b"")
        run_id = short(meta.get("run_id") or meta.get("run_uuid"))  # an experiment has none
        if run_id and meta.get("lifecycle_stage") != "deleted":
            yield _run_in_files(TrackerRun(this.tracker, run_id, place=folder, chosen=this.chosen), meta)


def describe(run: TrackerRun, name: object, status: object, start_ms: object) -> None:
    """Note what MLflow says now of a run: a word, and when it started."""
    run.name, run.status, run.started_s = short(name), status_of(status), seconds(start_ms)


def seconds(time_ms: object) -> float | None:
    """Return the time of MLflow's milliseconds, a number or its text."""
    number = real_of(time_ms)
    return None if number is None else sound_time(number / 1000)


def _describe(database: sqlite3.Connection, run: TrackerRun) -> bool:
    query = "SELECT name, status, start_time, lifecycle_stage FROM runs WHERE run_uuid = ?"
    for *values, stage in rows(database, query, run.run_id, at_most=1):
        describe(run, *values)
        if run.total_steps is None:
            query = "SELECT key, value FROM params WHERE run_uuid = ?"
            params = rows(database, query, run.run_id, at_most=1_000)
            run.total_steps = total_in({str(key): value for key, value in params})
        return stage != "deleted"
    return False


def _note(run: TrackerRun, row: Row) -> None:
    _, key, value, time_ms, step, is_nan = row
    number = math.nan if is_nan else real_of(value)
    if number is not None and abs(number) >= _INFINITE:
        number = math.copysign(math.inf, number)
    add(run, str(key), number, step, seconds(time_ms))


_OF_RUN = "SELECT rowid, key, value, timestamp, step, is_nan FROM metrics WHERE run_uuid = ?"
_TABLES = Tables(
    "SELECT DISTINCT run_uuid FROM (SELECT run_uuid FROM metrics ORDER BY rowid DESC LIMIT 500)"
    " UNION ALL SELECT * FROM (SELECT run_uuid FROM runs ORDER BY rowid DESC LIMIT 8)",
    f"{_OF_RUN} ORDER BY rowid DESC",
    f"{_OF_RUN} AND rowid > ? ORDER BY rowid DESC",
    _describe,
    _note,
)


def _run_in_files(run: TrackerRun, meta: dict[str, str]) -> TrackerRun:
    status = meta.get("status", "")
    describe(run, meta.get("run_name"), _NUMBERS.get(status, status), meta.get("start_time"))
    texts = ((name, read_regular(path, _MAX_PARAM) or b"") for name, path in _files(f"{run.place}/params"))
    run.total_steps = total_in({name: text.decode("utf-8", "replace") for name, text in texts})
    for name, path in _files(f"{run.place}/metrics"):
        try:
            lines = _last_lines(path)
        except Unreadable as error:
            run.partial = f"metrics/{name} {error}"
            continue
        for words in map(str.split, lines):
            if len(words) >= _LINE_FIELDS:
                add(run, name, words[1], words[2], seconds(words[0]))
    return run


def _files(folder: str) -> Iterator[tuple[str, str]]:
    """Yield the names and paths of files; a name may hold slashes."""
    for file in find_files(folder, lambda _: True, ScanBudget(), levels=3)[:_MAX_FILES]:
        yield file.path[len(folder) + 1 :], file.path


def _last_lines(path: str) -> list[str]:
    """Return the whole lines at the end of a file. Raise Unreadable."""
    with regular_file(path) as file:
        begin = max(0, file.size - _TAIL)
        data = file.read_at(begin, _TAIL)
    lines = data[: data.rfind(b"\n") + 1].decode("utf-8", "replace").splitlines()
    return lines[1:] if begin else lines  # the first may be a part of one


def _settings(content: bytes) -> dict[str, str]:
    """Return the entries of a YAML file that are on one line, as texts without quotes."""
    pairs = (line.partition(":") for line in content.decode("utf-8", "replace").splitlines())
    return {
        name: value.strip().strip("'\"") for name, colon, value in pairs if colon and name == name.strip()
    }
