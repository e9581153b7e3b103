"""Find and read the files that single ranks wrote next to the main logs, or torchrun for them.

torchrun prints their paths: ``log directory set to: DIR``, ``reply file to: DIR/attempt_0/0/error.json``,
``error_file: ...``. Any program may print such a line, so only files with torchrun's own names are read.
"""

from __future__ import annotations

import json
import os
import re
from collections import deque
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.logs.diagnosis.log_lines import LogExcerpt, clean_lines
from jobmon_core.observe.logs.open_file import read_regular
from jobmon_core.observe.logs.read import read_tail
from jobmon_core.observe.logs.scan_dirs import FoundFile, ScanBudget, find_files, is_folder, stat_own_file

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from jobmon_core.domain.job.own_files import OwnFiles

_MAX_FILES = 64
_LEVELS = 4  # of nested folders: JOB_torchelastic/RUN/attempt_0/3
_LOG_SUFFIXES = (".err", ".out", ".log")
# only names of logs: scripts, settings and checkpoints may be named after a job too and contain error texts
_LOG_NAME = re.compile(r"(?i)(?:[^.]*|.*\.(?:err|out|log|txt|stderr|stdout|[eo]?\d{1,9}))(?:\.gz)?")
_CORE_DUMP = "core."
# a number behind such a word counts something else than jobs
_COUNTED = (
    r"(?<![a-z])(?:step|iter(?:ation)?|epoch|seed|ckpt|checkpoint|batch|chunk|shard|trial|port)s?[-_=.]?"
)
_MAX_INDEX = 10_000  # a lower job id may be the index in another job's slurm-91000_1.out


def rank_logs(
    log_paths: Sequence[str], job_id: int | None, texts: Iterable[str], own: OwnFiles | None = None
) -> tuple[str, ...]:
    """Return the paths of at most 64 non-empty files of single ranks. Never raises.

    These are logs next to the main logs with the job id in their names or in that of their folder, and the
    files of torchrun workers, whose paths the ``texts`` of the main logs name. Files of other users, symbolic
    links and files that are not among ``own`` are ignored; None: the time of the run is not known. The oldest
    comes first: a rank that died stopped writing before those that waited for it. ``job_id`` must be unique
    to this job or task (that of a whole array is not).
    """
    folders = sorted({str(Path(path).parent) for path in log_paths if path})
    budget = ScanBudget()
    files = files_named_in(texts, folders, budget)
    if job_id is not None:
        named = (Path(path).name.partition(str(job_id)) for path in log_paths)
        main_names = {before + number for before, number, _ in named}  # e.g. step-8123
        files += [file for each in folders for file in _logs_with_id(job_id, each, main_names, budget)]
    if own is not None:
        files = [file for file in files if own.include(file.modified_ns / 1e9)]  # of this user
    main_logs = {_identity(path) for path in log_paths}
    others = {file.identity: file for file in files if file.identity not in main_logs}
    return tuple(file.path for file in _select(newest_attempts(others.values())))


def read_rank_log(path: str) -> LogExcerpt:
    """Read a file from ``rank_logs``: the error that torchrun recorded in it, else its last lines."""
    return (Path(path).name == ERROR_FILE and read_error_file(path)) or read_tail(path)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - the user's path, unchanged
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def _logs_with_id(
    job_id: int, folder: str, main_names: Container[str], budget: ScanBudget
) -> list[FoundFile]:
    """Return the logs with the job id in their names or in that of a folder.

    ``main_names`` are the names of the main logs up to the job id.
    """
    no_index = r"(?<!\d_)" if job_id < _MAX_INDEX else ""
    number = re.compile(rf"(?i)(?P<counted>{_COUNTED})?(?<!\d){no_index}{job_id}(?!\d)")

    def has_id(name: str) -> bool:
        found = number.finditer(name)
        return any(not match["counted"] or name[: match.end()] in main_names for match in found)

    if has_id(Path(folder).name):
        return find_files(folder, _is_log_in_job_folder, budget, _LEVELS)
    entries = [entry for entry in budget.entries(folder) if has_id(entry.name)]
    subfolders = [entry.path for entry in entries if is_folder(entry)]
    files = [file for entry in entries if _is_log(entry.name) and (file := stat_own_file(entry.path))]
    for subfolder in subfolders:
        files += find_files(subfolder, _is_log_in_job_folder, budget, _LEVELS)
    return files


