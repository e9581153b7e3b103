"""Find and read the files that torchrun writes for its workers.

torchrun prints their paths: ``log directory set to: DIR``, ``reply file to: DIR/attempt_0/0/error.json``,
``error_file: ...``. Any program may print such a line, so only files with torchrun's own names are read.
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
from jobmon_core.observe.logs.scan_dirs import FoundFile, ScanBudget, find_files, stat_own_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ERROR_FILE = "error.json"
WORKER_FILE_NAMES = frozenset({ERROR_FILE, "stderr.log", "stdout.log"})
_MAX_PATH_LENGTH = 4096  # PATH_MAX of Linux, with the final NUL
_MAX_PATHS = 64
_MAX_ERROR_BYTES = 2**20
_ERROR_FILE_LINE = re.compile(r"(?:\berror_file|\breply file to): +(\S.*/error\.json)$")
_LOG_DIR_LINE = re.compile(r"\blog directory set to: +(\S.*)$")
_ATTEMPT_FILE = re.compile(r"(.*)/attempt_(\d{1,9})/\d{1,9}/[^/]+")


def files_named_in(texts: Iterable[str], folders: Sequence[str], budget: ScanBudget) -> list[FoundFile]:
    """Return the files that the lines lead to: each ``error.json``, and all worker files of each run named.

    Only files of this user count. A relative path in a line is looked up in each of ``folders``.
    """
    files: list[FoundFile] = []
    run_dirs: dict[str, None] = {}
    for path in (str(Path(folder, printed)) for printed in _printed_paths(texts) for folder in folders):
        attempt_file = _ATTEMPT_FILE.fullmatch(path)
        if attempt_file:
            run_dirs[attempt_file[1]] = None  # the run has more files than this one
        elif path.endswith(f"/{ERROR_FILE}"):
            files += filter(None, [stat_own_file(path)])
        else:
            run_dirs[path] = None
    is_worker_file = WORKER_FILE_NAMES.__contains__
    in_runs = [file for run_dir in run_dirs for file in find_files(run_dir, is_worker_file, budget, levels=3)]
    return files + [file for file in in_runs if _ATTEMPT_FILE.fullmatch(file.path)]


def newest_attempts(files: Iterable[FoundFile]) -> list[FoundFile]:
    """Return the files without those of earlier attempts, after which torchrun restarted the workers."""
    matches = [(file, _ATTEMPT_FILE.fullmatch(file.path)) for file in files]
    newest: dict[str, int] = {}
    for _, match in matches:
        if match:
            newest[match[1]] = max(int(match[2]), newest.get(match[1], 0))
    return [file for file, match in matches if not match or int(match[2]) == newest[match[1]]]


def _printed_paths(texts: Iterable[str]) -> Iterable[str]:
    """Return up to 64 distinct paths that the lines print, the last ones if there are more."""
    paths: deque[str] = deque(maxlen=_MAX_PATHS)
    for text in texts:
        if ERROR_FILE not in text and "log directory set to" not in text:
            continue  # a fast check that rejects nearly all lines
        match = _ERROR_FILE_LINE.search(text) or _LOG_DIR_LINE.search(text)
        if match and len(match[1]) < _MAX_PATH_LENGTH and match[1] not in paths:
            paths.append(match[1])
    return paths


def read_error_file(path: str) -> LogExcerpt | None:
    """Return the traceback and the message in an ``error.json`` as unnumbered lines. Never raises.

    None if the file has neither, is not valid JSON, or cannot be read.
    """
    try:
        with regular_file(path) as file:
            data = file.read_at(0, _MAX_ERROR_BYTES)
        record: object = json.loads(data.decode("utf-8", errors="replace"))
    except (Unreadable, ValueError, RecursionError):
        return None
    lines = clean_lines(_error_text(record).encode("utf-8", errors="replace"))
    return LogExcerpt(path, lines, first_number=None) if any(lines) else None


def _error_text(record: object) -> str:
    """Return the traceback of a record, followed by its message if the traceback does not contain it.

    torchrun writes ``{"message": {"message": TEXT, "extraInfo": {"py_callstack": TRACEBACK}}}`` or
    ``{"message": TEXT}``. A record that is only a text counts as a message.
    """
    error = _member(record, "message") if isinstance(record, dict) else record
    message = _text(_member(error, "message") if isinstance(error, dict) else error)
    traceback = _text(_member(_member(error, "extraInfo"), "py_callstack"))
    return traceback if message in traceback else f"{traceback}\n{message}".lstrip("\n")


def _member(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, dict) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
