"""Look at the outputs and checkpoints that the user, the log or the script of a running job names."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.analysis.job_logs import (
    checkpoint_folder,
    is_shared,
    named_path,
    own_files_of_runs,
    script_of,
    written_logs,
)
from jobmon_core.domain.artifacts.found import likely_folders, paths_in_log, paths_in_script
from jobmon_core.domain.artifacts.look import checkpoints_after, outputs_after
from jobmon_core.domain.artifacts.model import Artifacts
from jobmon_core.domain.job.own_files import Origin, OwnFiles
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.slurm.log_paths import literal
from jobmon_core.observe.artifacts.listing import disk_of, list_files
from jobmon_core.observe.logs.read import read_head, read_tail

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from jobmon_core.domain.artifacts.model import Listing
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob

_PART_BYTES = 64 * 1024  # of the beginning and of the end of a log
_GROWN = 1.5  # logs that are so many times as long are searched again
_MAX_FOLDERS = 8
_MAX_LISTING_S = 2.0  # of one look; the helper that also reads the logs has 20 s


class Listings:
    """The folders that were listed within one look, and how long that took."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin a look; ``clock`` returns seconds."""
        self._clock, self._spent_s = clock, 0.0
        self._listed: dict[tuple[str, tuple[str, ...], bool, frozenset[str]], Listing] = {}

    @property
    def is_time_left(self) -> bool:
        """Whether another folder may be listed."""
        return self._spent_s < _MAX_LISTING_S

    def list_files(
        self, folder: str, patterns: Iterable[str], *, folders: bool = False, without: Iterable[str] = ()
    ) -> Listing:
        """Return what `list_files` returned at the first call with these arguments."""
        names, others = tuple(patterns), frozenset(without)
        key = folder, names, folders, others
        if key not in self._listed:
            began_s = self._clock()
            self._listed[key] = list_files(folder, names, folders=folders, without=others)
            self._spent_s += self._clock() - began_s
        return self._listed[key]


def look_at_all_found(
    job: WatchedJob,
    tasks: Iterable[Task],
    logs: Iterable[str],
    known: Mapping[str, Artifacts],
    now_s: float,
    *,
    listings: Listings,
) -> Iterator[tuple[str, Artifacts, tuple[Event, ...]]]:
    """Yield what `look_at_found_outputs` returns for each task, by its key, while time is left."""
    looks = [(task, known.get(task.key, Artifacts())) for task in tasks]
    for task, before in sorted(looks, key=lambda look: look[1].looked_s):
        if not listings.is_time_left:
            return
        yield task.key, *look_at_found_outputs(job, task, logs, before, now_s, listings=listings)


def look_at_found_outputs(
    job: WatchedJob,
    task: Task,
    logs: Iterable[str],
    before: Artifacts,
    now_s: float,
    *,
    listings: Listings,
) -> tuple[Artifacts, tuple[Event, ...]]:
    """Return what is in the folder that the log or the script names, and a new checkpoint's event."""
    folder = before.outputs.folder if before.outputs else ""
    searched_bytes = before.searched_bytes
    if not folder:
        folder, searched_bytes = _search(job, task, searched_bytes, listings)
    if not folder:
        return Artifacts(searched_bytes=searched_bytes), ()
    settings = replace(job.own_settings, output_dir=literal(folder))
    found, events = look_at_artifacts(
        replace(job, settings=settings),
        task,
        logs,
        before,
        now_s,
        listing_of=listings.list_files,
        origin=Origin.FOUND,
    )
    outputs = replace(found.outputs, is_found=True) if found.outputs else None
    saved = replace(found.checkpoints, is_found=True) if found.checkpoints else None
    return replace(found, outputs=outputs, checkpoints=saved, searched_bytes=searched_bytes), events


