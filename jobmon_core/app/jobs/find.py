"""Find the watched job that an argument names."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from fnmatch import fnmatchcase
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.app.jobs.overview import ending_of, problem_count
from jobmon_core.domain.errors import UnknownJob
from jobmon_core.domain.job.tracking.reopen import without_duplicates
from jobmon_core.domain.slurm.job_ids import JobRef, ref_of
from jobmon_core.domain.slurm.states import Outcome, Phase
from jobmon_core.lifecycle.health import Health, JobStatus, find_watched
from jobmon_core.observe.logs.open_file import read_regular
from jobmon_core.store.jobs import Unreadable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob

_SLUID = re.compile(r"s[0-9A-Z]{13}")  # which Slurm 24.11 and later give each job
LATEST = "latest"
STDIN = "-"
_LIST = "`jobmon status --all` lists all recorded jobs"


def find_job(ctx: Context, argument: str) -> tuple[WatchedJob, JobRef]:
    """Return the newest watched job that ``argument`` names, and the id of it or of the part that is meant.

    Raises:
        UnknownJob: jobmon has no record of such a job, or it has no such task.
        StateUnreadable: its state file cannot be read.
    """
    try:
        ref = JobRef.parse(argument)
    except ValueError:
        job = _named(all_jobs(ctx), argument)
        return job, job.ref
    jobs = without_duplicates(find_watched(ctx, ref))
    if not jobs:
        raise UnknownJob(f"{no_record(ref)}; `jobmon watch {ref}` watches it if it exists; {_LIST}")
    job = jobs[-1]
    if ref.job_id != job.job_id:  # the raw job id of an array task or het component
        part = next(task for task in job.tasks.values() if task.raw_job_id == ref.job_id)
        return job, ref_of(job.job_id, part.key)
    if job.lacks_part(ref.key):
        raise UnknownJob(f"unknown job {ref}: job {job.job_id} has no such task or component")
    return job, ref


def find_ref(ctx: Context, argument: str) -> JobRef:
    """Return a job id, known or not, or that of the newest watched job of this name."""
    try:
        return JobRef.parse(argument)
    except ValueError:
        return _named(all_jobs(ctx), argument).ref


def no_record(ref: JobRef) -> str:
    """Say that jobmon has no record of a job."""
    return f"no record of job {ref} (never watched, or forgotten)"


def find_ref_by_name(ctx: Context, argument: str) -> JobRef | None:
    """Return the id of the newest watched job of this name, or of all for ``latest``; None if there is none.

    Also None for ``-`` and the name of a file; but a script is no log and stands for its jobs.
    """
    is_file = os.path.lexists(argument)
    if argument == STDIN or (is_file and not _is_script(argument)):
        return None
    jobs, path = all_jobs(ctx), Path.cwd() / argument
    of_script = [job for job in jobs if is_file and f"{job.command} ".startswith(f"{path} ")]
    job = find_by_name(jobs, argument) or next(reversed(of_script), None)
    return job.ref if job else None


def _is_script(path: str) -> bool:
    """Of a pipe, nothing is read."""
    return path.endswith(".py") or read_regular(path, 2) == b"#!"


def all_jobs(ctx: Context) -> list[WatchedJob]:
    """Return the watched jobs, oldest submission first."""
    jobs = without_duplicates(each for each in ctx.store.all() if not isinstance(each, Unreadable))
    return sorted(jobs, key=_submission)


def find_by_name(jobs: Sequence[WatchedJob], argument: str) -> WatchedJob | None:
    """Return the newest of ``jobs`` (oldest first), for ``latest``, or that of this name."""
    named = jobs if argument == LATEST else [job for job in jobs if argument in job.names]
    return next(reversed(named), None)


def _submission(job: WatchedJob) -> tuple[float, float, int]:
    return float(job.submitted_s or int(job.registered_s)), job.registered_s, job.job_id


def _named(jobs: Sequence[WatchedJob], argument: str) -> WatchedJob:
    job = find_by_name(jobs, argument)
    if job is not None:
        return job
    if argument == LATEST:
        raise UnknownJob("jobmon has no record of any job; start with `jobmon submit SCRIPT`")
    if _SLUID.fullmatch(argument):
        known = "`sacct -X -o JobID,SLUID` shows the ids"
        raise UnknownJob(f"{argument} is an SLUID, and jobmon knows jobs by their ids: {known}")
    similar = get_close_matches(argument, {name for job in jobs for name in job.names}, n=1)
    hint = f"did you mean {similar[0]!r}? " if similar else ""
    if unnamed := next((job for job in reversed(jobs) if not job.names and not job.closed), None):
        hint += f"the name of job {unnamed.ref} is not known yet; "
    raise UnknownJob(
        f"{argument!r} is neither a job id (12, 12_3, 12+1) nor the name of a watched job; {hint}{_LIST}"
    )


RECENT_S = 7 * 86_400.0


class StateGroup(StrEnum):
    """What a job does now, or how it ended: each job counts once."""

    RUNNING = "running"
    PENDING = "pending"
    ENDING = "ending"  # it does not run any more, but its outcome is not known yet
    RESTARTING = "to be restarted"  # it has ended, and the next attempt of its lineage is due
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    UNKNOWN = "of unknown outcome"
    UNWATCHED = "no longer watched"


OF_OUTCOME = {
    Outcome.SUCCESS: StateGroup.COMPLETED,
    Outcome.FAILURE: StateGroup.FAILED,
    Outcome.CANCELLED: StateGroup.CANCELLED,
    Outcome.UNKNOWN: StateGroup.UNKNOWN,
}


@dataclass(frozen=True, slots=True)
class Selection:
    """The jobs that the user asked for."""

    refs: tuple[JobRef, ...] = ()
    all: bool = False
    failed: bool = False
    running: bool = False
    pending: bool = False
    name: str = ""  # a pattern as in a shell
    since_s: float | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Selected:
    """By id, and how many others match."""

    jobs: list[JobStatus]
    older: int = 0  # not recent enough
    beyond_limit: int = 0


def select(jobs: Sequence[JobStatus], selection: Selection, now_s: float) -> Selected:
    """Return the jobs that match; by default those watched or recent."""
    matching = [each for each in jobs if _matches(each.job, selection)]
    recent = [each for each in matching if _is_recent_enough(each, selection, now_s)]
    recent.sort(key=by_id)
    shown = recent if selection.limit is None else recent[max(0, len(recent) - selection.limit) :]
    return Selected(shown, len(matching) - len(recent), len(recent) - len(shown))


def fitting(jobs: Sequence[JobStatus], heights: Sequence[int], room: int) -> list[int]:
    """Return the positions of those of ``jobs``, sorted by id, whose ``heights`` (lines) fit into ``room``.

    Plain successes are left out first, then others that do not run; of each kind the oldest.
    """

    def rank(position: int) -> tuple[bool, bool, int]:
        job = jobs[position].job
        group = group_of(job)
        is_plain_success = group is StateGroup.COMPLETED and not job.is_doubtful_success
        return is_plain_success, group is not StateGroup.RUNNING, -position

    ranked = sorted(range(len(jobs)), key=rank)
    used = list(accumulate(heights[position] for position in ranked))
    return sorted(ranked[: bisect_right(used, room)])


def unknown_refs(jobs: Sequence[JobStatus], refs: Sequence[JobRef]) -> list[JobRef]:
    """Return those of ``refs`` that name no job."""
    return [ref for ref in refs if not any(each.job.is_named_by(ref) for each in jobs)]


def is_recent(status: JobStatus, now_s: float) -> bool:
    """Whether a job is watched, has undelivered messages, or ended or was unwatched in the last 7 days."""
    is_active = status.health is not Health.DONE or status.job.undelivered
    return bool(is_active) or now_s - last_change_s(status.job) < RECENT_S


def name_of(job: WatchedJob) -> str:
    """Return what begins a line about the job."""
    return f"{job.ref} {job.label}".rstrip()


def last_change_s(job: WatchedJob) -> float:
    """Return when a job was concluded, else unwatched, else registered (Unix seconds)."""
    return job.concluded_s or job.unwatched_s or job.registered_s


def group_of(job: WatchedJob) -> StateGroup:
    """Return the group that a job counts in."""
    if job.is_restarting:
        return StateGroup.RESTARTING
    if job.outcome is not None:
        return OF_OUTCOME[job.outcome]
    if job.unwatched_s is not None:
        return StateGroup.UNWATCHED
    alive = _alive(job)
    if job.tasks and not job.pending_indices and not alive:
        return StateGroup.ENDING
    return (
        StateGroup.PENDING if all(task.state.phase is Phase.WAITING for task in alive) else StateGroup.RUNNING
    )


def running_tasks(job: WatchedJob) -> int:
    """Return how many tasks of a job run."""
    return sum(task.state.phase is not Phase.WAITING for task in _alive(job))


def _alive(job: WatchedJob) -> list[Task]:
    return [task for task in job.tasks.values() if not (task.end or ending_of(task))]


def counts(jobs: Sequence[JobStatus]) -> list[tuple[StateGroup, int]]:
    """Return how many jobs each group has, without empty ones."""
    numbers = Counter(group_of(each.job) for each in jobs)
    return [(group, numbers[group]) for group in StateGroup if numbers[group]]


def _is_recent_enough(status: JobStatus, selection: Selection, now_s: float) -> bool:
    if selection.all or selection.refs:
        return True
    if selection.since_s is None:
        return is_recent(status, now_s)
    return status.health is not Health.DONE or last_change_s(status.job) >= selection.since_s


def _matches(job: WatchedJob, selection: Selection) -> bool:
    if selection.refs and not any(job.is_named_by(ref) for ref in selection.refs):
        return False
    if selection.name and not any(fnmatchcase(name, selection.name) for name in job.names):
        return False
    return _matches_state(job, selection)


def _matches_state(job: WatchedJob, selection: Selection) -> bool:
    if not (selection.failed or selection.running or selection.pending):
        return True
    group = group_of(job)
    return (
        (selection.failed and problem_count(job) > 0)
        or (selection.running and group is StateGroup.RUNNING)
        or (selection.pending and group is StateGroup.PENDING)
    )


def by_id(status: JobStatus) -> tuple[int, int, int, float]:
    """Return the sort key of a job: its id, then when jobmon began to watch it."""
    ref = status.job.ref
    component = -1 if ref.component is None else ref.component
    return ref.job_id, component, -1 if ref.task is None else ref.task, status.job.registered_s
