"""What torchrun keeps of its workers, found through the paths that it prints.

It prints ``log directory set to: DIR``, ``Setting worker0 reply file to: DIR/attempt_0/0/error.json`` and,
of a worker that failed, ``error_file: DIR/attempt_0/0/error.json``. Any program may print the like, so a
path counts only where it ends in one of torchrun's own names.
"""

from __future__ import annotations

import json
import re
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.diagnosis.log_lines import LogExcerpt
from jobmon_core.domain.diagnosis.log_text import clean_lines
from jobmon_core.observe.logs.open_file import Unreadable, regular_file
from jobmon_core.observe.logs.scan_dirs import Found, ScanBudget, is_folder, own_file, own_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


ERROR_FILE = "error.json"
NAMES = frozenset({ERROR_FILE, "stderr.log", "stdout.log"})
_PATH_LIMIT = 4096  # characters; the kernel takes no longer path
_MOST_PATHS = 64
_NAMED_FILE = re.compile(r"(?:\berror_file|\breply file to): +(\S.*/error\.json)$")
_NAMED_FOLDER = re.compile(r"\blog directory set to: +(\S.*)$")
_OF_ATTEMPT = re.compile(r"(.*)/attempt_(\d{1,9})/\d{1,9}/[^/]+")
_ATTEMPT = re.compile(r"attempt_(\d{1,9})")
_RANK = re.compile(r"(\d{1,9})")


def files_named_in(texts: Iterable[str], places: Sequence[str], budget: ScanBudget) -> list[Found]:
    """Return the files of the workers that the lines of a log lead to.

    Args:
        texts: the lines.
        places: folders that paths which are not absolute may begin in.
        budget: of entries of folders.
    """
    found: list[Found] = []
    runs: dict[str, None] = {}
    for path in (str(Path(place, named)) for named in _paths(texts) for place in places):
        of_attempt = _OF_ATTEMPT.fullmatch(path)
        if of_attempt:
            runs[of_attempt[1]] = None  # it has more than the one file
        elif path.endswith(f"/{ERROR_FILE}"):
            found += filter(None, [own_file(path)])
        else:
            runs[path] = None
    return found + [file for run in runs for file in _files_of_run(run, budget)]


def newest_attempts(files: Iterable[Found]) -> list[Found]:
    """Leave out the files of attempts that another followed: they tell of failures that were survived."""
    placed = [(file, _OF_ATTEMPT.fullmatch(file.path)) for file in files]
    newest: dict[str, int] = {}
    for _, match in placed:
        if match:
            newest[match[1]] = max(int(match[2]), newest.get(match[1], 0))
    return [file for file, match in placed if not match or int(match[2]) == newest[match[1]]]


def _paths(texts: Iterable[str]) -> Iterable[str]:
    """Return the different paths that are named last."""
    found: deque[str] = deque(maxlen=_MOST_PATHS)
    for text in texts:
        if ERROR_FILE not in text and "log directory set to" not in text:
            continue  # told fast, as nearly all lines are of this kind
        match = _NAMED_FILE.search(text) or _NAMED_FOLDER.search(text)
        if match and len(match[1]) < _PATH_LIMIT and match[1] not in found:
            found.append(match[1])
    return found


def _files_of_run(folder: str, budget: ScanBudget) -> list[Found]:
    """Return the files in ``folder/attempt_N/RANK``, those of the newest attempt first."""
    return [
        file
        for attempt in reversed(_numbered(folder, _ATTEMPT, budget))
        for rank in _numbered(attempt, _RANK, budget)
        for file in own_files(rank, NAMES.__contains__, budget)
    ]


def _numbered(folder: str, name: re.Pattern[str], budget: ScanBudget) -> list[str]:
    """Return the folders in ``folder`` whose names are like ``name``, in the order of their numbers."""
    matches = [(name.fullmatch(entry.name), entry) for entry in budget.entries(folder)]
    numbers = [(int(match[1]), entry.path) for match, entry in matches if match and is_folder(entry)]
    return [path for _, path in sorted(numbers)]


_MOST_BYTES = 2**20


def read_error_file(path: str) -> LogExcerpt | None:
    """Return the traceback and the message of an ``error.json`` as lines; None where it has none.

    The lines are unnumbered, as they are none of the file's own. Never raises.
    """
    try:
        with regular_file(path) as file:
            data = file.read_at(0, _MOST_BYTES)
    except Unreadable:
        return None
    lines = clean_lines(_told(data).encode("utf-8", errors="replace"))
    return LogExcerpt(path, lines, first_number=None) if any(lines) else None


def _told(data: bytes) -> str:
    """Return what the record says. The message stands at the end of its traceback; where not, it follows."""
    record = _record(data)
    message = _at(record, "message") if isinstance(record, dict) else record
    words = _text(_at(message, "message") if isinstance(message, dict) else message)
    traceback = _text(_at(message, "extraInfo", "py_callstack"))
    return traceback if words in traceback else f"{traceback}\n{words}".lstrip("\n")


def _record(data: bytes) -> object:
    try:
        record: object = json.loads(data.decode("utf-8", errors="replace"))
    except (ValueError, RecursionError):  # no JSON, or nested as nobody would
        return None
    return record


def _at(value: object, *keys: str) -> object:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
