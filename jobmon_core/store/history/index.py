"""The index of the history: what filters and totals need of each line, and where the line is.

It lies beside the lines on a local disk only. SQLite's locks do not hold on all network file systems
(sqlite.org/howtocorrupt.html, section 2.1), so there it lives in memory, for the time of a command.
What reads lines raises StorageFailed if that is not possible.
"""

from __future__ import annotations

import gc
import json
import os
import sqlite3
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from operator import attrgetter
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.job.history.record import HistoryKey, HistoryRecord
from jobmon_core.domain.job.history.totals import RunTotals, by_node
from jobmon_core.domain.slurm.rows import node_names
from jobmon_core.store.history.lines import MAX_LINE_BYTES, read_lines
from jobmon_core.system.files import open_private, remove_file
from jobmon_core.system.filesystem import Filesystem, LockScope

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jobmon_core.domain.job.history.totals import Wanted

_VERSION = 4  # one of another version is made anew
_BUSY_TIMEOUT_S = 10.0  # for another command that updates the index
_HOUR_S = 3600.0
_KEY = ("cluster", "job_id", "task", "submit_s")
# columns as they are called in a record, but for "grp"; then those that `_row` adds
_OF_RECORD = (
    *_KEY,
    *("ended_s", "wait_s", "name", "group", "run", "lineage", "script", "state", "outcome", "doubtful"),
    *("cause", "nodes", "run_s", "gpu_hours", "cpu_hours", "cost", "currency", "deleted"),
)
_COLUMNS = (
    *(name.replace("group", "grp") for name in _OF_RECORD),
    *("own", "noted_s", "file", "place", "idle_gpu_hours"),
)
_SCHEMA = (
    "CREATE TABLE files (name PRIMARY KEY, read, damaged)",
    f"CREATE TABLE runs ({', '.join(_COLUMNS)}, PRIMARY KEY ({', '.join(_KEY)})) WITHOUT ROWID",
    "CREATE INDEX by_end ON runs (ended_s)",
    f"PRAGMA user_version = {_VERSION}",
)
# a later line corrects an earlier one, but one from accounting never corrects our own
_ADD = f"""
INSERT INTO runs VALUES ({", ".join("?" * len(_COLUMNS))})
ON CONFLICT DO UPDATE SET {", ".join(f"{each} = excluded.{each}" for each in _COLUMNS)}
WHERE (excluded.own, excluded.noted_s) >= (runs.own, runs.noted_s)
"""  # noqa: S608 - our own words
_ADD_FILE = (
    "INSERT INTO files VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET read = ?2, damaged = damaged + ?3"
)
_THURSDAY = "ended_s, 'unixepoch', 'localtime', '-3 days', 'weekday 4'"
_LABELS = {
    **{each: each for each in ("name", "cause", "state")},
    "node": "nodes",
    "group": "grp",
    "day": "strftime('%Y-%m-%d', ended_s, 'unixepoch', 'localtime')",
    # of ISO, by its Thursday: no week ends with the year
    "week": f"strftime('%Y-W', {_THURSDAY}) || printf('%02d', (strftime('%j', {_THURSDAY}) + 6) / 7)",
    "month": "strftime('%Y-%m', ended_s, 'unixepoch', 'localtime')",
}
_PLACE = "(SELECT name FROM files WHERE files.rowid = file), place"
# runs without a price count in one of the currencies
_CURRENCY = "coalesce(nullif(currency, ''), (SELECT max(currency) FROM runs))"
_TESTS = {
    "since_s": "ended_s >= :since_s",
    "until_s": "ended_s < :until_s",
    "name": "(name GLOB :name OR run GLOB :name)",
    "group": "grp GLOB :group",
    "state": "(state = upper(:state) OR outcome = lower(:state) OR doubtful AND lower(:state) = 'doubtful')",
    "cause": "cause GLOB :cause",
    "node": "on_node(nodes, :node)",
    "script": "script = :script",
    "outcome": "outcome = :outcome",
    "lineage": "lineage = :lineage",
    "job_id": "job_id = :job_id",
    "task": "task = :task",
}
_KNOWN = frozenset(HistoryRecord._fields)
_values = attrgetter(*_OF_RECORD)


class _Outdated(Exception):
    """The index cannot be continued."""


