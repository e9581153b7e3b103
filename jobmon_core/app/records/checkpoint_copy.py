"""Copy the checkpoints from which a job can resume."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.app.artifacts.checkpoints import checkpoints_of
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.humanize import count

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.app.artifacts.checkpoints import CheckpointList
    from jobmon_core.context import Context
    from jobmon_core.domain.artifacts.checkpoints.model import Checkpoint
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.domain.tracking.model import WatchedJob

_ARCHIVES = shutil.ignore_patterns(".jobmon-archive-*")  # the archive may be written inside the checkpoint
_LATE_S = 60.0  # after the job's end, as clocks differ; a checkpoint saved later is that of another run


def copy_checkpoints(ctx: Context, job: WatchedJob, ref: JobRef, target: Path) -> list[str]:
    """Copy the checkpoint from which each task can resume to a new folder; return what is missing, and why.

    Tasks that share a folder of checkpoints share the copy.

    Raises:
        OSError: the new folder cannot be made, or what is left out cannot be removed.
    """
    try:
        lists = checkpoints_of(ctx, job, ref)
    except JobmonError as error:
        return [str(error)]
    missing = []
    for listed in lists:
        folder = target / str(listed.ref) if len(lists) > 1 else target
        newest = _to_resume_from(listed)
        if newest is None:
            problem = listed.found.problem or "there is none to resume from"
            if listed.found.newest_complete:
                problem = "they were saved after the job's end"
            missing.append(f"checkpoints in {listed.found.folder}: {problem}")
            continue
        missing += _copy(newest, Path(listed.found.folder), folder)
        if newest is not listed.found.newest_complete:
            missing.append(
                f"newer checkpoints in {listed.found.folder}, which were saved after the job's end"
            )
    return missing


def _to_resume_from(listed: CheckpointList) -> Checkpoint | None:
    """Return the newest checkpoint that is or may be complete, without those that later runs saved."""
    tasks = listed.job.tasks.values() if listed.job else ()
    ends = [task.end.ended_s if task.end else None for task in tasks]
    ended_s = max((each for each in ends if each is not None), default=None)
    if ended_s is None or None in ends:
        return listed.found.newest_complete
    saved = (each for each in listed.found.checkpoints if each.saved_s <= ended_s + _LATE_S)
    return replace(listed.found, checkpoints=tuple(saved)).newest_complete


def _copy(checkpoint: Checkpoint, searched: Path, target: Path) -> Iterator[str]:
    """Copy a checkpoint; yield why it is left out, if a part of it cannot be copied."""
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
