"""One look at the databases of a tracker: what was added since the last one."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from jobmon_core.domain.logs.tracker import Position, TrackerRun
from jobmon_core.observe.logs.open_file import Unreadable
from jobmon_core.observe.trackers.building import RunBuilder
from jobmon_core.observe.trackers.files import Look, position
from jobmon_core.observe.trackers.sqlite import ask
from jobmon_core.system.filesystem import Filesystem

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence

    from jobmon_core.domain.logs.tracker import Tracker
    from jobmon_core.observe.logs.scan_dirs import FoundFile
    from jobmon_core.observe.trackers.building import Limits

Row = tuple[object, ...]  # its number, and the id of its run; then what it says

_MAX_ROWS = 5_000  # of all runs, the latest
_MAX_ROWS_OF_RUN = 500  # of one that is new to jobmon


class Tables(Protocol):
    """How a tracker lays out its database. All methods may raise sqlite3.Error."""

    tracker: Tracker

    def newest(self, database: sqlite3.Connection, at_most: int) -> list[str]:
        """Return the ids of the runs that began last."""

    def describe(self, database: sqlite3.Connection, run: TrackerRun, limits: Limits) -> TrackerRun | None:
        """Return a run with what the tracker says about it now, but its metrics; None if it is gone."""

    def since(self, database: sqlite3.Connection, number: int, at_most: int) -> list[Row]:
        """Return the last rows of metrics after that with this number, the latest first."""

    def of_run(self, database: sqlite3.Connection, run_id: str, at_most: int) -> list[Row]:
        """Return the last rows of a run, the latest first."""

    def fold(self, builder: RunBuilder, row: Row) -> None:
        """Note what a row says."""


def look_at(
    files: Sequence[FoundFile],
    tables: Tables,
    this: Look,
    filesystem_of: Callable[[Path], Filesystem] = Filesystem.of,
) -> None:
    """Add the runs of the databases that were written last."""
    newest = sorted(files, key=lambda file: -file.modified_ns)
    for file in newest[: this.limits.max_runs]:
        known = this.runs_at(file)
        now = position(file)
        before = this.position_before(file) if known else Position()
        is_same = now == before._replace(offset=0) and not Path(f"{file.path}-wal").exists()
        if is_same and known:
            this.keep(file, before, known)
            continue
        question = _Question(tables, file.path, known, before.offset, this.limits)
        try:
            number, runs = ask(file.path, question.ask, filesystem_of)
        except Unreadable as error:
            why = f"{os.path.basename(file.path)} {error}"  # noqa: PTH119 - a text
            unread = known or [TrackerRun(tables.tracker, "", place=file.path)]
            # without the stamp, so that it is read again
            this.keep(file, Position(before.offset, now.inode), [replace(run, partial=why) for run in unread])
        else:
            this.keep(file, now._replace(offset=number), runs)


@dataclass(frozen=True, slots=True)
class _Question:
    """What is new in a database."""

    tables: Tables
    place: str
    known: Sequence[TrackerRun]
    number: int  # of the last row that is known
    limits: Limits

    def ask(self, database: sqlite3.Connection) -> tuple[int, list[TrackerRun]]:
        """Return the number of the last row, and the runs."""
        rows = self.tables.since(database, self.number, _MAX_ROWS if self.number else 1)
        last = max([self.number, *(row[0] for row in rows if isinstance(row[0], int))])
        writing = [row[1] for row in rows if isinstance(row[1], str)]
        newest = self.tables.newest(database, self.limits.max_runs)
        wanted = list(dict.fromkeys([*writing, *newest]))[: self.limits.max_runs]
        found = (self._run(database, run_id, rows) for run_id in wanted)
        return last, [run for run in found if run is not None]

    def _run(self, database: sqlite3.Connection, run_id: str, rows: Sequence[Row]) -> TrackerRun | None:
        before = next((run for run in self.known if run.run_id == run_id), None)
        run = before or TrackerRun(self.tables.tracker, run_id, place=self.place)
        now = self.tables.describe(database, run, self.limits)
        if now is None:
            return None
        builder = RunBuilder(replace(now, partial=""), self.limits)
        if before is None:
            rows = self.tables.of_run(database, run_id, _MAX_ROWS_OF_RUN)
        for row in reversed(rows):
            if row[1] == run_id:
                self.tables.fold(builder, row)
        return builder.built()
