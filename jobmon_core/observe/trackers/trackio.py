"""Read the metrics and alerts that Trackio keeps in a SQLite database for each project.

Format: that of trackio 0.43 (sqlite_storage.py of https://github.com/gradio-app/trackio); JSON is in blobs. A
run has no end there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.domain.finding import Severity
from jobmon_core.domain.logs.tracker import Tracker, TrackerAlert
from jobmon_core.observe.trackers.building import real_of, short, sound_step, step_in, total_in
from jobmon_core.observe.trackers.databases import look_at
from jobmon_core.observe.trackers.files import Look, files_below
from jobmon_core.observe.trackers.json_values import flat, object_of, time_of
from jobmon_core.observe.trackers.sqlite import rows

if TYPE_CHECKING:
    import sqlite3

    from jobmon_core.domain.logs.tracker import Cursor, TrackerRun
    from jobmon_core.observe.trackers.building import Limits, RunBuilder
    from jobmon_core.observe.trackers.databases import Row

_LEVELS = {"info": Severity.INFO, "warn": Severity.WARNING, "error": Severity.CRITICAL}
_ALERTS = (
    "SELECT alert_id, id, title, text, level, step, timestamp FROM alerts WHERE run_id = ? ORDER BY id DESC"
)


def look(place: str, before: Cursor | None, limits: Limits) -> tuple[tuple[TrackerRun, ...], Cursor]:
    """Return the runs of the projects at ``place``, a database or a folder with some."""
    this = Look(place, before, limits)
    look_at(files_below(place, lambda name: name.endswith(".db"), levels=1), _Tables(), this)
    return this.result()


class _Tables:
    tracker = Tracker.TRACKIO

    def newest(self, database: sqlite3.Connection, at_most: int) -> list[str]:
        found = rows(database, "SELECT run_id FROM configs ORDER BY id DESC", at_most=at_most)
        return [run_id for (run_id,) in found if isinstance(run_id, str)]

    def describe(self, database: sqlite3.Connection, run: TrackerRun, limits: Limits) -> TrackerRun:
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

    def since(self, database: sqlite3.Connection, number: int, at_most: int) -> list[Row]:
        query = "SELECT id, run_id, step, timestamp, metrics FROM metrics WHERE id > ? ORDER BY id DESC"
        return rows(database, query, number, at_most=at_most)

    def of_run(self, database: sqlite3.Connection, run_id: str, at_most: int) -> list[Row]:
        query = (
            "SELECT id, run_id, step, timestamp, metrics FROM metrics WHERE run_id = ? "
            "ORDER BY timestamp DESC, id DESC"
        )
        return rows(database, query, run_id, at_most=at_most)

    def fold(self, builder: RunBuilder, row: Row) -> None:
        _, _, step, timestamp, metrics = row
        time_s, record = time_of(timestamp), flat(object_of(metrics))
        step = step_in(record, sound_step(real_of(step)))
        builder.reach(step, time_s)
        for name, value in record.items():
            if (number := real_of(value)) is not None:
                builder.add(short(name, builder.limits.max_name), number, step, time_s)


def _alert(row: Row, limits: Limits) -> TrackerAlert:
    alert_id, number, title, text, level, step, timestamp = row
    return TrackerAlert(
        short(alert_id, limits.max_name) or str(number),
        short(title, limits.max_text),
        short(text, limits.max_text),
        _LEVELS.get(str(level), Severity.WARNING),
        sound_step(real_of(step)),
        time_of(timestamp),
    )
