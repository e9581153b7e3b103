"""The files that a job writes: its checkpoints, and whether all are there and whole."""

from __future__ import annotations

import glob
import os
import stat
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.analysis.checkpoints import CheckpointSearch, checkpoints_of_task
from jobmon_core.analysis.job_logs import log_files, named_path, own_files_of_runs
from jobmon_core.app.jobs.output import with_log_paths
from jobmon_core.app.jobs.overview import current_status, in_order
from jobmon_core.domain.artifacts.completeness import Completeness, Depth, compare
from jobmon_core.domain.artifacts.model import FileCheck, FileVerdict, ListedFile
from jobmon_core.domain.backends import Machine, machine_of_files
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.own_files import Origin
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.domain.slurm.states import Phase
from jobmon_core.observe.artifacts.find_checkpoints import find_checkpoints
from jobmon_core.observe.artifacts.formats.check import MAX_BYTES, WHOLE, check_file
from jobmon_core.observe.artifacts.listing import disk_of, list_tree, sha256_of
from jobmon_core.observe.logs.open_file import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from jobmon_core.context import Context
    from jobmon_core.domain.artifacts.checkpoints.model import FoundCheckpoints
    from jobmon_core.domain.artifacts.disk import Disk
    from jobmon_core.domain.job.own_files import OwnFiles
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.domain.slurm.job_ids import JobRef

_WITH_RECORDS = ("csv", "json", "jsonl", "npy", "parquet")


class JobFolder(NamedTuple):
    """The folder of the outputs of one task."""

    ref: JobRef
    folder: str
    pattern: str = ""  # a glob that the names of outputs match
    is_running: bool = False
    logs: tuple[str, ...] = ()  # which are no outputs
    own: OwnFiles | None = None  # only these count: the log or the script named the folder, not the user


def folders_of(ctx: Context, job: WatchedJob, ref: JobRef) -> list[JobFolder]:
    """Return the folders of the outputs of a job, or of the part ``ref``; raise JobmonError without any."""
    settings = job.settings or JobSettings()
    if machine_of_files(job.backend) is Machine.OTHER:
        raise JobmonError(f"job {ref} writes its files on another machine ({job.cluster}): verify them there")
    job = current_status(ctx, job).job
    progress = ctx.progress_file(job.id).read()
    found: dict[str, JobFolder] = {}
    for task in in_order([each for each in job.tasks.values() if ref.key in ("", each.key)]):
        folder, own = named_path(job, task, settings.output_dir), None
        if not folder and (seen := progress.artifacts_of(task.key).outputs) and seen.is_found:
            folder, own = seen.folder, own_files_of_runs(job, task, Origin.FOUND, are_shared=job.is_array)
        if folder:
            found.setdefault(folder, _folder_of(job, task, folder, settings, own))
    if not found and not settings.output_dir:
        raise JobmonError(
            f"job {ref}: no folder of outputs is known; name one with `output_dir` in its jobmon.yaml or "
            "--output-dir, or give the folder itself: `jobmon verify DIR`"
        )
    return list(found.values())


def _folder_of(
    job: WatchedJob, task: Task, folder: str, settings: JobSettings, own: OwnFiles | None
) -> JobFolder:
    pattern = named_path(job, task, settings.output_pattern)
    ref = ref_of(job.job_id, task.key)
    is_running = task.end is None and task.state.phase is Phase.ACTIVE
    return JobFolder(ref, folder, pattern, is_running, log_files(job, task), own)


def verify(ctx: Context, wanted: Completeness, job: JobFolder | None = None) -> Completeness:
    """Return the verdict on a folder or a single file; ``wanted`` says what is asked for, and no more."""
    own = list_tree(wanted.folder)
    files = {file.name: file for file in own.files if _is_output(file, job)}
    checks: list[FileCheck] = []
    if wanted.depth is not Depth.COUNT or wanted.expected_records is not None:
        checks = list(_checks(files, wanted, job))
    damaged = tuple(check for check in checks if check.is_bad)
    found = replace(
        wanted,
        count=len(files),
        size_bytes=sum(file.size_bytes for file in files.values()),
        damaged=damaged,
        unreadable=tuple(check for check in checks if check.verdict is FileVerdict.UNREADABLE),
        odd=tuple(check for check in checks if check.note),
        not_checked=len(files) - len(damaged) - sum(each.verdict is FileVerdict.VALID for each in checks),
        is_partial=own.is_partial,
        problem=own.problem,
    )
    if wanted.expected_records is not None:
        found = _with_records(found, checks)
    if wanted.source:
        return _against(ctx, found, files)
    return found


def _is_output(file: ListedFile, job: JobFolder | None) -> bool:
    if job is None:
        return True
    is_named = not job.pattern or fnmatchcase(file.name, job.pattern)
    is_own = job.own is None or job.own.include(file.modified_s)
    return is_named and is_own and f"{job.folder}/{file.name}" not in job.logs


def _checks(names: Iterable[str], wanted: Completeness, job: JobFolder | None) -> Iterator[FileCheck]:
    max_bytes = MAX_BYTES if wanted.expected_records is None else WHOLE
    is_running = job is not None and job.is_running
    for name in sorted(names):
        yield check_file(_path(wanted.folder, name), still_written=is_running, max_bytes=max_bytes)


