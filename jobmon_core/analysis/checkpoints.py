"""Find the checkpoints that a task saved: the one answer of all commands, screens and messages."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.analysis.artifacts import folders_named, is_general
from jobmon_core.analysis.job_logs import (
    checkpoint_folder,
    is_shared,
    named_path,
    own_files_of_runs,
    own_tails,
)
from jobmon_core.domain.artifacts.checkpoints.model import Evidence, FoundCheckpoints
from jobmon_core.domain.artifacts.found import saved_paths
from jobmon_core.domain.artifacts.model import parent_of
from jobmon_core.domain.backends import Machine
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.job.own_files import Origin
from jobmon_core.observe.artifacts.find_checkpoints import evidence_here, find_checkpoints
from jobmon_core.observe.artifacts.formats.check import check_source
from jobmon_core.observe.artifacts.formats.source import Ends

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from jobmon_core.domain.artifacts.model import Listing
    from jobmon_core.domain.job.job_progress import JobProgress
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.scheduler.base import JobMachine

    ReadEvidence = Callable[[str, Sequence[str], Sequence[str]], Evidence]

_LEVELS_BELOW = 5  # between a folder that is named and a checkpoint
_MAX_MENTIONS = 3  # of the latest checkpoint paths in the logs
_NOT_KNOWN = (
    "neither the job configuration nor the log or the script names a folder in which the job has saved any; "
    "name one with `checkpoint_dir` in its jobmon.yaml"
)
_ELSEWHERE = {
    Machine.OTHER: "the files of the job are on another machine",
    Machine.UNKNOWN: "the job may run on another machine; if this one sees the folder of its checkpoints, "
    "name it with `checkpoint_dir` in its jobmon.yaml",
}
_MAX_TEXTS = 8


class CheckpointSearch(NamedTuple):
    """Whose checkpoints are looked for, and what is known of them."""

    job: WatchedJob  # with the paths of its logs
    task: Task  # of this job
    progress: JobProgress  # what the monitor of the job has seen so far
    now_s: float  # Unix seconds
    script: str = ""  # its text; if empty, the file is read
    is_running: bool = False  # whether the program that saves them runs
    machine: JobMachine | None = None  # asks the machine of the job, if its files cannot be read here


def checkpoints_of_task(search: CheckpointSearch) -> FoundCheckpoints:
    """Return the checkpoints in the folder that is named, else in one that has any."""
    found, task = FoundCheckpoints("", problem=_NOT_KNOWN), search.task
    try:
        for looked in looks_for_checkpoints(search):
            if looked.checkpoints or not looked.folder or checkpoint_folder(search.job, task):
                found = looked
                break
    except JobmonError as error:
        return FoundCheckpoints("", problem=f"{_ELSEWHERE[Machine.OTHER]}: {error}")
    newest = found.newest_complete
    if newest and newest.saved_s < (task.start_s or 0):  # by the run before a requeue, at its own pace
        return replace(found, interval_s=None)
    return found


def looks_for_checkpoints(
    search: CheckpointSearch, *, since_s: float = float("inf"), further: Sequence[str] = ()
) -> Iterator[FoundCheckpoints]:
    """Yield what the folder has that is named for checkpoints, else each that is found.

    What was saved since ``since_s`` counts too. ``further`` folders come last, without those below them.
    Raises JobmonError if the machine of the job does not answer.
    """
    job, task, machine = search.job, search.task, search.machine
    named = checkpoint_folder(job, task)
    are_shared = is_shared(job, named) if named else len(job.tasks) > 1
    own = own_files_of_runs(job, task, Origin.NAMED if named else Origin.FOUND, are_shared=are_shared)
    own = replace(own, started_s=min(own.started_s, since_s))
    pattern = named_path(job, task, job.own_settings.checkpoint_pattern)
    if machine is None and not own.can_be_seen:
        yield FoundCheckpoints("", problem=_ELSEWHERE[own.machine])
        return
    if machine:
        own = replace(own, machine=Machine.THIS)  # as that machine sees them
        workdir = machine.folders[-1]
        named = named and os.path.join(workdir, named)  # noqa: PTH118 - texts
    folders = (named,) if named else tuple(_folders(search))
    for folder in dict.fromkeys((*folders, *further)):
        is_of_many = not named and machine is None and is_general(folder, job.workdir)
        below = _LEVELS_BELOW if folder in folders and not is_of_many else 0
        place, listed, evidence = folder_of(machine, folder)
        looked = find_checkpoints(
            place, search.now_s, is_running=search.is_running, own=own, levels_below=below,
            pattern=pattern, listed=listed, evidence=evidence,
        )  # fmt: skip
        yield replace(looked, machine=job.cluster if machine else "")


def _folders(search: CheckpointSearch) -> Iterator[str]:
    job, task = search.job, search.task
    if search.machine:
        yield from _mentioned(job, task, search.machine.folders[-1])
        yield from search.machine.folders
        return
    seen = search.progress.artifacts_of(task.key).checkpoints
    if seen and seen.newest:
        yield seen.folder
    yield from map(os.path.normpath, _mentioned(job, task, job.workdir))
    yield from folders_named(job, task, script=search.script)


def _mentioned(job: WatchedJob, task: Task, workdir: str) -> Iterator[str]:
    lines = [line for part in own_tails(job, task) for line in part.texts]
    for path in reversed(saved_paths(lines)[-_MAX_MENTIONS:]):
        yield os.path.join(workdir, parent_of(path))  # noqa: PTH118 - texts


def folder_of(machine: JobMachine | None, folder: str) -> tuple[str, Listing | None, ReadEvidence]:
    """Return a folder of this or another machine, and how `find_checkpoints` gets at its files."""
    if machine is None:
        return folder, None, evidence_here
    there = machine.files_below(folder)
    return there.folder, there, partial(_evidence_there, machine)


def _evidence_there(
    machine: JobMachine, folder: str, texts: Sequence[str], checked: Sequence[str]
) -> Evidence:
    """As `evidence_here`; of many files, only the first are read, and only their ends."""
    paths = {f"{folder}/{name}": name for name in (*texts[:_MAX_TEXTS], *checked)}
    ends = {paths[path]: each for path, each in machine.ends_of(list(paths)).items()}
    whole = {name: each.tail for name, each in ends.items() if len(each.tail) == each.size_bytes}
    return Evidence(
        {name: whole[name].decode("utf-8", "replace") for name in texts if name in whole},
        {name: check_source(name, Ends(*ends[name]), 0) for name in checked if name in ends},
    )
