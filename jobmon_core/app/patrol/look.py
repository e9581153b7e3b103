"""Use case: look at all watched jobs once, without asking the scheduler."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from jobmon_core.app.jobs.find import Selection, StateGroup, by_id, find_job, group_of, select
from jobmon_core.app.jobs.overview import config_fault, overview
from jobmon_core.app.live.job_view import JobFiles, job_view, read_files
from jobmon_core.app.messages.undelivered import undelivered_messages
from jobmon_core.domain.errors import Invalid, StateUnreadable, UnknownGroup
from jobmon_core.domain.finding import Finding, Severity
from jobmon_core.domain.many.patrol import PROBLEM, compare
from jobmon_core.lifecycle.health import Health

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from jobmon_core.app.live.job_view import JobView
    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.many.groups.model import Group
    from jobmon_core.domain.many.patrol import Memory, Patrol, SeenJob
    from jobmon_core.lifecycle.health import JobStatus


FIRST_PATROL_S = 86_400.0  # the first patrol also reports the ends of the last day


def look(
    ctx: Context, state_ids: Collection[str], memory: Memory, seen_job: Callable[[JobView], SeenJob]
) -> Patrol:
    """Look at the jobs with these state ids; without any, at those that `jobs_to_patrol` chooses."""
    now_s = ctx.clock.now()
    known = overview(ctx)
    chosen = jobs_to_patrol(known.jobs, state_ids, memory, now_s)
    files, unread = read_files(ctx, (each.job for each in chosen))
    views = [job_view(ctx, known, each, files.get(each.job.id, JobFiles())) for each in chosen]
    problems = [f"a state file is skipped: {each.why}" for each in known.unreadable]
    groups = open_groups(ctx)
    problems += [f"group {each.name}: {each.broken}" for each in groups if each.broken]
    is_done = not groups and all(each.health is Health.DONE for each in known.jobs)
    problems += _problems(ctx, unread, is_done=is_done)
    failed_before = 0 if state_ids else failed_earlier(known.jobs, chosen, now_s)
    return compare(
        map(seen_job, views),
        [Finding(Severity.WARNING, text, id=PROBLEM) for text in problems],
        memory,
        now_s,
        names_jobs=bool(state_ids),
        is_done=is_done,
        failed_before=failed_before,
    )


def _problems(ctx: Context, unread: str, *, is_done: bool) -> Iterator[str]:
    if unread:
        yield f"results and markers could not be looked at: {unread}"
    if not is_done and (fault := config_fault(ctx)):
        yield fault
    yield from undelivered_messages(ctx)


def jobs_to_patrol(
    jobs: Sequence[JobStatus], state_ids: Collection[str], memory: Memory, now_s: float
) -> list[JobStatus]:
    """Return the jobs with these ids; without any, those watched, and those ended since the last patrol."""
    if state_ids:
        chosen = [each for each in jobs if each.job.id in state_ids]
    else:
        since_s = memory.at_s or now_s - FIRST_PATROL_S
        chosen = [
            each for each in jobs if each.health is not Health.DONE or _is_news(each.job, memory, since_s)
        ]
    return sorted(chosen, key=by_id)


def failed_earlier(jobs: Sequence[JobStatus], chosen: Collection[JobStatus], now_s: float) -> int:
    """Return how many failed jobs `jobmon status` lists and a patrol over ``chosen`` leaves out."""
    listed = (each.job for each in select(jobs, Selection(), now_s).jobs if each not in chosen)
    return sum(group_of(job) is StateGroup.FAILED for job in listed)


def _is_news(job: WatchedJob, memory: Memory, since_s: float) -> bool:
    if (before := memory.jobs.get(job.id)) is not None:
        return not before.is_over
    return (job.concluded_s or 0.0) > since_s


def named_state_ids(ctx: Context, arguments: Iterable[str]) -> list[str]:
    """Return the state ids of the jobs that arguments name, as `find_job`; a group is its members."""
    found: dict[str, None] = {}  # in order, each once
    for argument in arguments:
        if ctx.groups.exists(argument):
            members = ctx.groups.load(argument).members.values()
            found |= dict.fromkeys(each.state_id for each in members if each.state_id)
        else:
            found[find_job(ctx, argument)[0].id] = None
    return list(found)


def open_groups(ctx: Context) -> list[Group]:
    """Return the groups that are not complete, without those that cannot be read."""
    found = []
    for name in ctx.groups.names():
        with suppress(UnknownGroup, StateUnreadable, Invalid):  # `jobmon group status` reports it
            found.append(ctx.groups.load(name))
    return [group for group in found if group.complete_s is None]
