"""Ask a SQLite database of someone else, which may be written at this moment or be hostile.

Nothing is left beside it: SQLite creates the two files of a write-ahead log (WAL) even for a reader, and
leaves them. So it may use that log only while the writer has one there; else the file is read as one that
does not change, and read again if it did. On a network file system a write-ahead log does not work
(https://www.sqlite.org/wal.html), so such a database is not opened there.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import quote

from jobmon_core.observe.logs.open_file import Unreadable, regular_file
from jobmon_core.system.files import file_stamp
from jobmon_core.system.filesystem import Filesystem, LockScope

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

_MAGIC = b"SQLite format 3\0"
_HEADER_BYTES = 100
_WAL_VERSION = 2  # bytes 18 and 19 of the header: https://www.sqlite.org/fileformat.html
_LIMIT_S, _BUSY_S = 0.2, 0.5
_STEPS = 500  # of SQLite's machine, between two looks at the clock
_TRIES = 3
# a message may quote bytes that are no text, and a damaged schema may ask for more memory than SQLite gives
_FAILURES = (sqlite3.Error, UnicodeError, MemoryError)
_MAX_VALUE = 2**20  # bytes of a text or a blob
_SETTINGS = "PRAGMA trusted_schema=0; PRAGMA query_only=1; PRAGMA mmap_size=0; PRAGMA cache_size=-512;"


def ask(
    path: str, question: Callable[[sqlite3.Connection], T], filesystem_of: Callable[[Path], Filesystem]
) -> T:
    """Return what ``question`` reads from the database at ``path``, in one short transaction.

    Args:
        path: the file.
        question: is repeated if the file was written meanwhile; has 0.2 seconds.
        filesystem_of: tells on which file system a folder is.

    Raises:
        Unreadable: it cannot be read now. The text completes a sentence that starts with the path.
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
            continue
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
        database.text_factory = _text
        until_s = time.monotonic() + _LIMIT_S
        database.set_progress_handler(lambda: time.monotonic() > until_s, _STEPS)
        database.executescript(_SETTINGS)
        database.execute("BEGIN")
        return question(database)


def rows(database: sqlite3.Connection, query: str, *values: object, at_most: int) -> list[tuple[object, ...]]:
    """Return the first rows that a query finds.

    Raises:
        sqlite3.Error: it fails.
    """
    with closing(database.execute(query, values)) as cursor:
        return cursor.fetchmany(at_most)


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def _reason(error: Exception) -> str:
    """Return why a query failed, as a person would say it."""
    if not isinstance(error, sqlite3.Error):
        return "is damaged"
    said = str(error)
    if said == "interrupted":
        return "is not read: a query takes longer than 0.2 seconds"
    return f"cannot be read: SQLite says {said[:200]!r}"