@dataclass(frozen=True, slots=True)
class History:
    """The history at one moment."""

    folder: Path
    index: sqlite3.Connection

    @property
    def damaged(self) -> int:
        """The number of lines that cannot be read."""
        return int(self.index.execute("SELECT coalesce(sum(damaged), 0) FROM files").fetchone()[0])

    def records(self, wanted: Wanted, limit: int = -1, sort: str = "ended_s") -> list[HistoryRecord]:
        """Return the records of the wanted runs, at most ``limit`` unless negative.

        The first ones have the highest values in the column ``sort``, see `SORTS`.
        """
        where, values = _where(wanted)
        query = f"SELECT {_PLACE} FROM runs WHERE {where} ORDER BY {sort} DESC LIMIT :limit"  # noqa: S608 - our own words
        return read_lines(self.folder, self.index.execute(query, {**values, "limit": limit}).fetchall())

    def keys(self, since_s: float) -> set[HistoryKey]:
        """The runs that ended since then (Unix seconds), also those that were deleted."""
        query = f"SELECT {', '.join(_KEY)} FROM runs WHERE ended_s >= ?"  # noqa: S608 - our own words
        return {*self.index.execute(query, (since_s,))}

    def totals(self, wanted: Wanted, by: str = "") -> list[RunTotals]:
        """Return what the wanted runs took: all together, or by one of `BY`; one more for each currency."""
        where, values = _where(wanted)
        query = f"""
            SELECT coalesce({_LABELS.get(by, "''")}, '') AS what, count(*), sum(outcome = 'success'),
                sum(outcome = 'failure'), sum(gpu_hours), sum(cpu_hours),
                sum(gpu_hours * (outcome != 'success')), sum(cpu_hours * (outcome != 'success')),
                sum(idle_gpu_hours), avg(wait_s), avg(run_s), max(ended_s), sum(cost), {_CURRENCY} AS money,
                count(cost)
            FROM runs WHERE {where} GROUP BY what, money"""  # noqa: S608 - our own words
        rows = [RunTotals(*row) for row in self.index.execute(query, values)]
        return by_node(rows) if by == "node" else rows


@contextmanager
def open_history(folder: Path) -> Iterator[History]:
    """Yield the history in a folder, see `Home.history`; it may be missing."""
    with closing(_index(folder)) as index:
        yield History(folder, index)


def _index(folder: Path) -> sqlite3.Connection:
    path = folder / "index.sqlite"
    if not folder.is_dir() or Filesystem.of(folder).lock_scope is not LockScope.DISK:
        return _updated(folder, None)
    try:
        return _updated(folder, path)
    except (sqlite3.OperationalError, OSError):  # the disk is full, or another command holds it
        return _updated(folder, None)
    except (sqlite3.DatabaseError, _Outdated):  # damaged, of another version, or lines were removed
        remove_file(path)
        return _updated(folder, path)


def _updated(folder: Path, path: Path | None) -> sqlite3.Connection:
    """Return the index after reading what was appended; without a path, a new one in memory."""
    if path is not None:
        os.close(open_private(path, os.O_RDWR))
    index = sqlite3.connect(path or ":memory:", timeout=_BUSY_TIMEOUT_S, isolation_level=None)
    try:
        index.create_function("on_node", 2, _on_node, deterministic=True)
        for pragma in ("synchronous = OFF", "journal_mode = MEMORY"):  # whatever is lost is made again
            index.execute(f"PRAGMA {pragma}")
        index.execute("BEGIN IMMEDIATE")
        _create_tables(index)
        gc.disable()  # there is no garbage, and looking for it takes half of the time
        _read_on(index, folder)
        index.execute("COMMIT")
    except BaseException:
        index.close()
        raise
    finally:
        gc.enable()
    return index


def _create_tables(index: sqlite3.Connection) -> None:
    version = index.execute("PRAGMA user_version").fetchone()[0]
    if version not in (0, _VERSION):
        raise _Outdated
    if not version:
        for statement in _SCHEMA:
            index.execute(statement)


def _read_on(index: sqlite3.Connection, folder: Path) -> None:
    read = dict(index.execute("SELECT name, read FROM files"))
    paths = {path.name: path for path in sorted(folder.glob("*.jsonl"))}
    try:
        sizes = {name: path.stat().st_size for name, path in paths.items()}
        if any(sizes.get(name, -1) < start for name, start in read.items()):
            raise _Outdated
        for name, size in sizes.items():
            if size > read.get(name, 0):
                _add_lines(index, paths[name], read.get(name, 0))
    except OSError as error:
        raise StorageFailed(f"{folder} cannot be read: {error.strerror}") from error


def _add_lines(index: sqlite3.Connection, path: Path, start: int) -> None:
    """Add the lines from ``start`` to the last complete one."""
    place, damaged = start, 0
    index.execute("INSERT OR IGNORE INTO files VALUES (?, 0, 0)", (path.name,))
    number = index.execute("SELECT rowid FROM files WHERE name = ?", (path.name,)).fetchone()[0]
    with path.open("rb") as file:
        file.seek(start)
        for line in file:
            if not line.endswith(b"\n"):
                break  # it is being written, or torn: `append` ends it
            try:
                index.execute(_ADD, _row(line, number, place))
            except (ValueError, TypeError, AttributeError, OverflowError, sqlite3.InterfaceError):
                damaged += bool(line.strip())
            place += len(line)
    index.execute(_ADD_FILE, (path.name, place, damaged))


def _row(line: bytes, file: int, place: int) -> tuple[object, ...]:
    """Return the values of `_COLUMNS`."""
    if len(line) > MAX_LINE_BYTES:
        raise ValueError("too long")
    stored = json.loads(line)
    record = HistoryRecord(**{name: stored[name] for name in stored.keys() & _KNOWN})
    return (*_values(record), *record.precedence, file, place, record.gpu_idle_s / _HOUR_S)


def _where(wanted: Wanted) -> tuple[str, dict[str, object]]:
    values = {name: value for name, value in wanted._asdict().items() if value not in (None, "")}
    return " AND ".join(["NOT deleted", *(_TESTS[name] for name in values)]), values


def _on_node(nodes: str | None, pattern: str) -> bool:
    return any(fnmatchcase(name, pattern) for name in node_names(nodes or ""))
