"""Rename incomplete checkpoints for programs that resume from the highest number, whatever is in it.

Only if the user asks for it (`RestartSettings.set_aside`); nothing else of jobmon changes a checkpoint.
"""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING

from jobmon_core.analysis.outputs.checkpoints import CheckpointSearch
from jobmon_core.analysis.restarts.pick import own_checkpoints
from jobmon_core.domain.errors import StorageFailed

if TYPE_CHECKING:
    from jobmon_core.domain.artifacts.checkpoints.model import Checkpoint
    from jobmon_core.domain.job.job_progress import JobProgress
    from jobmon_core.domain.job.restart.model import Decision, Lineage, PickedCheckpoint
    from jobmon_core.domain.job.tracking.model import WatchedJob

_ASIDE = re.compile(r"\.incomplete-\d+$")


def set_aside(
    job: WatchedJob,
    progress: JobProgress,
    lineage: Lineage,
    decision: Decision,
    now_s: float,
    *,
    script: str = "",
) -> tuple[str, ...]:
    """If the user wants it, rename the incomplete checkpoints above the picked one; return the new paths.

    Args:
        job: the attempt, which has ended; its number becomes a part of the new names.
        progress: what its monitor has seen.
        lineage: the lineage of the attempt.
        decision: with the picked checkpoint, and the proof that the attempt is dead; without a proof,
            nothing is renamed.
        now_s: the time, Unix seconds.
        script: the text of its script; if empty, the file is read.

    Raises:
        StorageFailed: a checkpoint cannot be renamed.
    """
    place, moved = job.attempt, list[str]()
    if place is None or not lineage.settings.set_aside or not decision.proof:
        return ()
    (task,) = job.tasks.values()
    search = CheckpointSearch(job, task, progress, now_s, script)
    for path, found in list(own_checkpoints(search, lineage)):
        is_incomplete = found.is_complete is False  # one that may be complete is left alone
        if not is_incomplete or _ASIDE.search(path) or not _is_above(found, decision.checkpoint):
            continue
        aside = f"{path}.incomplete-{place.number}"
        if _may_be_renamed(path) and not os.path.lexists(aside):
            try:
                os.rename(path, aside)  # noqa: PTH104 - as in the modules that read logs: paths are strings
            except OSError as error:
                raise StorageFailed(f"{path} cannot be renamed: {error.strerror}") from error
            moved.append(aside)
    return tuple(moved)


def _is_above(found: Checkpoint, picked: PickedCheckpoint | None) -> bool:
    """Whether a checkpoint is of a higher step than the picked one, or newer."""
    return picked is None or (found.step or 0) > (picked.step or 0) or found.saved_s > picked.saved_s


def _may_be_renamed(path: str) -> bool:
    """Whether the user owns a file or folder that is no link, and lies on the disk of its parent folder."""
    try:
        status, parent = os.lstat(path), os.lstat(os.path.dirname(path))  # noqa: PTH120 - texts
    except OSError:  # it is gone, or a name that several files begin with: a program finds no such checkpoint
        return False
    is_plain = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
    return is_plain and status.st_uid == os.geteuid() and status.st_dev == parent.st_dev
