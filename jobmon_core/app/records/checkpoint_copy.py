"""Copy the checkpoints from which a job can resume."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.app.artifacts.checkpoints import checkpoints_of
from jobmon_core.domain.errors import JobmonError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.context import Context
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.domain.tracking.model import WatchedJob


def copy_checkpoints(ctx: Context, job: WatchedJob, ref: JobRef, target: Path) -> list[str]:
    """Copy the newest complete checkpoint of each task into a new folder; return what is missing, and why.

    Tasks that share a folder of checkpoints share the copy.

    Raises:
        OSError: a checkpoint cannot be read, or the copy cannot be written.
    """
    try:
        lists = checkpoints_of(ctx, job, ref)
    except JobmonError as error:
        return [str(error)]
    missing = []
    for number, listed in enumerate(lists):
        newest = listed.found.newest_complete
        if newest is None:
            missing.append(f"the checkpoints in {listed.found.folder}: none is complete")
            continue
        folder = target / str(listed.ref or number) if len(lists) > 1 else target
        folder.mkdir(parents=True)
        for source in _parts(Path(listed.found.folder, newest.path)):
            if source.is_dir():
                shutil.copytree(source, folder / source.name)
            else:
                shutil.copy2(source, folder)
    return missing


def _parts(checkpoint: Path) -> Iterator[Path]:
    """Yield the folder or file of a checkpoint; of several files in a folder with others, each of them."""
    if checkpoint.exists():
        yield checkpoint
        return
    yield from sorted(checkpoint.parent.glob(f"{checkpoint.name}.*"))
