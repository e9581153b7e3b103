"""Put everything that jobmon knows about a job, and its logs, into one folder or one file."""

from __future__ import annotations

import itertools
import os
import shutil
import tarfile
import tempfile
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.analysis.job_logs import log_files, logs_of_run
from jobmon_core.app.jobs.artifacts import checkpoints_of
from jobmon_core.app.jobs.find import find_job
from jobmon_core.app.jobs.output import with_log_paths
from jobmon_core.app.jobs.report import collect_report
from jobmon_core.app.records.redacted_copy import copy_json, copy_text, create_private, write_text
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.humanize import count
from jobmon_core.domain.many.provenance.model import ScriptKind
from jobmon_core.observe.logs.open_file import Unreadable
from jobmon_core.system.files import failure_reason, read_own, storage_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jobmon_core.app.jobs.report import ReportData
    from jobmon_core.context import Context
    from jobmon_core.domain.artifacts.checkpoints.model import Checkpoint
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.slurm.job_ids import JobRef

_ARCHIVES = shutil.ignore_patterns(".jobmon-archive-*")  # the archive may be written inside the checkpoint
_MAX_JSON_BYTES = 256 * 2**20
_TAR_SUFFIXES = (".tar.gz", ".tgz")
_CONTENTS = {
    "state.json": "what jobmon knows of the job: its states, its end, the diagnosis, the messages",
    "run.json": "what was run: command line, git commit, packages, modules, names of variables",
    "script": "the batch script, as it was submitted",
    "report.html": "the whole run on one page; open it in a browser",
    "notes.txt": "the notes about the job",
    "progress.json": "the progress and the events",
    "monitor.log": "the log of jobmon's monitor",
    "logs": "the job's own output",
    "telemetry": "what agents measured beside the job",
    "checkpoints": "the checkpoint to resume from, as it was saved",
}


@dataclass(slots=True)
class Archive:
    """What became of an archive."""

    ref: JobRef
    path: Path
    files: int = 0
    left_out: list[str] = field(default_factory=list)


def archive_job(
    ctx: Context,
    argument: str,
    target: Path,
    html: Callable[[ReportData], str],
    *,
    with_checkpoint: bool = False,
) -> Archive:
    """Write the archive of a job to ``target``, a folder, or one file if the name ends in .tar.gz or .tgz.

    ``html`` makes a report a page. ``with_checkpoint``: the checkpoint to resume from is copied, too,
    unchanged and whatever its size. Nothing is left at ``target`` if this fails; it may not exist, except as
    an empty folder.
    """
    job, ref = find_job(ctx, argument)
    if os.path.lexists(target) and not (target.is_dir() and not any(target.iterdir())):
        raise JobmonError(f"{target} exists already, and jobmon overwrites nothing: name another one")
    archive = Archive(ref, target)
    parent = target.absolute().parent
    with (
        storage_errors(target, "written"),
        tempfile.TemporaryDirectory(prefix=".jobmon-archive-", dir=parent) as temporary,
    ):
        folder = Path(temporary, f"job-{ref}")
        folder.mkdir(mode=0o700)
        if with_checkpoint:
            archive.left_out += _copy_checkpoints(ctx, job, ref, folder / "checkpoints")
        _fill(ctx, job, archive, folder, html)
        _publish(folder, target)
    return archive


