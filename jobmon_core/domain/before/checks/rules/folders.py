"""The folders that a job writes to: do they exist, are they empty, is there room."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobmon_core.domain.artifacts.disk import Disk
from jobmon_core.domain.before.batch_script.paths import PathUse, Use
from jobmon_core.domain.before.checks.facts import Facts, PathKind, Quota
from jobmon_core.domain.finding import Finding, failed, passed, unknown, warned
from jobmon_core.domain.humanize import size

_WRITTEN = (Use.OUTPUT_FOLDER, Use.CHECKPOINTS)
# in the name of an option, with _ in place of -
_RESUMES = re.compile(
    r"^(?!no_)(?:.*[_.])?(?:resume|restart|restore|append|cpi|overwrite(?:_output_dir)?)(?:_.*)?$|ckpt_path|"
    r"from_checkpoint|skip_existing|^load$|load_(?:ckpt|checkpoint|weights|from|dir|path)"
)
_GIB = 1024**3
_LOW_BYTES = 10 * _GIB
_VERY_LOW_BYTES = _GIB
_LOW_SHARE = 0.2
_LOW_REST = 0.1  # of a quota, or of the inodes
_PLENTY_BYTES = 500 * _GIB  # of a large file system, a small share is still a lot
_LOW_INODES = 10_000
_PLENTY_INODES = 5_000_000


def output_folders(facts: Facts) -> Finding:
    """The folders of outputs exist or are made, and can be written to."""
    uses = [*(use for use in facts.uses if use.use in (*_WRITTEN, Use.REDIRECTED)), *_configured(facts)]
    if not uses:
        return unknown("the script names no folder for its outputs")
    for rule in (_unusable, _missing, _perhaps_missing):
        if problem := next((item for use in uses if (item := rule(facts, use))), None):
            return problem
    seen = [use for use in uses if facts.path(use.folder).kind is not PathKind.UNKNOWN]
    if not seen:
        return unknown(f"you have no permission to look into {uses[0].folder}")
    return passed(f"{seen[0].folder} is writable or can be created")


def _configured(facts: Facts) -> Iterator[PathUse]:
    for path, use in ((facts.output_dir, Use.OUTPUT_FOLDER), (facts.checkpoint_dir, Use.CHECKPOINTS)):
        if path and "%" not in path:
            yield PathUse(use, path, 0, "jobmon.yaml", is_made=True)


def _unusable(facts: Facts, use: PathUse) -> Finding | None:
    folder = use.folder
    found = facts.path(folder)
    if found.kind is PathKind.FILE:
        place = f"line {use.line}" if use.line else use.name
        return failed(f"{place}: {folder} is a file, not a folder", "Name a folder for the outputs.")
    if found.kind is PathKind.FOLDER and not found.can_write:
        return failed(
            f"you have no permission to write to {folder}", "Name another one, or change its permissions."
        )
    return None


def _missing(facts: Facts, use: PathUse) -> Finding | None:
    """It does not exist and will not."""
    folder = use.folder
    found = facts.path(folder)
    if not found.is_missing:
        return None
    if not found.can_write_above:
        return failed(
            f"{folder} does not exist, and you have no permission to create it in {found.above}",
            "Name another one.",
        )
    if use.use is not Use.REDIRECTED or use.is_made:
        return None
    return failed(
        f"line {use.line}: the folder of {use.path} does not exist, so the command would not start",
        f"Put `mkdir -p {folder}` before it.",
    )


def _perhaps_missing(facts: Facts, use: PathUse) -> Finding | None:
    """Only the program could make it, and probably does not."""
    folder = use.folder
    sources = [each.source for each in facts.python if each.source]
    if not facts.path(folder).is_missing or use.is_made or not sources:
        return None
    if any(source.makes_folders for source in sources):
        return None
    return warned(
        f"line {use.line}: {folder} does not exist, and the script does not make it",
        f"Run `mkdir -p {folder}`, unless the program creates it.",
    )


def earlier_outputs(facts: Facts) -> Finding:
    """The folder of outputs is empty, or the program resumes."""
    folders = [facts.path(use.path) for use in facts.uses if use.use in _WRITTEN]
    if facts.output_dir:
        folders.append(facts.path(facts.output_dir))
    filled = [folder for folder in folders if folder.kind is PathKind.FOLDER and folder.entries]
    if not folders:
        return unknown("the script names no folder for its outputs")
    if not filled:
        if folders[0].kind is PathKind.UNKNOWN:
            return unknown(f"you have no permission to look into {folders[0].path}")
        is_new = folders[0].is_missing
        return passed(f"{folders[0].path} {'does not exist yet' if is_new else 'is empty'}")
    if _resumes(facts):
        return passed(f"{filled[0].path} already contains files; the program resumes")
    return warned(
        f"{filled[0].path} already contains files, and nothing tells the program to resume",
        "Empty it, name a new folder, or set the program's option to resume.",
    )


def _resumes(facts: Facts) -> bool:
    by_option = any(_RESUMES.search(name) for each in facts.work for name in each.options())
    return by_option or any(each.source and each.source.resumes for each in facts.python)


def room(facts: Facts) -> Finding:
    """The file system of the outputs has free space and inodes, and no quota is used up."""
    found = facts.room
    if facts.quota and (problem := _quota_problem(facts.quota)):
        return problem
    if found is None:
        return unknown("the free space on the file system of the outputs is not known")
    share = found.free_bytes / found.total_bytes
    free = f"{size(found.free_bytes)} free ({share:.0%}) in {facts.room_folder}"
    if found.free_bytes < _VERY_LOW_BYTES:
        return failed(f"only {free}", "Delete files, or write to another file system.")
    if inodes := _inode_problem(found, facts.room_folder):
        return inodes
    if found.free_bytes < _LOW_BYTES or (share < _LOW_SHARE and found.free_bytes < _PLENTY_BYTES):
        return warned(f"only {free}", "Compare that with what the job will write; delete what is not needed.")
    return passed(free)


def _quota_problem(quota: Quota) -> Finding | None:
    shares = [
        (quota.used_bytes, quota.limit_bytes, f"{size(quota.used_bytes)} of {size(quota.limit_bytes or 0)}"),
        (quota.files, quota.files_limit, f"{quota.files:,} of {quota.files_limit or 0:,} files"),
    ]
    for used, limit, text in shares:
        if limit and used > limit * (1 - _LOW_REST):
            judged = failed if used >= limit else warned
            return judged(
                f"your quota on the file system of the outputs: {text} used",
                "Delete files, or write to another file system.",
            )
    return None


def _inode_problem(found: Disk, folder: str) -> Finding | None:
    free, total = found.free_inodes, found.total_inodes
    if not total:
        return None
    text = f"only {free:,} more files (inodes) fit on the file system of {folder}"
    advice = "Many small files use them up: pack them (tar, HDF5), or delete some."
    if free == 0:
        return failed(text, advice)
    if free < _LOW_INODES or (free / total < _LOW_REST and free < _PLENTY_INODES):
        return warned(text, advice)
    return None
