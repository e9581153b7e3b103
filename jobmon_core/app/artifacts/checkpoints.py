"""Use case: the checkpoints of a job, or of a folder."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.analysis.job_logs import checkpoint_folder, log_files, read_script
from jobmon_core.app.jobs.array_summary import in_order
from jobmon_core.app.jobs.output import with_log_paths
from jobmon_core.app.jobs.overview import current_status
from jobmon_core.domain.artifacts.checkpoints.mentions import named_folders, saved_paths
from jobmon_core.domain.artifacts.checkpoints.model import FoundCheckpoints
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.domain.slurm.states import Phase
from jobmon_core.observe.artifacts.checkpoints.find import find_checkpoints
from jobmon_core.observe.logs.read import read_tail

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.context import Context
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.domain.tracking.model import Task, WatchedJob

_MAX_MENTIONS = 3  # so many of the latest checkpoint paths in the logs of a task are looked at


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
    """Return the checkpoints of the tasks of a job, or of the part ``ref``: one list for each folder.

    Raises:
        JobmonError: no task has started.
    """
    job = with_log_paths(ctx, current_status(ctx, job).job)
    lists: dict[str, CheckpointList] = {}
    for task in in_order(list(job.tasks.values())):
        if ref.key not in ("", task.key) or (task.end is None and task.state.phase is Phase.WAITING):
            continue
        is_running = task.end is None and task.state.phase is Phase.ACTIVE
        found = _of_task(ctx, job, task, is_running=is_running)
        lists.setdefault(found.folder, CheckpointList(found, is_running, ref_of(job.job_id, task.key), job))
    if not lists:
        raise JobmonError(f"job {ref} has not started, so it has saved no checkpoints")
    return list(lists.values())


def _of_task(ctx: Context, job: WatchedJob, task: Task, *, is_running: bool) -> FoundCheckpoints:
    """Return the checkpoints of one task: in the folder that is named, else in one that holds any."""
    found = FoundCheckpoints(job.workdir, problem="no such folder")
    for folder in _folders(job, task):
        found = find_checkpoints(folder, ctx.clock.now(), is_running=is_running)
        if found.checkpoints:
            break
    newest = found.newest_complete
    if newest and newest.saved_s < (
        task.start_s or 0
    ):  # by an earlier run, whose pace need not be this one's
        return replace(found, interval_s=None)
    return found


def _folders(job: WatchedJob, task: Task) -> Iterator[str]:
    """Yield where the checkpoints may be: as the user says, the log, the script; else the working folder."""
    if named := checkpoint_folder(job, task):
        yield named
        return
    lines = [
        line
        for path in dict.fromkeys(filter(None, log_files(job, task)))
        for line in read_tail(path).excerpt.texts
    ]
    for path in reversed(saved_paths(lines)[-_MAX_MENTIONS:]):
        yield os.path.dirname(os.path.join(job.workdir, path))  # noqa: PTH118, PTH120 - a text
    for folder in named_folders(read_script(job.command)):
        yield os.path.join(job.workdir, folder)  # noqa: PTH118 - a text
    if job.workdir:
        yield job.workdir
