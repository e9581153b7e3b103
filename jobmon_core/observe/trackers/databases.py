"""One look at the SQLite databases of a tracker: what was added since the last one.

A database may be written at this moment, or be hostile. Nothing is left beside it: SQLite creates the two
files of a write-ahead log (WAL) even for a reader, and leaves them. So it may use that log only while the
writer has one there; else the file is read as one that does not change, and read again if it did. On a
network file system a write-ahead log does not work (https://www.sqlite.org/wal.html): it is not opened there.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from urllib.parse import quote

from jobmon_core.domain.logs.tracker import Position, Tracker, TrackerRun
from jobmon_core.observe.logs.open_file import Unreadable, regular_file
from jobmon_core.observe.trackers.building import RunBuilder
from jobmon_core.observe.trackers.files import Look, position
from jobmon_core.system.files import file_stamp
from jobmon_core.system.filesystem import Filesystem, LockScope

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobmon_core.observe.logs.scan_dirs import FoundFile
    from jobmon_core.observe.trackers.building import Limits

T = TypeVar("T")
Row = tuple[object, ...]

_MAGIC, _HEADER_BYTES = b"SQLite format 3\0", 100
_WAL_VERSION = 2  # bytes 18 and 19 of the header: https://www.sqlite.org/fileformat.html
_LIMIT_S, _BUSY_S = 0.2, 0.5
_STEPS = 500  # of SQLite's machine, between two looks at the clock
_TRIES = 3
# a message may quote bytes that are no text, and a damaged schema may ask for more memory than SQLite gives
_FAILURES = (sqlite3.Error, UnicodeError, MemoryError)
_MAX_VALUE = 2**20  # bytes of a text or a blob
_SETTINGS = "PRAGMA trusted_schema=0; PRAGMA query_only=1; PRAGMA mmap_size=0; PRAGMA cache_size=-512;"
_MAX_ROWS = 5_000  # of all runs, the latest
_MAX_ROWS_OF_RUN = 500  # of one that is new to jobmon


class Tables(NamedTuple):
    """How a tracker lays out its database. A row of metrics begins with its number, and the id of its run."""

    tracker: Tracker
    newest: str  # the query for the ids of runs, those first that began last
    since: str  # for the rows of metrics after that with a number, the latest first
    of_run: tuple[str, ...]  # for those of a run; the first query that finds some counts
    describe: Callable[[sqlite3.Connection, TrackerRun, Limits], TrackerRun | None]  # None: the run is gone
    fold: Callable[[RunBuilder, Row], None]  # notes what a row says


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
        if known and now == before._replace(offset=0) and not Path(f"{file.path}-wal").exists():
            this.keep(file, before, known)
            continue
        try:
            number, runs = ask(file.path, partial(_new, this, tables, file, before.offset), filesystem_of)
        except Unreadable as error:
            why = f"{os.path.basename(file.path)} {error}"  # noqa: PTH119 - a text
            unread = known or [TrackerRun(tables.tracker, "", place=file.path)]
            # without the stamp, so that it is read again
            this.keep(file, Position(before.offset, now.inode), [replace(run, partial=why) for run in unread])
        else:
            this.keep(file, now._replace(offset=number), runs)


def _new(
    this: Look, tables: Tables, file: FoundFile, number: int, database: sqlite3.Connection
) -> tuple[int, list[TrackerRun]]:
    """Return the number of the last row of a database, and its runs; ``number`` is that of the row before."""
    added = rows(database, tables.since, number, at_most=_MAX_ROWS if number else 1)
    last = max([number, *(row[0] for row in added if isinstance(row[0], int))])
    newest = rows(database, tables.newest, at_most=this.limits.max_runs)
    known = {run.run_id: run for run in this.runs_at(file)}
    runs: list[TrackerRun | None] = []
    for run_id in dict.fromkeys((*(row[1] for row in added), *(row[0] for row in newest))):
        if isinstance(run_id, str) and len(runs) < this.limits.max_runs:
            run = TrackerRun(tables.tracker, run_id, place=file.path)
            runs.append(
                _run(database, tables, known.get(run_id, run), added if run_id in known else None, this)
            )
    return last, [run for run in runs if run is not None]


def _run(
    database: sqlite3.Connection, tables: Tables, before: TrackerRun, added: Sequence[Row] | None, this: Look
) -> TrackerRun | None:
    """Return a run with its rows among those that were ``added``; of a new run (None), with its last ones."""
    now = tables.describe(database, before, this.limits)
    if now is None:
        return None
    if added is None:
        found = (rows(database, each, now.run_id, at_most=_MAX_ROWS_OF_RUN) for each in tables.of_run)
        own = next(filter(None, found), [])
    else:
        own = [row for row in added if row[1] == now.run_id]
    if not own and now == before and not before.partial:
        return now
    builder = RunBuilder(now, this.limits)
    for row in reversed(own):
        tables.fold(builder, row)
    return builder.built()


def ask(
    path: str, question: Callable[[sqlite3.Connection], T], filesystem_of: Callable[[Path], Filesystem]
) -> T:
    """Return what ``question`` reads from the database at ``path``, in one short transaction.

    It is repeated if the file was written meanwhile, and has 0.2 seconds.

    Raises:
        Unreadable: the database cannot be read now. The text completes a sentence that starts with the path.
    """
    with regular_file(path) as file:
        header = file.read_at(0, _HEADER_BYTES)
    if not header.startswith(_MAGIC) or len(header) < _HEADER_BYTES:
        raise Unreadable("is no SQLite database")
    place = Path(os.path.realpath(path))
    has_log = _WAL_VERSION in header[18:20]
    if has_log and filesystem_of(place.parent).lock_scope is not LockScope.DISK:
        raise Unreadable("is not read: it has a write-ahead log, and may be on a network file system")
    for _ in range(_TRIES):
        is_shared = has_log and _is_in_use(place)
        before = file_stamp(place)
        try:
            answer = _asked(place, question, is_shared=is_shared)
        except _FAILURES as error:
            # pages of two states do not fit together
            if is_shared or file_stamp(place) == before:
                raise Unreadable(_reason(error)) from error
        else:
            if is_shared or file_stamp(place) == before:
                return answer
    raise Unreadable("is written all the time: it is read later")


def _is_in_use(place: Path) -> bool:
    """Whether a database has a write-ahead log now.

    Raises:
        Unreadable: the log has no index, e.g. in a copy: a reader would create it.
    """
    log = file_stamp(Path(f"{place}-wal"))
    has_index = Path(f"{place}-shm").exists()
    if log and log.size_bytes and not has_index:
        raise Unreadable("is not read: its write-ahead log has no index, which only its program may create")
    return log is not None and has_index


def _asked(place: Path, question: Callable[[sqlite3.Connection], T], *, is_shared: bool) -> T:
    options = "mode=ro" if is_shared else "mode=ro&immutable=1"
    uri = f"file:{quote(os.fsencode(place))}?{options}"
    with closing(sqlite3.connect(uri, _BUSY_S, uri=True, isolation_level=None)) as database:
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE)
        database.text_factory = lambda value: value.decode("utf-8", "replace")
        until_s = time.monotonic() + _LIMIT_S
        database.set_progress_handler(lambda: time.monotonic() > until_s, _STEPS)
        database.executescript(_SETTINGS)
        database.execute("BEGIN")
        return question(database)


def rows(database: sqlite3.Connection, query: str, *values: object, at_most: int) -> list[Row]:
    """Return the first rows that a query finds.

    Raises:
        sqlite3.Error: it fails.
    """
    with closing(database.execute(query, values)) as cursor:
        return cursor.fetchmany(at_most)


def _reason(error: Exception) -> str:
    """Return why a query failed, as a person would say it."""
    if not isinstance(error, sqlite3.Error):
        return "is damaged"
    said = str(error)
    if said == "interrupted":
        return "is not read: a query takes longer than 0.2 seconds"
    return f"cannot be read: SQLite says {said[:200]!r}"