def _with_records(found: Completeness, checks: Iterable[FileCheck]) -> Completeness:
    counted = [check for check in checks if check.format.removesuffix(".gz") in _WITH_RECORDS]
    records = sum(check.records or 0 for check in counted)
    return replace(found, records=records, records_unknown=sum(check.records is None for check in counted))


def _path(folder: str, name: str) -> str:
    """Return the path of a file in a folder; the "folder" may be the file itself."""
    path = f"{folder}/{name}"
    if os.path.lexists(path):
        return path
    return folder


def _against(ctx: Context, found: Completeness, own: Mapping[str, ListedFile]) -> Completeness:
    source = list_tree(found.source)
    there = {file.name: file for file in source.files}
    changed, unread = _other_content(found, own, there)
    return replace(
        compare(found, own, there, ctx.clock.now(), changed),
        unreadable=(*found.unreadable, *unread),
        is_partial=found.is_partial or source.is_partial,
        problem=found.problem or source.problem,
    )


def _other_content(
    found: Completeness, own: Mapping[str, ListedFile], source: Mapping[str, ListedFile]
) -> tuple[list[str], list[FileCheck]]:
    """At the depth SHA256, return the files of equal size that differ, and those that are unreadable."""
    changed: list[str] = []
    unread: list[FileCheck] = []
    if found.depth is not Depth.SHA256:
        return changed, unread
    for name in sorted(own.keys() & source.keys()):
        if own[name].size_bytes != source[name].size_bytes:
            continue
        digests = set()
        for path in (_path(found.folder, name), _path(found.source, name)):
            try:
                digests.add(sha256_of(path))
            except Unreadable as problem:
                unread.append(FileCheck(path, "", FileVerdict.UNREADABLE, str(problem)))
        if len(digests) > 1:
            changed.append(name)
    return changed, unread


class CheckpointList(NamedTuple):
    """The checkpoints of one task of a job, or of a folder."""

    found: FoundCheckpoints
    is_running: bool = False  # whether the program that writes them runs
    ref: JobRef | None = None
    job: WatchedJob | None = None


def checkpoints_in(ctx: Context, folder: str) -> CheckpointList:
    """Return the checkpoints in and below a folder (an absolute path)."""
    return CheckpointList(find_checkpoints(folder, ctx.clock.now()))


def checkpoints_of(ctx: Context, job: WatchedJob, ref: JobRef) -> list[CheckpointList]:
    """Return the checkpoints of a job, or of the part ``ref``: one list for each folder."""
    job = with_log_paths(ctx, current_status(ctx, job).job)
    progress, record = ctx.progress_file(job.id).read(), ctx.run_record(job.id).taken()
    script = (record.script.text if record and record.script else None) or ""
    lists: dict[str, CheckpointList] = {}
    for task in in_order(list(job.tasks.values())):
        if ref.key not in ("", task.key) or (task.end is None and task.state.phase is Phase.WAITING):
            continue
        is_running = task.end is None and task.state.phase is Phase.ACTIVE
        machine = ctx.machine(job)
        search = CheckpointSearch(job, task, progress, ctx.clock.now(), script, is_running, machine)
        found = checkpoints_of_task(search)
        lists.setdefault(found.folder, CheckpointList(found, is_running, ref_of(job.job_id, task.key), job))
    if not lists:
        raise JobmonError(f"job {ref} has not started, so it has saved no checkpoints")
    return list(lists.values())


def files_of(patterns: Iterable[str], *, folders: bool = False) -> dict[str, ListedFile | None]:
    """Return the regular files that globs match, by path, sorted; with ``folders`` these too, as of 0 bytes.

    A file with the very name of a pattern comes before its wildcards; a pattern without any, and without such
    a file, has None.
    """
    found: dict[str, ListedFile | None] = {}
    for pattern in patterns:
        named = _file(pattern, folders=folders)
        if named or not glob.has_magic(pattern):
            found[pattern] = named
            continue
        for path in glob.glob(pattern):  # noqa: PTH207 - Path.glob takes no absolute pattern
            if file := _file(path, folders=folders):
                found[path] = file
    return dict(sorted(found.items()))


def _file(path: str, *, folders: bool) -> ListedFile | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - a Path would drop a trailing slash
    except (OSError, ValueError):
        return None
    if stat.S_ISREG(status.st_mode):
        return ListedFile(path, status.st_size, status.st_mtime)
    if folders and stat.S_ISDIR(status.st_mode):
        return ListedFile(path, 0, status.st_mtime)
    return None


def checked(path: str, *, still_written: bool = False) -> FileCheck:
    """Return whether a file is whole; if ``still_written``, a program may be writing its end."""
    return check_file(path, still_written=still_written)


def disks_of(patterns: Iterable[str]) -> dict[str, Disk]:
    """Return the file systems of globs, by the deepest existing folder without wildcards."""
    folders = dict.fromkeys(_folder(pattern) for pattern in patterns)
    return {folder: disk for folder in folders if (disk := disk_of(folder))}


def _folder(pattern: str) -> str:
    folder = os.path.dirname(pattern)  # noqa: PTH120 - a text: a Path has no empty one
    while folder.strip("/") and (glob.has_magic(folder) or not os.path.isdir(folder)):  # noqa: PTH112 - Path.is_dir raises without permission
        folder = os.path.dirname(folder)  # noqa: PTH120 - as above
    return os.path.abspath(folder)  # noqa: PTH100 - as above: empty is the current folder
