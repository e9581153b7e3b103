"""Look at the outputs of a job that the user did not name, if its log or its script says where they are."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.analysis.artifacts import look_at_artifacts
from jobmon_core.analysis.job_logs import log_files, read_script, start_of_run_s
from jobmon_core.domain.artifacts.found import likely_folders, paths_in_log, paths_in_script
from jobmon_core.domain.artifacts.model import Artifacts
from jobmon_core.domain.job_settings import JobSettings
from jobmon_core.domain.slurm.log_paths import literal
from jobmon_core.observe.logs.read import read_head, read_tail

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from jobmon_core.analysis.outputs.listings import Listings
    from jobmon_core.domain.progress.events.event import Event
    from jobmon_core.domain.tracking.model import Task, WatchedJob

_PART_BYTES = 64 * 1024  # of the beginning and of the end of a log
_GROWN = 1.5  # logs are searched again once they are this many times as long: long ones rarely
_MAX_FOLDERS = 8


def look_at_all_found(
    job: WatchedJob,
    tasks: Iterable[Task],
    logs: Iterable[str],
    known: Mapping[str, Artifacts],
    now_s: float,
    *,
    listings: Listings,
) -> Iterator[tuple[str, Artifacts, tuple[Event, ...]]]:
    """Yield the key of each task, and what `look_at_found_outputs` returns for it.

    ``known`` is what the previous look found, by key. Tasks for which no time is left are left out: they come
    first the next time.
    """
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
    """Return what is in the folder that the log or the script names, and an event for a new checkpoint.

    The arguments are those of `look_at_artifacts`. While no such folder is known, the result has no outputs.
    """
    folder = before.outputs.folder if before.outputs else ""
    searched_bytes = before.searched_bytes
    if not folder:
        folder, searched_bytes = _search(job, task, searched_bytes, listings)
    if not folder:
        return Artifacts(searched_bytes=searched_bytes), ()
    settings = replace(job.settings or JobSettings(), output_dir=literal(folder))
    found, events = look_at_artifacts(
        replace(job, settings=settings), task, logs, before, now_s, listing_of=listings.list_files
    )
    outputs = replace(found.outputs, is_found=True) if found.outputs else None
    saved = replace(found.checkpoints, is_found=True) if found.checkpoints else None
    return replace(found, outputs=outputs, checkpoints=saved, searched_bytes=searched_bytes), events


def _search(job: WatchedJob, task: Task, searched_bytes: int, listings: Listings) -> tuple[str, int]:
    """Return the folder in which the job has written, or "", and the size of the logs that were searched.

    If no time is left to list all folders, the search counts all the same: it must not take the time of the
    other tasks in each look.
    """
    paths = [path for path in dict.fromkeys(log_files(job, task)) if path not in ("", os.devnull)]
    size_bytes = sum(map(_size, paths))
    if size_bytes < max(1, _GROWN * searched_bytes) and not (task.end and size_bytes > searched_bytes):
        return "", searched_bytes
    named = [*(_in_script(job, task) if not searched_bytes else ()), *_in_logs(paths, searched_bytes)]
    start_s = start_of_run_s(job, task)
    own = {os.path.realpath(each) for each in (job.workdir, os.path.expanduser("~"), "/tmp", "/")}  # noqa: PTH111, S108 - no outputs are looked for there
    for folder in likely_folders(os.path.join(job.workdir, path) for path in named)[:_MAX_FOLDERS]:  # noqa: PTH118 - texts
        if not listings.is_time_left:
            break
        place = os.path.normpath(folder)
        is_usable = os.path.isabs(place) and os.path.realpath(place) not in own  # noqa: PTH117 - as above
        if is_usable and _is_written(place, start_s, listings):
            return place, size_bytes
    return "", size_bytes


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116 - as in job_logs
    except (OSError, ValueError):
        return 0


def _in_logs(paths: Iterable[str], searched_bytes: int) -> Iterator[str]:
    for path in paths:
        if not searched_bytes:
            yield from paths_in_log(read_head(path, _PART_BYTES).excerpt.texts)
        yield from paths_in_log(read_tail(path, _PART_BYTES).excerpt.texts)


def _in_script(job: WatchedJob, task: Task) -> Iterator[str]:
    job_id = str(task.raw_job_id or job.job_id)
    variables = {
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
    script = job.command if job.command.startswith("/") else ""
    yield from paths_in_script(f"{job.command}\n{read_script(script)}", variables)


def _is_written(folder: str, start_s: float, listings: Listings) -> bool:
    """Whether a folder holds anything of this run."""
    found = listings.list_files(folder, ("*", "*/"), folders=True)
    return any(each.modified_s >= start_s for each in found.files)
