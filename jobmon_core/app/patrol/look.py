"""Use case: look at all watched jobs once, without asking the scheduler."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon_core.app.jobs.overview import config_fault, overview
from jobmon_core.app.live.tasks import live_tasks
from jobmon_core.app.messages.undelivered import undelivered_messages
from jobmon_core.app.patrol.files import JobFiles, PatrolFiles, read_files
from jobmon_core.app.patrol.select import failed_earlier, jobs_to_patrol
from jobmon_core.app.patrol.targets import open_groups
from jobmon_core.domain.progress.model import JobProgress
from jobmon_core.lifecycle.health import Health

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.context import Context
    from jobmon_core.domain.patrol.model import Memory
    from jobmon_core.lifecycle.health import JobStatus

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
    files = read_files(each.job for each in chosen)
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
