"""Use case: the checkpoints of a job, or of a folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.analysis.outputs.checkpoints import CheckpointSearch, checkpoints_of_task
from jobmon_core.app.jobs.output import with_log_paths
from jobmon_core.app.jobs.overview import current_status, in_order
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.domain.slurm.states import Phase
from jobmon_core.observe.artifacts.find_checkpoints import find_checkpoints

if TYPE_CHECKING:
    from jobmon_core.context import Context
    from jobmon_core.domain.artifacts.checkpoints.model import FoundCheckpoints
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.slurm.job_ids import JobRef


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
    progress, record = ctx.progress_file(job.id).read(), ctx.run_record(job.id).taken()
    script = (record.script.text if record and record.script else None) or ""
    lists: dict[str, CheckpointList] = {}
    for task in in_order(list(job.tasks.values())):
        if ref.key not in ("", task.key) or (task.end is None and task.state.phase is Phase.WAITING):
            continue
        is_running = task.end is None and task.state.phase is Phase.ACTIVE
        machine = ctx.machine_folders(job)
        search = CheckpointSearch(job, task, progress, ctx.clock.now(), script, is_running, machine)
        found = checkpoints_of_task(search)
        lists.setdefault(found.folder, CheckpointList(found, is_running, ref_of(job.job_id, task.key), job))
    if not lists:
        raise JobmonError(f"job {ref} has not started, so it has saved no checkpoints")
    return list(lists.values())
