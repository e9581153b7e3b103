"""Find the checkpoints below a folder: list its files, and read a bounded part of some of them."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from jobmon_core.domain.artifacts.checkpoints.judge import (
    files_to_check,
    interval_s,
    judge,
    newest_first,
    wanted_texts,
)
from jobmon_core.domain.artifacts.checkpoints.model import Evidence, FoundCheckpoints, TreeFile
from jobmon_core.domain.artifacts.checkpoints.recognize import is_checkpoint, recognize
from jobmon_core.observe.artifacts.formats.check import check_file
from jobmon_core.observe.artifacts.listing import folder_problem, status_of
from jobmon_core.observe.logs.open_file import read_regular
from jobmon_core.observe.logs.scan_dirs import ScanBudget, is_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon_core.domain.artifacts.checkpoints.model import Candidate
    from jobmon_core.domain.artifacts.file_check import FileCheck

_LEVELS = 7  # of nested folders that are searched: an experiment's own, and those within a checkpoint
_MAX_CHECKED = 400  # files whose content is checked, those of the newest checkpoints
_MAX_ENTRIES = 20_000
_MAX_JUDGED = 200  # checkpoints, the newest ones
_MAX_TEXT = 2**20  # bytes of a small file


def find_checkpoints(
    folder: str, now_s: float, *, is_running: bool = False, max_entries: int = _MAX_ENTRIES
) -> FoundCheckpoints:
    """Return the checkpoints in and below a folder, the newest first; the folder may be one itself.

    Args:
        folder: an absolute path.
        now_s: the time, Unix seconds.
        is_running: whether the program that writes them runs.
        max_entries: how many entries of folders are read at most.
    """
    try:
        with os.scandir(folder):
            pass
    except (OSError, ValueError) as error:
        return FoundCheckpoints(folder, problem=folder_problem(error))
    budget = ScanBudget(max_entries)
    files = _files_below(folder, budget)
    parent, name = os.path.split(folder)
    if is_checkpoint(name, files):
        folder, files = parent, [file._replace(path=f"{name}/{file.path}") for file in files]
    candidates = newest_first(recognize(files))
    judged = judge(
        candidates[:_MAX_JUDGED],
        _evidence(folder, candidates[:_MAX_JUDGED]),
        folder,
        now_s,
        is_running=is_running,
    )
    is_partial = budget.has_left_out or len(candidates) > _MAX_JUDGED
    return FoundCheckpoints(folder, judged, interval_s(judged), is_partial)


def _files_below(folder: str, budget: ScanBudget) -> list[TreeFile]:
    """Return the files below a folder; links to folders, and to files that are among them, do not count."""
    entries = list(_entries_below(folder, budget, _LEVELS))
    entries.sort(key=lambda entry: entry.is_symlink())
    files: list[TreeFile] = []
    known: set[tuple[int, int]] = set()
    for entry in entries:
        status = status_of(entry)
        if status is None or not stat.S_ISREG(status.st_mode):
            continue
        identity = status.st_dev, status.st_ino
        if not entry.is_symlink() or identity not in known:
            files.append(TreeFile(entry.path[len(folder) :].lstrip("/"), status.st_size, status.st_mtime))
        known.add(identity)
    return files


def _entries_below(folder: str, budget: ScanBudget, levels: int) -> Iterator[os.DirEntry[str]]:
    for entry in budget.entries(folder):
        if not is_folder(entry):
            yield entry
        elif levels > 1:
            yield from _entries_below(entry.path, budget, levels - 1)


def _evidence(folder: str, candidates: Sequence[Candidate]) -> Evidence:
    """Read what the judgement needs."""
    texts: dict[str, str] = {}
    checks: dict[str, FileCheck] = {}
    for candidate in candidates:
        for path in wanted_texts(candidate):
            if path not in texts and (text := _text(f"{folder}/{path}")) is not None:
                texts[path] = text
        for file in files_to_check(candidate):
            if len(checks) < _MAX_CHECKED and file.path not in checks:
                checks[file.path] = check_file(f"{folder}/{file.path}")
    return Evidence(texts, checks)


def _text(path: str) -> str | None:
    """Return the text of a small file; None if it cannot be read."""
    content = read_regular(path, _MAX_TEXT)
    return None if content is None else content.decode("utf-8", "replace")
