"""Use case: whether the files of a job, or of a folder, are all there and whole."""

from __future__ import annotations

import os
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.analysis.job_logs import log_files, named_path
from jobmon_core.app.jobs.array_summary import in_order
from jobmon_core.app.jobs.overview import current_status
from jobmon_core.domain.artifacts.completeness import Completeness, Depth, bad, compare, unreadable
from jobmon_core.domain.artifacts.file_check import FileCheck, FileVerdict
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.job_settings import JobSettings
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.domain.slurm.states import Phase
from jobmon_core.observe.artifacts.formats.check import MAX_BYTES, WHOLE, check_file
from jobmon_core.observe.artifacts.tree import list_tree, sha256_of
from jobmon_core.observe.logs.open_file import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jobmon_core.context import Context
    from jobmon_core.domain.artifacts.completeness import StoredFile
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.domain.tracking.model import Task, WatchedJob
    from jobmon_core.observe.artifacts.tree import Tree

_WITH_RECORDS = ("csv", "json", "jsonl", "npy", "parquet")


class Wanted(NamedTuple):
    """What is verified."""

    source: str = ""  # the folder to compare with; empty for none
    depth: Depth = Depth.SIZE
    records: int | None = None  # at least so many in all files together


class JobFolder(NamedTuple):
    """The folder of the outputs of one task."""

    ref: JobRef
    folder: str
    pattern: str = ""  # a glob that the names of outputs match
    is_running: bool = False
    logs: tuple[str, ...] = ()  # which are no outputs


def folders_of(ctx: Context, job: WatchedJob, ref: JobRef) -> list[JobFolder]:
    """Return the folders of the outputs of a job, or of the part ``ref``.

    Raises:
        JobmonError: the user did not name one.
    """
    settings = job.settings or JobSettings()
    if not settings.output_dir:
        raise JobmonError(
            f"job {ref}: no folder of outputs is known; name one with `output_dir` in its jobmon.yaml or "
            "--output-dir, or give the folder itself: `jobmon verify DIR`"
        )
    job = current_status(ctx, job).job
    found: dict[str, JobFolder] = {}
    for task in in_order(list(job.tasks.values())):
        if ref.key in ("", task.key):
            folder = named_path(job, task, settings.output_dir)
            found.setdefault(folder, _folder_of(job, task, folder, settings))
    return list(found.values())


def _folder_of(job: WatchedJob, task: Task, folder: str, settings: JobSettings) -> JobFolder:
    pattern = named_path(job, task, settings.output_pattern)
    ref = ref_of(job.job_id, task.key)
    is_running = task.end is None and task.state.phase is Phase.ACTIVE
    return JobFolder(ref, folder, pattern, is_running, log_files(job, task))


def verify(ctx: Context, folder: str, wanted: Wanted, job: JobFolder | None = None) -> Completeness:
    """Return the verdict on a folder, or on a single file."""
    own = list_tree(folder)
    if job:
        own.files = dict(_outputs(own, job))
    checks = (
        []
        if wanted.depth is Depth.COUNT and wanted.records is None
        else list(_checks(own, folder, wanted, job))
    )
    found = Completeness(
        folder,
        len(own.files),
        sum(file.size_bytes for file in own.files.values()),
        damaged=bad(checks),
        unreadable=unreadable(checks),
        odd=tuple(check for check in checks if check.note),
        not_checked=len(own.files)
        - sum(check.verdict is FileVerdict.VALID or check.is_bad for check in checks),
        depth=wanted.depth,
        is_partial=own.is_partial,
        problem=own.problem,
    )
    if wanted.records is not None:
        found = _with_records(found, checks, wanted.records)
    return _against(ctx, found, own, wanted) if wanted.source else found


def _outputs(tree: Tree, job: JobFolder) -> Iterator[tuple[str, StoredFile]]:
    for name, file in tree.files.items():
        if f"{job.folder}/{name}" not in job.logs and (not job.pattern or fnmatchcase(name, job.pattern)):
            yield name, file


def _checks(own: Tree, folder: str, wanted: Wanted, job: JobFolder | None) -> Iterator[FileCheck]:
    max_bytes = MAX_BYTES if wanted.records is None else WHOLE
    is_running = job is not None and job.is_running
    for name in sorted(own.files):
        yield check_file(_path(folder, name), still_written=is_running, max_bytes=max_bytes)


def _path(folder: str, name: str) -> str:
    """Return the path of a file in a folder; the "folder" may be the file itself."""
    path = f"{folder}/{name}"
    return path if os.path.lexists(path) else folder


def _with_records(found: Completeness, checks: Iterable[FileCheck], expected: int) -> Completeness:
    counted = [check for check in checks if check.format.removesuffix(".gz") in _WITH_RECORDS]
    return replace(
        found,
        records=sum(check.records or 0 for check in counted),
        records_unknown=sum(check.records is None for check in counted),
        expected_records=expected,
    )


def _against(ctx: Context, found: Completeness, own: Tree, wanted: Wanted) -> Completeness:
    source = list_tree(wanted.source)
    changed, unread = _other_content(found.folder, own, wanted, source)
    compared = compare(own.files, source.files, wanted.depth, ctx.clock.now(), changed)
    return replace(
        found,
        source=wanted.source,
        source_count=len(source.files),
        missing=compared.missing,
        extra=compared.extra,
        different=compared.different,
        unreadable=(*found.unreadable, *unread),
        is_partial=found.is_partial or source.is_partial,
        problem=found.problem or source.problem,
    )


def _other_content(folder: str, own: Tree, wanted: Wanted, source: Tree) -> tuple[list[str], list[FileCheck]]:
    """Return the names of files of equal size whose content differs, and the files that cannot be read.

    Contents are only compared at the depth SHA256.
    """
    changed: list[str] = []
    unread: list[FileCheck] = []
    if wanted.depth is not Depth.SHA256:
        return changed, unread
    for name in sorted(own.files.keys() & source.files.keys()):
        if own.files[name].size_bytes != source.files[name].size_bytes:
            continue
        digests = set()
        for path in (_path(folder, name), _path(wanted.source, name)):
            try:
                digests.add(sha256_of(path))
            except Unreadable as problem:
                unread.append(FileCheck(path, "", FileVerdict.UNREADABLE, str(problem)))
        if len(digests) > 1:
            changed.append(name)
    return changed, unread