def _search(job: WatchedJob, task: Task, searched_bytes: int, listings: Listings) -> tuple[str, int]:
    """Return the folder in which the job has written, or "", and the size of the logs that were searched.

    A search that runs out of time counts: it must not take the time of other tasks each time.
    """
    if not job.workdir:  # the record that names it and the script has not been read yet
        return "", searched_bytes
    size_bytes = size_to_search(task, written_logs(job, task), searched_bytes)
    if size_bytes is None:
        return "", searched_bytes
    own = own_files_of_runs(job, task, Origin.FOUND, are_shared=False)
    if not own.can_be_seen:
        return "", size_bytes
    for folder in folders_named(job, task, searched_bytes):
        if not listings.is_time_left:
            break
        if not is_general(folder, job.workdir) and _is_written(folder, own, listings):
            return folder, size_bytes
    return "", size_bytes


def folders_named(job: WatchedJob, task: Task, searched_bytes: int = 0, script: str = "") -> list[str]:
    """Return the folders that the log or the script names, the likeliest first; they need not exist.

    Of the logs, ``searched_bytes`` were searched before.
    """
    named = [
        *_in_script(job, task, script),
        *paths_in_log(lines_of_logs(written_logs(job, task), searched_bytes)),
    ]
    folders = likely_folders(os.path.join(job.workdir, path) for path in named)[:_MAX_FOLDERS]  # noqa: PTH118 - texts
    return [os.path.normpath(each) for each in folders if os.path.isabs(each)]  # noqa: PTH117 - as above


def is_general(folder: str, workdir: str) -> bool:
    """Whether many jobs work in a folder: the working directory, the home, or one above them."""
    place = os.path.join(os.path.realpath(folder), "")  # noqa: PTH118 - texts
    own = (workdir, os.path.expanduser("~"), "/tmp")  # noqa: PTH111, S108 - nothing is written there
    return any(os.path.join(os.path.realpath(each), "").startswith(place) for each in own)  # noqa: PTH118 - texts


def size_to_search(task: Task, logs: Iterable[str], searched_bytes: int) -> int | None:
    """Return the size of logs if they are to be searched again: they grew by half, or the task has ended."""
    size_bytes = sum(map(_size, logs))
    has_grown = size_bytes >= max(1, _GROWN * searched_bytes)
    return size_bytes if has_grown or (task.end and size_bytes > searched_bytes) else None


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116 - as in job_logs
    except (OSError, ValueError):
        return 0


def lines_of_logs(paths: Iterable[str], searched_bytes: int = 0) -> Iterator[str]:
    """Yield the lines at the beginning of logs, if they were not searched before, and at their ends."""
    for path in paths:
        if not searched_bytes:
            yield from read_head(path, _PART_BYTES).texts
        yield from read_tail(path, _PART_BYTES).texts


def _in_script(job: WatchedJob, task: Task, script: str) -> Iterator[str]:
    script = script or script_of(job)
    yield from paths_in_script(f"{job.command}\n{script}", script_variables(job, task))


def script_variables(job: WatchedJob, task: Task) -> dict[str, str]:
    """Return the variables of a job's environment that its script may use in paths."""
    job_id = str(task.raw_job_id or job.job_id)
    return {
        **dict.fromkeys(("SLURM_JOB_ID", "SLURM_JOBID"), job_id),
        "SLURM_ARRAY_JOB_ID": str(job.job_id),
        **({"SLURM_ARRAY_TASK_ID": task.key} if task.key.isdigit() else {}),
        "SLURM_JOB_NAME": job.name,
        # with --chdir, the folder of the submission is another one, which Slurm does not report; a wrong
        # folder is not used, since nothing in it is new
        **dict.fromkeys(("SLURM_SUBMIT_DIR", "PWD"), job.workdir),
        "USER": job.user,
        "HOME": os.path.expanduser("~"),  # noqa: PTH111 - pathlib's raises without a home
    }


def _is_written(folder: str, own: OwnFiles, listings: Listings) -> bool:
    found = listings.list_files(folder, ("*", "*/"), folders=True)
    return any(own.include(each.modified_s, each.owner) for each in found.files)


