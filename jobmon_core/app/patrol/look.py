"""Use case: look at all watched jobs once, without asking the scheduler."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon_core.app.jobs.find import find_job
from jobmon_core.app.jobs.overview import config_fault, overview
from jobmon_core.app.jobs.selection import Group as JobGroup
from jobmon_core.app.jobs.selection import Selection, by_id, group_of, select
from jobmon_core.app.live.tasks import live_tasks
from jobmon_core.app.messages.undelivered import undelivered_messages
from jobmon_core.app.patrol.files import JobFiles, PatrolFiles, read_files
from jobmon_core.domain.errors import Invalid, StateUnreadable, UnknownGroup
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.lifecycle.health import Health

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.many.groups.model import Group
    from jobmon_core.domain.many.patrol.model import Memory
    from jobmon_core.lifecycle.health import JobStatus

FIRST_PATROL_S = 86_400.0  # the first patrol also reports the ends of the last day

_NO_FILES, _NO_PROGRESS = JobFiles(), JobProgress()


@dataclass(frozen=True, slots=True)
class LookedAt:
    """One job of a patrol with all that its files say."""

    status: JobStatus
    progress: JobProgress
    tasks: tuple[LiveTask, ...]
    files: JobFiles = _NO_FILES
    age_s: float | None = None  # of the scheduler's last answer about it, if that is older than usual


@dataclass(frozen=True, slots=True)
class Look:
    """Everything that a patrol looked at."""

    at_s: float
    jobs: tuple[LookedAt, ...] = ()
    problems: tuple[str, ...] = ()  # what is wrong and concerns no single job, one line each
    is_done: bool = False  # nothing is watched any more
    files: PatrolFiles = field(default_factory=PatrolFiles)
    failed_before: int = 0  # see `Patrol`


def look(ctx: Context, state_ids: Collection[str], memory: Memory) -> Look:
    """Look at the jobs with these state ids; without any, at those that `jobs_to_patrol` chooses."""
    now_s = ctx.clock.now()
    known = overview(ctx)
    chosen = jobs_to_patrol(known.jobs, state_ids, memory, now_s)
    files = read_files(ctx, (each.job for each in chosen))
    jobs = []
    for status in chosen:
        job = status.job
        progress = known.progress.get(job.id) or ctx.progress_file(job.id).read()
        jobs.append(
            LookedAt(
                status,
                progress,
                (*live_tasks(status, progress, now_s),),
                files.jobs.get(job.id, _NO_FILES),
                known.age_s(job, now_s) or (now_s - job.stale_since_s if job.stale_since_s else None),
            )
        )
    problems = [f"a state file is skipped: {each.why}" for each in known.unreadable]
    groups = open_groups(ctx)
    problems += [f"group {each.name}: {each.broken}" for each in groups if each.broken]
    is_done = not groups and all(each.health is Health.DONE for each in known.jobs)
    problems += _problems(ctx, files, is_done=is_done)
    failed_before = 0 if state_ids else failed_earlier(known.jobs, chosen, now_s)
    return Look(now_s, tuple(jobs), tuple(problems), is_done, files, failed_before)


def _problems(ctx: Context, files: PatrolFiles, *, is_done: bool) -> Iterator[str]:
    if files.problem:
        yield f"results and markers could not be looked at: {files.problem}"
    if not is_done and (fault := config_fault(ctx)):
        yield fault
    yield from undelivered_messages(ctx)


def jobs_to_patrol(
    jobs: Sequence[JobStatus], state_ids: Collection[str], memory: Memory, now_s: float
) -> list[JobStatus]:
    """Return the jobs with these state ids, by job id.

    Without any, these are the jobs that are watched, and those that ended since the last patrol.
    """
    if state_ids:
        chosen = [each for each in jobs if each.job.id in state_ids]
    else:
        since_s = memory.at_s or now_s - FIRST_PATROL_S
        chosen = [
            each for each in jobs if each.health is not Health.DONE or _is_news(each.job, memory, since_s)
        ]
    return sorted(chosen, key=by_id)


def failed_earlier(jobs: Sequence[JobStatus], chosen: Collection[JobStatus], now_s: float) -> int:
    """Return the number of failed jobs that `jobmon status` lists and a patrol over ``chosen`` leaves out."""
    listed = (each.job for each in select(jobs, Selection(), now_s).jobs if each not in chosen)
    return sum(group_of(job) is JobGroup.FAILED for job in listed)


def _is_news(job: WatchedJob, memory: Memory, since_s: float) -> bool:
    """Whether a job that is not watched any more may have something to report."""
    if (before := memory.jobs.get(job.id)) is not None:
        return not before.is_over
    return (job.concluded_s or 0.0) > since_s


def named_state_ids(ctx: Context, arguments: Iterable[str]) -> list[str]:
    """Return the state ids of the jobs that arguments name; a group stands for its members.

    Raises:
        UnknownJob: jobmon has no record of such a job or group.
        StateUnreadable: its state file cannot be read.
    """
    found: dict[str, None] = {}  # in order, each once
    for argument in arguments:
        group = ctx.groups.load(argument) if ctx.groups.exists(argument) else None
        ids = [each.state_id for each in group.members.values() if each.state_id] if group else []
        found.update(dict.fromkeys(ids if group else [find_job(ctx, argument)[0].id]))
    return list(found)


def open_groups(ctx: Context) -> list[Group]:
    """Return the groups that are not complete, without those that cannot be read."""
    found = []
    for name in ctx.groups.names():
        with suppress(UnknownGroup, StateUnreadable, Invalid):  # `jobmon group status` reports it
            found.append(ctx.groups.load(name))
    return [group for group in found if group.complete_s is None]
