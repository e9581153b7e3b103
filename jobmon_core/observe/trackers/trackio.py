"""Read the metrics and alerts that Trackio keeps in a SQLite database for each project.

Format: that of trackio 0.43 (sqlite_storage.py of https://github.com/gradio-app/trackio); JSON is in blobs. A
run has no end there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.finding import Severity
from jobmon_core.domain.logs.tracker import TrackerAlert
from jobmon_core.observe.trackers.databases import Tables, look_at, rows
from jobmon_core.observe.trackers.values import (
    MAX_TEXT,
    add_record,
    flat,
    object_of,
    short,
    step_of,
    time_of,
    total_in,
)

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterator

    from jobmon_core.domain.logs.tracker import TrackerRun
    from jobmon_core.observe.trackers.databases import Row
    from jobmon_core.observe.trackers.files import Look

_LEVELS = {"info": Severity.INFO, "warn": Severity.WARNING, "error": Severity.CRITICAL}
_MAX_ALERTS = 32
_ALERTS = (  # an alert that was sent without an id of its own has the number of its row
    "SELECT COALESCE(NULLIF(alert_id, ''), CAST(id AS TEXT)), title, text, level, step, timestamp FROM alerts"
    " WHERE run_id = ? ORDER BY id DESC"
)
_METRICS = "SELECT id, step, timestamp, metrics FROM metrics WHERE"


def look(this: Look) -> Iterator[TrackerRun]:
    """Yield the runs of the projects at a place, a database or a folder with some."""
    yield from look_at(this.files(lambda name: name.endswith(".db"), levels=1), _TABLES, this)


def _describe(database: sqlite3.Connection, run: TrackerRun) -> bool:
    query = "SELECT run_name, config, created_at FROM configs WHERE run_id = ?"
    for name, config, created in rows(database, query, run.run_id, at_most=1):
        settings = object_of(config)
        run.name, run.total_steps = short(name), total_in(settings) or run.total_steps
        began_s = time_of(settings.get("_Created")) or time_of(created)
        if began_s != (run.resumed_s or run.started_s):
            run.start(began_s)
    alerts = rows(database, _ALERTS, run.run_id, at_most=_MAX_ALERTS)
    run.alerts = tuple(map(_alert, reversed(alerts)))
    return True


def _note(run: TrackerRun, row: Row) -> None:
    _, step, timestamp, metrics = row
    add_record(run, flat(object_of(metrics)), step, time_of(timestamp))


def _alert(row: Row) -> TrackerAlert:
    name, title, text, level, step, timestamp = row
    severity = _LEVELS.get(str(level), Severity.WARNING)
    texts = short(title, MAX_TEXT), short(text, MAX_TEXT)
    return TrackerAlert(short(name), *texts, severity, step_of(step), time_of(timestamp))


_TABLES = Tables(
    "SELECT DISTINCT run_id FROM (SELECT run_id FROM metrics ORDER BY id DESC LIMIT 500)"
    " UNION ALL SELECT * FROM (SELECT run_id FROM configs ORDER BY id DESC LIMIT 8)",
    f"{_METRICS} run_id = ? ORDER BY timestamp DESC, id DESC",
    f"{_METRICS} +run_id = ? AND id > ? ORDER BY id DESC",
    _describe,
    _note,
)