def artifacts_key(job: WatchedJob, task: Task) -> str | None:
    """Return the key of a task's files: "" if the array shares them, None if the user named none."""
    settings = job.own_settings
    if not (settings.output_names or settings.checkpoint_names):
        return None
    named = settings.output_dir, settings.output_pattern, settings.checkpoint_dir, settings.checkpoint_pattern
    if is_shared(job, "".join(named)):
        return ""
    return task.key


def own_artifacts(job: WatchedJob, found: Artifacts) -> Artifacts:
    """Return what no other task of the array writes."""
    settings = job.own_settings
    saved = (settings.checkpoint_dir or settings.output_dir) + settings.checkpoint_pattern
    written = settings.output_dir + settings.output_pattern
    return replace(
        found,
        outputs=None if is_shared(job, written) else found.outputs,
        checkpoints=None if is_shared(job, saved) else found.checkpoints,
    )


def look_at_artifacts(
    job: WatchedJob,
    task: Task,
    logs: Iterable[str],
    before: Artifacts,
    now_s: float,
    *,
    listing_of: Callable[..., Listing] = list_files,
    origin: Origin = Origin.NAMED,
) -> tuple[Artifacts, tuple[Event, ...]]:
    """Return what the named folders hold, and an event if a checkpoint is new.

    Only the job's own checkpoints count, and its own outputs in a folder that the user did not name.
    """
    settings = job.own_settings
    saved_in = checkpoint_folder(job, task) or job.workdir
    written_in = named_path(job, task, settings.output_dir) or job.workdir
    checkpoints, outputs = None, None
    events: tuple[Event, ...] = ()
    own = own_files_of_runs(job, task, origin, are_shared=artifacts_key(job, task) != task.key)
    saved = _own_part(listing_of(saved_in, _names(job, task, settings.checkpoint_names), folders=True), own)
    if saved.files or settings.checkpoint_dir or settings.checkpoint_pattern:
        checkpoints, new = checkpoints_after(
            before.checkpoints, saved, _started_s(job, task), now_s, ended=task.end is not None
        )
        if new:
            at_s = min(now_s, new.modified_s)
            events = (Event(at_s, EventKind.CHECKPOINT, f"checkpoint saved ({new.name})"),)
    if settings.output_names:
        not_outputs = {*logs, *(f"{saved_in}/{file.name}" for file in saved.files)}
        written = listing_of(written_in, _names(job, task, settings.output_names), without=not_outputs)
        written = written if origin is Origin.NAMED else _own_part(written, own)
        min_per_s = (settings.min_growth_bytes or 0.0) / (settings.check_interval_s or Policy().running_s)
        outputs = outputs_after(before.outputs, written, now_s, min_per_s)
    disk = disk_of(written_in if outputs else saved_in)
    return Artifacts(now_s, outputs, checkpoints, disk), events


def _own_part(listing: Listing, own: OwnFiles) -> Listing:
    return replace(
        listing, files=tuple(each for each in listing.files if own.include(each.modified_s, each.owner))
    )


def outputs_elsewhere(
    known: Mapping[str, Artifacts], listings: Iterable[Listing], now_s: float
) -> dict[str, Artifacts]:
    """Return the outputs of a job on another machine, by key."""
    listing = next(iter(listings), None)
    if listing is None:
        return {}
    before = known.get("", Artifacts()).outputs
    return {"": Artifacts(now_s, outputs_after(before, listing, now_s))}


def _names(job: WatchedJob, task: Task, names: tuple[str, ...]) -> list[str]:
    return [named_path(job, task, name) for name in names]


def _started_s(job: WatchedJob, task: Task) -> float:
    """Return the start of the run, or the submission of an array that shares the files."""
    own = task.start_s if artifacts_key(job, task) == task.key else None
    return own or job.submitted_s or job.registered_s
