"""The files that single ranks of a job wrote beside its main logs."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.observe.logs.read import LogPart, read_tail
from jobmon_core.observe.logs.scan_dirs import Found, ScanBudget, is_folder, own_file, tree
from jobmon_core.observe.logs.torchrun import (
    ERROR_FILE,
    NAMES,
    files_named_in,
    newest_attempts,
    read_error_file,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MOST_FILES = 64
_LEVELS = 4  # folders within one another: JOB_torchelastic/RUN/attempt_0/3
_LOG_SUFFIXES = (".err", ".out", ".log")
# scripts, settings and checkpoints carry job ids as well, and hold words of failures that never happened
_LOG_NAME = re.compile(r"(?i)(?:[^.]*|.*\.(?:err|out|log|txt|stderr|stdout|[eo]?\d{1,9}))(?:\.gz)?")
_CORE_DUMP = "core."


def rank_logs(log_paths: Sequence[str], job_id: int | None, texts: Iterable[str]) -> tuple[str, ...]:
    """Return the paths of the files of single ranks that exist and hold anything; 64 at most.

    These are logs beside the main ones whose names contain the job's id, logs in folders whose names do, and
    what torchrun keeps of its workers. Only files of this user count, and no links. What was changed last
    comes last: a rank that died fell silent before those that waited for it. Never raises.

    Args:
        log_paths: the main logs, which are not among the answer.
        job_id: a number that stands in names of this job's files only; None where there is none. The id of
            an array is none, as the logs of all its tasks carry it.
        texts: the lines of the main logs, for the paths that torchrun prints.
    """
    places = sorted({str(Path(path).parent) for path in log_paths if path})
    budget = ScanBudget()
    found = files_named_in(texts, places, budget)
    if job_id is not None:
        found += [file for place in places for file in _named_after(job_id, place, budget)]
    main_logs = {_identity(path) for path in log_paths}
    others = {file.identity: file for file in found if file.identity not in main_logs}
    return tuple(file.path for file in _chosen(newest_attempts(others.values())))


def read_rank_log(path: str) -> LogPart:
    """Read the end of what ``rank_logs`` found, or the traceback where it is torchrun's record of one."""
    traceback = read_error_file(path) if Path(path).name == ERROR_FILE else None
    return LogPart(traceback, complete=True) if traceback else read_tail(path)


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - a path of the user's, used as it was given
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino


def _named_after(job_id: int, place: str, budget: ScanBudget) -> list[Found]:
    """Return the logs of a job in the folder of its main logs, and those in folders of the job there."""
    has_id = re.compile(rf"(?<!\d){job_id}(?!\d)").search
    if has_id(Path(place).name):
        return tree(place, _is_log_of_folder, budget, _LEVELS)
    entries = [entry for entry in budget.entries(place) if has_id(entry.name)]
    folders = [entry.path for entry in entries if is_folder(entry)]
    beside = [file for entry in entries if _is_log(entry.name) and (file := own_file(entry.path))]
    return beside + [file for path in folders for file in tree(path, _is_log_of_folder, budget, _LEVELS)]


def _is_log(name: str) -> bool:
    return _LOG_NAME.fullmatch(name) is not None and not name.startswith(_CORE_DUMP)


def _is_log_of_folder(name: str) -> bool:
    return name in NAMES or name.endswith(_LOG_SUFFIXES)


def _chosen(files: Iterable[Found]) -> list[Found]:
    """Put files into the order of their last change, and thin them out where there are too many."""
    ordered = sorted(files, key=_by_age)
    if len(ordered) <= _MOST_FILES:
        return ordered
    # a rank of a large job that fails is among the first to fall silent, or the only one that ever spoke;
    # what torchrun wrote of a failure is worth more than any log
    telling = sorted(ordered, key=lambda file: not file.path.endswith(ERROR_FILE))
    return sorted(telling[: _MOST_FILES // 2] + telling[-_MOST_FILES // 2 :], key=_by_age)


def _by_age(file: Found) -> tuple[int, str]:
    return file.modified_ns, file.path