def _publish(folder: Path, target: Path) -> None:
    if not target.name.endswith(_TAR_SUFFIXES):
        folder.rename(target)
        return
    packed = folder.with_suffix(".tar.gz")
    with tarfile.open(packed, "w:gz") as tar:
        tar.add(folder, folder.name)
    packed.chmod(0o600)
    try:
        os.link(packed, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        _copy_to_new(packed, target)


def _copy_to_new(source: Path, target: Path) -> None:
    """A failure leaves no part of the copy."""
    with source.open("rb") as packed, open(create_private(target), "wb") as copy:
        try:
            shutil.copyfileobj(packed, copy)
        except BaseException:
            target.unlink(missing_ok=True)
            raise


def _fill(
    ctx: Context, job: WatchedJob, archive: Archive, folder: Path, html: Callable[[ReportData], str]
) -> None:
    _copy_records(ctx, job, archive, folder)
    record = ctx.run_record(job.id).taken()
    if record and record.script and record.script.text is not None:
        with _left_out_if_damaged(archive, "the script"):
            write_text(folder / "script", record.script.text)
    elif record and record.script and record.script.kind is not ScriptKind.COMMAND:  # which has no script
        archive.left_out.append(f"the script {record.script.why_no_text or 'was not recorded'}")
    with _left_out_if_damaged(archive, "the notes"):
        if notes := ctx.notes(job.id).read_to_change().notes:
            lines = (f"{_local_time(note.at_s)}  {note.text}\n" for note in notes)
            write_text(folder / "notes.txt", "".join(lines))
    page = None
    with _left_out_if_damaged(archive, "the report"):
        page = html(collect_report(ctx, str(archive.ref)))
    if page is not None:
        write_text(folder / "report.html", page)
    _copy_logs(ctx, job, archive, folder)
    write_text(folder / "README.txt", _readme(job, archive, folder, ctx.clock.now()))
    archive.files = sum(len(names) for _, _, names in os.walk(folder))


def _copy_records(ctx: Context, job: WatchedJob, archive: Archive, folder: Path) -> None:
    sources = {
        "state.json": ctx.store.path(job.id),
        "run.json": ctx.home.run_file(job.id),
        "progress.json": ctx.home.progress_file(job.id),
    }
    for name, path in sources.items():
        try:
            content = read_own(path, _MAX_JSON_BYTES)
        except FileNotFoundError:
            continue
        except OSError as error:
            archive.left_out.append(f"{path}: cannot be read: {failure_reason(path, error)}")
            continue
        # short values could be guessed from the digests in run.json: only the names of variables go out
        names_only = ("environment",) if name == "run.json" else ()
        with _left_out_if_damaged(archive, str(path)):
            copy_json(content, folder / name, names_only)


@contextmanager
def _left_out_if_damaged(archive: Archive, what: str) -> Iterator[None]:
    try:
        yield
    except JobmonError as error:
        archive.left_out.append(f"{what}: {error}")
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        archive.left_out.append(f"{what}: damaged ({error})")


def _readme(job: WatchedJob, archive: Archive, folder: Path, now_s: float) -> str:
    contents = (f"{name:<14} {what}" for name, what in _CONTENTS.items() if (folder / name).exists())
    lines = (
        f"Archive of job {archive.ref} {job.name}, written by jobmon on {_local_time(now_s)}.",
        "",
        *contents,
        "",
        "Text that looks like a password or a token is replaced by [hidden], except in checkpoints.",
        *(f"Left out: {each}." for each in archive.left_out),
    )
    return "".join(f"{line}\n" for line in lines)


def _local_time(at_s: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(at_s))
    except (OverflowError, ValueError, OSError):
        return "?"


def _copy_logs(ctx: Context, job: WatchedJob, archive: Archive, folder: Path) -> None:
    logs = folder / "logs"
    logs.mkdir(mode=0o700)
    monitor_log = ctx.home.log_file(job.id)
    copies = [(str(monitor_log), folder / "monitor.log"), *_telemetry(ctx, job, folder)]
    rotated = monitor_log.with_suffix(".log.1")
    if rotated.exists():
        copies.append((str(rotated), folder / "monitor.log.1"))
    taken: set[str] = set()
    for path in _job_logs(ctx, job):
        name = _free_name(Path(path).name, taken)
        taken.add(name)
        copies.append((path, logs / name))
    for source, target in copies:
        try:
            if omitted := copy_text(source, target):
                archive.left_out.append(f"of {source}, {omitted}")
        except Unreadable as error:
            target.unlink(missing_ok=True)
            archive.left_out.append(f"{source}: {error}")


def _free_name(name: str, taken: set[str]) -> str:
    names = itertools.chain((name,), (f"{number}-{name}" for number in itertools.count(2)))
    return next(each for each in names if each not in taken)


def _job_logs(ctx: Context, job: WatchedJob) -> list[str]:
    with suppress(JobmonError):  # no such scheduler on this host: what is known must do
        job = with_log_paths(ctx, job)
    started = [task for task in job.tasks.values() if task.has_started or (task.end and task.end.started_s)]
    paths = [path for task in started for path in (*log_files(job, task), *logs_of_run(job, task))]
    return [path for path in dict.fromkeys(paths) if path and path != os.devnull]


def _telemetry(ctx: Context, job: WatchedJob, folder: Path) -> Iterator[tuple[str, Path]]:
    root = ctx.home.telemetry(job.id)
    for source in sorted(root.rglob("*")) if root.is_dir() else ():
        if source.is_file() and not source.is_symlink():
            target = folder / "telemetry" / source.relative_to(root)
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            yield str(source), target


def _copy_checkpoints(ctx: Context, job: WatchedJob, ref: JobRef, target: Path) -> list[str]:
    """Copy the checkpoint from which each task can resume; return what is missing, and why.

    Tasks that share a folder of checkpoints share the copy.
    """
    try:
        lists = checkpoints_of(ctx, job, ref)
    except JobmonError as error:
        return [str(error)]
    missing = []
    for listed in lists:
        folder = target / str(listed.ref) if len(lists) > 1 else target
        newest = listed.found.newest_complete
        if newest is None:
            where = f" in {listed.found.folder}" if listed.found.folder else ""
            missing.append(f"checkpoints{where}: {listed.found.problem or 'there is none to resume from'}")
            continue
        missing += _copy(newest, Path(listed.found.folder), folder)
    return missing


def _copy(checkpoint: Checkpoint, searched: Path, target: Path) -> Iterator[str]:
    source = searched / checkpoint.path
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        for name in checkpoint.files:
            shutil.copy2(searched / name, target)
        if not checkpoint.files:
            shutil.copytree(source, target / source.name, ignore=_ARCHIVES, ignore_dangling_symlinks=True)
    except shutil.Error as error:
        shutil.rmtree(target)
        failed = [str(reason) for _, _, reason in error.args[0]]
        yield f"the checkpoint {source}: {count(len(failed), 'file')} of it cannot be copied: {failed[0]}"
    except OSError as error:
        shutil.rmtree(target)
        yield f"the checkpoint {source}: {error.strerror or error}"
