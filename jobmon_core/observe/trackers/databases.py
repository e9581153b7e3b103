"""One look at the SQLite databases of a tracker: what was added since the last one.

A database may be written at this moment, or be hostile. Nothing is left beside it: SQLite creates the two
files of a write-ahead log (WAL) even for a reader, and leaves them. So it may use that log only while the
writer has one there; else the file is read as one that does not change, and later if it did. On a network
file system a write-ahead log does not work (https://www.sqlite.org/wal.html): it is not opened there.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from urllib.parse import quote

from jobmon_core.domain.logs.tracker import Position, TrackerRun
from jobmon_core.observe.logs.open_file import Unreadable, regular_file
from jobmon_core.observe.trackers.files import MAX_RUNS
from jobmon_core.system.files import file_stamp
from jobmon_core.system.filesystem import Filesystem, LockScope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jobmon_core.observe.logs.scan_dirs import FoundFile
    from jobmon_core.observe.trackers.files import Look

T = TypeVar("T")
Row = tuple[object, ...]

_MAGIC, _HEADER_BYTES = b"SQLite format 3\0", 100
_WAL_VERSION = 2  # bytes 18 and 19 of the header: https://www.sqlite.org/fileformat.html
_LIMIT_S, _BUSY_S = 0.2, 0.5  # of the processor, since a busy machine may lend it late; of waiting for a lock
_STEPS = 500  # of SQLite's machine, between two looks at the clock
# a message may quote bytes that are no text, and a damaged schema may ask for more memory than SQLite gives
_FAILURES = (sqlite3.Error, UnicodeError, MemoryError)
_MAX_VALUE = 2**20  # bytes of a text or a blob
_SETTINGS = "PRAGMA trusted_schema=0; PRAGMA query_only=1; PRAGMA mmap_size=0; PRAGMA cache_size=-512;"
_MAX_ROWS = 2_000  # of a run in one look, the latest


class Tables(NamedTuple):
    """How a tracker lays out its database. A row of metrics begins with its number."""

    newest: str  # the query for the ids of runs, those first that wrote or began last
    latest: str  # for the rows of metrics of a run, the latest first
    since: str  # for those after that with a number
    describe: Callable[[sqlite3.Connection, TrackerRun], bool]  # False: the run is deleted
    note: Callable[[TrackerRun, Row], None]  # what a row says


def look_at(files: list[FoundFile], tables: Tables, this: Look) -> Iterator[TrackerRun]:
    """Yield the runs of the databases that were written last; of one that cannot be read, why."""
    for file in sorted(files, key=lambda file: -file.modified_ns)[:MAX_RUNS]:

        def runs(database: sqlite3.Connection, file: FoundFile = file) -> list[TrackerRun]:
            ids = (row[0] for row in rows(database, tables.newest, at_most=2 * MAX_RUNS))
            named = [each for each in dict.fromkeys(ids) if isinstance(each, str)][:MAX_RUNS]
            found = [this.run(run_id, file.path, (file,)) for run_id in named]
            return [run for run in found if _read_on(database, tables, run, file)]

        try:
            yield from ask(file.path, runs)
        except Unreadable as error:
            known = [run for run in this.before if run.place == file.path and run.run_id]
            why = f"{this.name_of(file.path)} {error}"
            unread = known or [TrackerRun(this.tracker, "", place=file.path)]
            yield from (replace(run, partial=why) for run in unread)


def _read_on(database: sqlite3.Connection, tables: Tables, run: TrackerRun, file: FoundFile) -> bool:
    if not tables.describe(database, run):
        return False
    before = run.read.get(file.path)
    query, values = (tables.since, (run.run_id, before.offset)) if before else (tables.latest, (run.run_id,))
    found = rows(database, query, *values, at_most=_MAX_ROWS)
    for row in reversed(found):
        tables.note(run, row)
    numbers = [before.offset if before else 0, *(row[0] for row in found if isinstance(row[0], int))]
    run.read[file.path] = Position(file.identity[1], max(numbers))
    return True


def ask(
    path: str,
    question: Callable[[sqlite3.Connection], T],
    filesystem_of: Callable[[Path], Filesystem] = Filesystem.of,
) -> T:
    """Return what ``question`` reads from the database at ``path`` in 0.2 seconds, in one transaction.

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
    # a reader would create the index of the log: without one, what is in the log is not seen
    is_shared = has_log and all(Path(f"{place}{part}").exists() for part in ("-wal", "-shm"))
    before = file_stamp(place)
    try:
        answer, failure = _asked(place, question, is_shared=is_shared), ""
    except _FAILURES as error:
        answer, failure = None, _reason(error)
    # pages of two states do not fit together
    if not is_shared and file_stamp(place) != before:
        raise Unreadable("is written at this moment: it is read later")
    if answer is None:
        raise Unreadable(failure)
    return answer


def _asked(place: Path, question: Callable[[sqlite3.Connection], T], *, is_shared: bool) -> T:
    options = "mode=ro" if is_shared else "mode=ro&immutable=1"
    uri = f"file:{quote(os.fsencode(place))}?{options}"
    with closing(sqlite3.connect(uri, _BUSY_S, uri=True, isolation_level=None)) as database:
        database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_VALUE)
        database.text_factory = lambda value: value.decode("utf-8", "replace")
        until_s = time.thread_time() + _LIMIT_S
        database.set_progress_handler(lambda: time.thread_time() > until_s, _STEPS)
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
