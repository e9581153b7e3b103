"""Pick the checkpoint from which the next attempt of a lineage resumes, and see that it is still the same.

It must be complete: a run that resumes from half a checkpoint fails, or silently starts from scratch, which
costs more than the steps since the one before. Loading it may execute code: all of its files, and those to
which its links lead, must belong to the user or to root.
"""

from __future__ import annotations

import glob
import os
import re
import stat
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING

from jobmon_core.analysis.checkpoints import CheckpointSearch, folder_of, looks_for_checkpoints
from jobmon_core.analysis.job_logs import own_files_of_runs
from jobmon_core.domain.artifacts.checkpoints.recognize import counts_epochs
from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.job.own_files import KILLED_TOLERANCE_S, TOLERANCE_S
from jobmon_core.domain.job.restart.decide import is_beyond
from jobmon_core.domain.job.restart.model import Lineage, PickedCheckpoint
from jobmon_core.observe.artifacts.find_checkpoints import find_checkpoints

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon_core.domain.artifacts.checkpoints.model import Checkpoint, FoundCheckpoints
    from jobmon_core.domain.job.job_progress import JobProgress
    from jobmon_core.domain.job.restart.model import Decision
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.domain.logs.progress.model import Progress
    from jobmon_core.scheduler.base import JobMachine

_NO_LINEAGE = Lineage()
_ROOT = 0
STEPS = ("step", "it")  # units of work that the numbers of checkpoints count, too
_ELSEWHERE = (0, 0)  # device and inode of a checkpoint on another machine
_CLOCKS_S = 5.0
# a copy without a number, e.g. ``last.ckpt``, is written with the numbered one of the same save
_SAME_SAVE_S = 60.0
_ASIDE = re.compile(r"\.incomplete-\d+$")


def pick(
    job: WatchedJob,
    task: Task,
    progress: JobProgress,
    now_s: float,
    *,
    script: str = "",
    lineage: Lineage = _NO_LINEAGE,
    machine: JobMachine | None = None,
) -> PickedCheckpoint | None:
    """Return the newest complete checkpoint of an attempt that has ended, or of the attempts before it.

    Of numbered ones the highest step counts, not the latest time; one beyond all the work only if no other is
    complete: a program would find nothing left to do. If the attempt resumed from one, no later one of an
    earlier attempt counts: that was incomplete, or the user chose to go back.
    """
    search = CheckpointSearch(job, task, progress, now_s, script, machine=machine)
    every = [each for each in own_checkpoints(search, lineage) if each.is_complete]
    complete = [each for each in (as_picked(own, machine) for own in every) if each]
    work = work_of(task, progress)
    total = work.total if work and work.unit in STEPS else None
    if found := _newest([each for each in complete if not is_beyond(each, total)]) or _newest(complete):
        return found
    resumed = _resumed_from(job, lineage)
    return resumed if resumed and is_still(resumed, machine) else None


def work_of(task: Task, progress: JobProgress) -> Progress | None:
    """Return how far the task came."""
    followed = progress.tasks.get(task.key)
    return followed.progress if followed else None


def _newest(complete: Sequence[PickedCheckpoint]) -> PickedCheckpoint | None:
    """Return the newest of these; of numbered ones, that of the highest step or epoch."""
    latest = max(complete, key=attrgetter("saved_s"), default=None)
    numbered = [each for each in complete if each.step is not None]
    newest = max(numbered, key=attrgetter("saved_s"), default=None)
    if latest is None or newest is None or latest.saved_s > newest.saved_s + _SAME_SAVE_S:
        return latest
    is_epoch = counts_epochs(newest.path)
    comparable = [each for each in numbered if counts_epochs(each.path) == is_epoch]
    return max(comparable, key=lambda each: (each.step or 0, each.saved_s))


def is_still(picked: PickedCheckpoint, machine: JobMachine | None = None) -> bool:
    """Whether a picked checkpoint is there, the same folder or file, unchanged, and complete.

    Raises:
        SchedulerUnavailable: it is on another ``machine``, which does not answer.
    """
    each, _ = checkpoint_at(picked.path, picked.saved_s, machine)
    if each is None or not each.is_complete:
        return False
    if machine:  # whose clock is read in whole seconds, and after a round trip
        return abs(each.saved_s - picked.saved_s) < _CLOCKS_S
    now = as_picked(each)
    return now is not None and now.identity == picked.identity


def checkpoint_at(
    path: str, now_s: float, machine: JobMachine | None = None
) -> tuple[Checkpoint | None, str]:
    """Return the checkpoint with this absolute path, complete or not, or why there is none."""
    folder, name = os.path.split(path)
    place, listed, read = folder_of(machine, folder)
    looked = find_checkpoints(
        place, now_s, levels_below=1, pattern=glob.escape(name), listed=listed, evidence=read
    )
    return next((each for each in in_folder(looked) if each.path == path), None), looked.problem


