"""Find the checkpoints below a folder: list its files, and read a bounded part of some of them."""

from __future__ import annotations

import os
import stat
from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING

from jobmon_core.domain.artifacts.checkpoints.judge import (
    files_to_check,
    interval_s,
    judge,
    newest_first,
    wanted_texts,
)
from jobmon_core.domain.artifacts.checkpoints.model import Evidence, FoundCheckpoints
from jobmon_core.domain.artifacts.checkpoints.recognize import is_checkpoint, recognize
from jobmon_core.domain.artifacts.model import ListedFile, Listing
from jobmon_core.domain.humanize import count, duration
from jobmon_core.observe.artifacts.formats.check import check_file
from jobmon_core.observe.artifacts.listing import folder_problem, status_of
from jobmon_core.observe.logs.open_file import read_regular
from jobmon_core.observe.logs.scan_dirs import ScanBudget

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from jobmon_core.domain.artifacts.checkpoints.model import Candidate
    from jobmon_core.domain.job.own_files import OwnFiles

_LEVELS = 7  # of nested folders that are searched: an experiment's own, and those within a checkpoint
_MAX_CHECKED = 400  # files whose content is checked, those of the newest checkpoints
_MAX_ENTRIES = 20_000
_MAX_JUDGED = 200  # checkpoints, the newest ones
_MAX_TEXT = 2**20  # bytes of a small file


def evidence_here(folder: str, texts: Sequence[str], checked: Sequence[str]) -> Evidence:
    """Read small files on this machine, and check others; their paths are within the folder."""
    found = {path: text for path in texts if (text := _text(f"{folder}/{path}")) is not None}
    return Evidence(found, {path: check_file(f"{folder}/{path}") for path in checked})


def find_checkpoints(
    folder: str,
    now_s: float,
    *,
    is_running: bool = False,
    own: OwnFiles | None = None,
    levels_below: int = _LEVELS,
    pattern: str = "",
    max_entries: int = _MAX_ENTRIES,
    listed: Listing | None = None,
    evidence: Callable[[str, Sequence[str], Sequence[str]], Evidence] = evidence_here,
) -> FoundCheckpoints:
    """Return the checkpoints in and below a folder, the newest first; the folder may be one itself.

    ``own``: only those of this run. ``pattern``: a glob of the user for further ones, e.g. ``save-*``.
    ``listed``, ``evidence``: the files and what they say, if they are not on this machine.
    """
    listed = listed or _listed_here(folder, max_entries)
    if listed.problem:
        return FoundCheckpoints(folder, problem=listed.problem)
    files = listed.files
    parent, name = os.path.split(folder)
    if is_checkpoint(name, files):
        folder, files = parent, tuple(replace(file, name=f"{name}/{file.name}") for file in files)
    candidates = newest_first(
        each
        for each in (_saved_by(own, files, pattern) if own else recognize(files, pattern))
        if each.path.count("/") <= levels_below
    )
    judged = judge(
        candidates[:_MAX_JUDGED],
        evidence(folder, *_wanted(candidates[:_MAX_JUDGED])),
        folder,
        now_s,
        is_running=is_running,
    )
    is_partial = listed.is_partial or len(candidates) > _MAX_JUDGED
    found = FoundCheckpoints(folder, judged, interval_s(judged), is_partial)
    if own is None or judged or not recognize(files, pattern):
        return found
    others = find_checkpoints(
        folder,
        now_s,
        levels_below=levels_below,
        pattern=pattern,
        listed=replace(listed, files=files),
        evidence=evidence,
    )
    return replace(found, problem=_why_none(others, own), others=len(others.checkpoints))


def _why_none(others: FoundCheckpoints, own: OwnFiles) -> str:
    newest, number = others.newest_complete, count(len(others.checkpoints), "checkpoint")
    best = ""
    if newest:
        early_s = own.started_s - newest.saved_s
        when = f", of {duration(early_s)} before its start" if early_s > 0 else ""
        best = f"the newest complete one is {newest.path}{when}; "
    there = f"`jobmon checkpoints {quote(others.folder)}` lists the {number} there"
    return f"none that this run is known to have saved; {best}{there}"


def _saved_by(own: OwnFiles, files: Iterable[ListedFile], pattern: str) -> list[Candidate]:
    """Return the checkpoints that a run saved, without what was added to them after its end.

    They may contain older files, e.g. a copy of the settings.
    """
    candidates = recognize((file for file in files if file.modified_s <= own.until_s), pattern)
    return [each for each in candidates if own.include(each.saved_s, each.owner)]


def _listed_here(folder: str, max_entries: int) -> Listing:
    try:
        with os.scandir(folder):
            pass
    except (OSError, ValueError) as error:
        return Listing(folder, problem=folder_problem(error))
    budget = ScanBudget(max_entries)
    return Listing(folder, tuple(_files_below(folder, budget)), budget.has_left_out)


def _files_below(folder: str, budget: ScanBudget) -> list[ListedFile]:
    """Return the files below a folder; links to folders, and to files that are among them, do not count."""
    entries = sorted(budget.walk(folder, _LEVELS), key=lambda entry: entry.is_symlink())
    files: list[ListedFile] = []
    known: set[tuple[int, int]] = set()
    for entry in entries:
        status = status_of(entry)
        if status is None or not stat.S_ISREG(status.st_mode):
            continue
        identity = status.st_dev, status.st_ino
        if not entry.is_symlink() or identity not in known:
            path = entry.path[len(folder) :].lstrip("/")
            files.append(ListedFile(path, status.st_size, status.st_mtime, status.st_uid))
        known.add(identity)
    return files


def _wanted(candidates: Sequence[Candidate]) -> tuple[list[str], list[str]]:
    texts = dict.fromkeys(path for each in candidates for path in wanted_texts(each))
    checked = dict.fromkeys(file.name for each in candidates for file in files_to_check(each))
    return list(texts), list(checked)[:_MAX_CHECKED]


def _text(path: str) -> str | None:
    content = read_regular(path, _MAX_TEXT)
    if content is None:
        return None
    return content.decode("utf-8", "replace")
