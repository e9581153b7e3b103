"""Copy the checkpoints from which a job can resume."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.app.artifacts.checkpoints import checkpoints_of
from jobmon_core.domain.errors import JobmonError
from jobmon_core.system.files import failure_reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.app.artifacts.checkpoints import CheckpointList
    from jobmon_core.context import Context
    from jobmon_core.domain.artifacts.checkpoints.model import Checkpoint
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.domain.tracking.model import WatchedJob

_LATE_S = 60.0  # clocks of file servers differ: a checkpoint saved later is that of another run


def copy_checkpoints(ctx: Context, job: WatchedJob, ref: JobRef, target: Path) -> list[str]:
    """Copy the checkpoint to resume from, of each task, into a new folder; return what is missing, and why.

    Tasks that share a folder of checkpoints share the copy.

    Raises:
        OSError: the copy cannot be written, or reading a file fails midway.
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
            missing.append(f"checkpoints in {listed.found.folder}: {problem}")
        else:
            missing += _copy(newest, Path(listed.found.folder), folder)
    return missing


def _to_resume_from(listed: CheckpointList) -> Checkpoint | None:
    """Return the newest checkpoint that is, or may be, complete; later runs may have saved newer ones."""
    task = listed.job.tasks.get(listed.ref.key) if listed.job and listed.ref else None
    ended_s = task.end.ended_s if task and task.end else None
    if ended_s is None:
        return listed.found.newest_complete
    saved = (each for each in listed.found.checkpoints if each.saved_s <= ended_s + _LATE_S)
    return replace(listed.found, checkpoints=tuple(saved)).newest_complete


def _copy(checkpoint: Checkpoint, source: Path, target: Path) -> Iterator[str]:
    """Copy the files of a checkpoint; yield why it is left out, if one of them cannot be read."""
    above = Path(checkpoint.path).parent
    for name in checkpoint.files:
        copy = target / Path(name).relative_to(above)
        copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            file = (source / name).open("rb")
        except OSError as error:
            shutil.rmtree(target)
            yield f"the checkpoint {checkpoint.path}: {failure_reason(source / name, error)}"
            return
        with file, copy.open("xb") as written:
            shutil.copyfileobj(file, written)
