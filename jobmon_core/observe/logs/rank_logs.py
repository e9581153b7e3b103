"""Find and read the files that single ranks of a job wrote next to its main logs."""

from __future__ import annotations

import os
import re
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.observe.logs.read import LogPart, read_tail
from jobmon_core.observe.logs.scan_dirs import FoundFile, ScanBudget, find_files, is_folder, stat_own_file
from jobmon_core.observe.logs.torchrun import (
    ERROR_FILE,
    WORKER_FILE_NAMES,
    files_named_in,
    newest_attempts,
    read_error_file,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MAX_FILES = 64
_LEVELS = 4  # of nested folders: JOB_torchelastic/RUN/attempt_0/3
_LOG_SUFFIXES = (".err", ".out", ".log")
# only names of logs: scripts, settings and checkpoints may be named after a job too and contain error texts
_LOG_NAME = re.compile(r"(?i)(?:[^.]*|.*\.(?:err|out|log|txt|stderr|stdout|[eo]?\d{1,9}))(?:\.gz)?")
_CORE_DUMP = "core."
_MAX_INDEX = 10_000  # a job id below it may be the index of an array task in another job's slurm-91000_1.out


def rank_logs(log_paths: Sequence[str], job_id: int | None, texts: Iterable[str]) -> tuple[str, ...]:
    """Return the paths of at most 64 non-empty files of single ranks. Never raises.

    These are logs next to the main logs with the job id in their names, logs in folders with the job id in
    their names, and the files of torchrun workers. Files of other users and symbolic links are ignored. The
    oldest modification comes first, because a rank that died stopped writing before those that waited for it.
    ``log_paths`` are the main logs, ``texts`` their lines, in which torchrun prints paths. ``job_id`` must be
    unique to this job or array task; None skips the search by id. The id of a whole array is not unique: the
    names of all its tasks' logs contain it.
    """
    folders = sorted({str(Path(path).parent) for path in log_paths if path})
    budget = ScanBudget()
    files = files_named_in(texts, folders, budget)
    if job_id is not None:
        files += [file for folder in folders for file in _logs_with_id(job_id, folder, budget)]
    main_logs = {_identity(path) for path in log_paths}
    others = {file.identity: file for file in files if file.identity not in main_logs}
    return tuple(file.path for file in _select(newest_attempts(others.values())))


def read_rank_log(path: str) -> LogPart:
    """Read a file from ``rank_logs``: the error that torchrun recorded in it, else its last lines."""
    error = read_error_file(path) if Path(path).name == ERROR_FILE else None
    return LogPart(error, complete=True) if error else read_tail(path)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - the user's path, unchanged
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def _logs_with_id(job_id: int, folder: str, budget: ScanBudget) -> list[FoundFile]:
    """Return the logs in ``folder`` that have the job id in their own names or in that of a folder."""
    no_index = r"(?<!\d_)" if job_id < _MAX_INDEX else ""
    has_id = re.compile(rf"(?<!\d){no_index}{job_id}(?!\d)").search
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
    """Sort files by modification time; if there are too many, keep those most likely to show the cause."""
    modification_order = attrgetter("modified_ns", "path")
    ordered = sorted(files, key=modification_order)
    if len(ordered) <= _MAX_FILES:
        return ordered
    # half of them error files of torchrun, else the oldest logs; half the newest logs: a rank that fails is
    # among the first to stop writing, or is the only one that still writes
    by_relevance = sorted(ordered, key=lambda file: not file.path.endswith(ERROR_FILE))
    selected = by_relevance[: _MAX_FILES // 2] + by_relevance[-_MAX_FILES // 2 :]
    return sorted(selected, key=modification_order)
