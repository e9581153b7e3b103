"""Read the metrics and alerts that Trackio keeps in a SQLite database for each project.

Format: that of trackio 0.43 (sqlite_storage.py of https://github.com/gradio-app/trackio); JSON is in blobs. A
run has no end there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.domain.finding import Severity
from jobmon_core.domain.logs.tracker import Tracker, TrackerAlert
from jobmon_core.observe.trackers.building import flat, object_of, short, step_of, time_of, total_in
from jobmon_core.observe.trackers.databases import Tables, look_at, rows
from jobmon_core.observe.trackers.files import Look, files_below

if TYPE_CHECKING:
    import sqlite3

    from jobmon_core.domain.logs.tracker import Cursor, TrackerRun
    from jobmon_core.observe.trackers.building import Limits, RunBuilder
    from jobmon_core.observe.trackers.databases import Row
    from jobmon_core.observe.trackers.files import Found

_LEVELS = {"info": Severity.INFO, "warn": Severity.WARNING, "error": Severity.CRITICAL}
_ALERTS = (
    "SELECT alert_id, id, title, text, level, step, timestamp FROM alerts WHERE run_id = ? ORDER BY id DESC"
)
_METRICS = "SELECT id, run_id, step, timestamp, metrics FROM metrics WHERE"


def look(place: str, before: Cursor | None, limits: Limits) -> Found:
    """Return the runs of the projects at ``place``, a database or a folder with some."""
    this = Look(place, before, limits)
    look_at(files_below(place, lambda name: name.endswith(".db"), levels=1), _TABLES, this)
    return this.result()


def _described(database: sqlite3.Connection, run: TrackerRun, limits: Limits) -> TrackerRun:
    query = "SELECT run_name, config, created_at FROM configs WHERE run_id = ?"
    for name, config, created in rows(database, query, run.run_id, at_most=1):
        settings = object_of(config)
        began_s = time_of(settings.get("_Created")) or time_of(created)
        run = replace(
            run,
            name=short(name, limits.max_name),
            total_steps=total_in(settings) or run.total_steps,
            started_s=run.started_s or began_s,
        )
        if began_s and run.started_s and began_s > run.started_s:
            run = replace(run, resumed_s=began_s)
    alerts = rows(database, _ALERTS, run.run_id, at_most=limits.max_alerts)
    return replace(run, alerts=tuple(_alert(row, limits) for row in reversed(alerts)))


def _fold(builder: RunBuilder, row: Row) -> None:
    _, _, step, timestamp, metrics = row
    builder.add_record(flat(object_of(metrics)), step, time_of(timestamp))


def _alert(row: Row, limits: Limits) -> TrackerAlert:
    alert_id, number, title, text, level, step, timestamp = row
    return TrackerAlert(
        short(alert_id, limits.max_name) or str(number),
        short(title, limits.max_text),
        short(text, limits.max_text),
        _LEVELS.get(str(level), Severity.WARNING),
        step_of(step),
        time_of(timestamp),
    )


_TABLES = Tables(
    Tracker.TRACKIO,
    "SELECT run_id FROM configs ORDER BY id DESC",
    f"{_METRICS} id > ? ORDER BY id DESC",
    (f"{_METRICS} run_id = ? ORDER BY timestamp DESC, id DESC",),
    _described,
    _fold,
)