def own_checkpoints(search: CheckpointSearch, lineage: Lineage = _NO_LINEAGE) -> Iterator[Checkpoint]:
    """Yield the checkpoints that the attempts of a lineage saved, complete or not, with absolute paths.

    What was saved while no attempt ran is a stranger's.
    """
    job = search.job
    own = own_files_of_runs(job, search.task, are_shared=False)
    resumed, earlier = _resumed_from(job, lineage), list(_earlier_runs(job, lineage))
    since_s = min((start_s for start_s, _ in earlier), default=float("inf"))
    folders = [os.path.dirname(each.resume.path) for each in lineage.attempts if each.resume]  # noqa: PTH120 - texts
    known = set[str]()
    for looked in looks_for_checkpoints(search, since_s=since_s, further=folders):
        for each in in_folder(looked):
            is_earlier = each.saved_s < own.since_s
            if is_earlier and not any(start_s <= each.saved_s <= end_s for start_s, end_s in earlier):
                continue
            if each.path not in known and not (is_earlier and resumed and _is_later(each, resumed)):
                known.add(each.path)
                yield each


def in_folder(looked: FoundCheckpoints) -> Iterator[Checkpoint]:
    """Yield the checkpoints with absolute paths."""
    place = partial(os.path.join, looked.folder)
    for found in looked.checkpoints:
        yield replace(found, path=place(found.path), files=tuple(map(place, found.files)))


def _earlier_runs(job: WatchedJob, lineage: Lineage) -> Iterator[tuple[float, float]]:
    """Yield from when to when each earlier attempt may have saved."""
    number = job.attempt.number if job.attempt else 0
    for attempt in lineage.attempts:
        if attempt.number < number:
            following = lineage.attempt(attempt.number + 1)
            ended_s = attempt.ended_s or (following.submitted_s if following else 0.0)
            started_s = attempt.started_s or attempt.submitted_s
            yield started_s - TOLERANCE_S, ended_s + KILLED_TOLERANCE_S


def _resumed_from(job: WatchedJob, lineage: Lineage) -> PickedCheckpoint | None:
    attempt = lineage.attempt(job.attempt.number) if job.attempt else None
    return attempt.resume if attempt else None


def _is_later(found: Checkpoint, resumed: PickedCheckpoint) -> bool:
    if found.step is not None and resumed.step is not None:
        return found.step > resumed.step
    return found.saved_s > resumed.saved_s


def as_picked(own: Checkpoint, machine: JobMachine | None = None) -> PickedCheckpoint | None:
    """Return a checkpoint of `in_folder` as it is now, unless a part of it is gone or not the user's."""
    if identity := _ELSEWHERE if machine else _identity_of(own):
        return PickedCheckpoint(own.path, own.step, own.saved_s, *identity)
    return None


def _identity_of(checkpoint: Checkpoint) -> tuple[int, int] | None:
    """Return the device and the inode; of the several files of one of TensorFlow, those of the first."""
    try:
        parts = checkpoint.files or (checkpoint.path, *_parts_below(checkpoint.path))
        if all(map(_is_own, parts)):
            status = os.stat(parts[0])  # noqa: PTH116 - as in the modules that read logs: paths are strings
            return status.st_dev, status.st_ino
    except OSError:  # a part is missing or not readable
        return None
    return None


def _parts_below(path: str) -> Iterator[str]:
    for folder, folders, files in os.walk(path, onerror=_raise):
        yield from (os.path.join(folder, name) for name in (*folders, *files))  # noqa: PTH118 - texts


def _raise(error: OSError) -> None:
    raise error


def _is_own(path: str) -> bool:
    return all(status.st_uid in (os.geteuid(), _ROOT) for status in (os.lstat(path), os.stat(path)))  # noqa: PTH116 - as above


def set_aside(
    job: WatchedJob,
    progress: JobProgress,
    lineage: Lineage,
    decision: Decision,
    now_s: float,
    *,
    script: str = "",
) -> tuple[str, ...]:
    """If the user wants it, rename the incomplete checkpoints above the picked one."""
    place, moved = job.attempt, list[str]()
    if place is None or not lineage.settings.set_aside or not decision.proof:
        return ()
    (task,) = job.tasks.values()
    search = CheckpointSearch(job, task, progress, now_s, script)
    for found in list(own_checkpoints(search, lineage)):
        path, picked = found.path, decision.checkpoint
        is_incomplete = found.is_complete is False  # one that may be complete is left alone
        is_above = picked is None or (found.step or 0) > (picked.step or 0) or found.saved_s > picked.saved_s
        if not is_incomplete or _ASIDE.search(path) or not is_above:
            continue
        aside = f"{path}.incomplete-{place.number}"
        if _may_be_renamed(path) and not os.path.lexists(aside):
            try:
                os.rename(path, aside)  # noqa: PTH104 - as in the modules that read logs: paths are strings
            except OSError as error:
                raise StorageFailed(f"{path} cannot be renamed: {error.strerror}") from error
            moved.append(aside)
    return tuple(moved)


def _may_be_renamed(path: str) -> bool:
    """Whether the user owns it, it is no link, and it lies on the disk of its parent folder."""
    try:
        status, parent = os.lstat(path), os.lstat(os.path.dirname(path))  # noqa: PTH120 - texts
    except OSError:  # a name that only begins those of files is no checkpoint to a program
        return False
    is_plain = stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)
    return is_plain and status.st_uid == os.geteuid() and status.st_dev == parent.st_dev