def _is_log(name: str) -> bool:
    return _LOG_NAME.fullmatch(name) is not None and not name.startswith(_CORE_DUMP)


def _is_log_in_job_folder(name: str) -> bool:
    return name in WORKER_FILE_NAMES or name.endswith(_LOG_SUFFIXES)


def _select(files: Iterable[FoundFile]) -> list[FoundFile]:
    """Sort files by modification time; of too many, keep those most likely to show the cause."""
    modification_order = attrgetter("modified_ns", "path")
    ordered = sorted(files, key=modification_order)
    if len(ordered) <= _MAX_FILES:
        return ordered
    # half of them error files of torchrun, else the oldest logs; half the newest logs: a rank that fails is
    # among the first to stop writing, or is the only one that still writes
    by_relevance = sorted(ordered, key=lambda file: not file.path.endswith(ERROR_FILE))
    selected = by_relevance[: _MAX_FILES // 2] + by_relevance[-_MAX_FILES // 2 :]
    return sorted(selected, key=modification_order)


ERROR_FILE = "error.json"
WORKER_FILE_NAMES = frozenset({ERROR_FILE, "stderr.log", "stdout.log"})
_MAX_PATH_LENGTH = 4096  # PATH_MAX of Linux, with the final NUL
_MAX_PATHS = 64
_MAX_ERROR_BYTES = 2**20
_ERROR_FILE_LINE = re.compile(r"(?:\berror_file|\breply file to): +(\S.*/error\.json)$")
_LOG_DIR_LINE = re.compile(r"\blog directory set to: +(\S.*)$")
_ATTEMPT_FILE = re.compile(r"(.*)/attempt_(\d{1,9})/\d{1,9}/[^/]+")


def files_named_in(texts: Iterable[str], folders: Sequence[str], budget: ScanBudget) -> list[FoundFile]:
    """Return each ``error.json`` of this user that the lines name, and all worker files of each run.

    A relative path is looked up in each of ``folders``.
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
    """Return the files without those of attempts after which torchrun restarted the workers."""
    matches = [(file, _ATTEMPT_FILE.fullmatch(file.path)) for file in files]
    newest: dict[str, int] = {}
    for _, match in matches:
        if match:
            newest[match[1]] = max(int(match[2]), newest.get(match[1], 0))
    return [file for file, match in matches if not match or int(match[2]) == newest[match[1]]]


def _printed_paths(texts: Iterable[str]) -> Iterable[str]:
    """Return the last 64 distinct paths that the lines print."""
    paths: deque[str] = deque(maxlen=_MAX_PATHS)
    for text in texts:
        if ERROR_FILE not in text and "log directory set to" not in text:
            continue  # a fast check that rejects nearly all lines
        match = _ERROR_FILE_LINE.search(text) or _LOG_DIR_LINE.search(text)
        if match and len(match[1]) < _MAX_PATH_LENGTH and match[1] not in paths:
            paths.append(match[1])
    return paths


def read_error_file(path: str) -> LogExcerpt | None:
    """Return the traceback and the message in an ``error.json`` as unnumbered lines. Never raises."""
    data = read_regular(path, _MAX_ERROR_BYTES) or b""
    try:
        record: object = json.loads(data.decode("utf-8", errors="replace"))
    except (ValueError, RecursionError):
        return None
    lines = clean_lines(_error_text(record).encode("utf-8", errors="replace"))
    return LogExcerpt(path, lines, first_number=None, complete=True) if any(lines) else None


def _error_text(record: object) -> str:
    """Return the traceback of a record, and its message unless the traceback contains it.

    torchrun writes ``{"message": {"message": TEXT, "extraInfo": {"py_callstack": TRACEBACK}}}`` or
    ``{"message": TEXT}``; a record may be only a text.
    """
    error = _member(record, "message") if isinstance(record, dict) else record
    message = _text(_member(error, "message") if isinstance(error, dict) else error)
    traceback = _text(_member(_member(error, "extraInfo"), "py_callstack"))
    return traceback if message in traceback else f"{traceback}\n{message}".lstrip("\n")


def _member(value: object, key: str) -> object:
    return value.get(key) if isinstance(value, dict) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
