"""Use case: look at all watched jobs once, without asking the scheduler."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from jobmon_core.analysis.done import look_for_done
from jobmon_core.analysis.ending.outputs import own_outputs
from jobmon_core.analysis.ending.results import read_results
from jobmon_core.app.jobs.find import Group as JobGroup
from jobmon_core.app.jobs.find import Selection, by_id, find_job, group_of, select
from jobmon_core.app.jobs.overview import config_fault, in_order, is_waiting, overview
from jobmon_core.app.live.tasks import live_tasks
from jobmon_core.app.messages.undelivered import undelivered_messages
from jobmon_core.domain.errors import Invalid, StateUnreadable, UnknownGroup
from jobmon_core.domain.job.job_progress import JobProgress
from jobmon_core.domain.logs.diagnosis.model import Quote  # noqa: TC001 - the codec reads this module's hints
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.lifecycle.health import Health
from jobmon_core.system.helper import Helper, HelperFailed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.many.groups.model import Group
    from jobmon_core.domain.many.patrol import Memory
    from jobmon_core.lifecycle.health import JobStatus


_TIMEOUT_S = 20.0
_MAX_RESULTS = 6  # of one job
_MAX_TASKS = 64  # whose markers are looked at


@dataclass(frozen=True, slots=True)
class JobFiles:
    """What the files of one job show."""

    results: tuple[Quote, ...] = ()
    markers: dict[str, bool] = field(default_factory=dict)  # e.g. ``marker /a/DONE`` -> whether it is there


@dataclass(frozen=True, slots=True)
class PatrolFiles:
    """What the files of all jobs show, by state id, or why that is not known."""

    jobs: dict[str, JobFiles] = field(default_factory=dict)
    problem: str = ""


def read_files(ctx: Context, jobs: Iterable[WatchedJob]) -> PatrolFiles:
    """Read the results and look for the markers of the jobs that name any, within 20 seconds.

    Of jobs on other machines, the markers are those of the latest look there.
    """
    markers = {job.id: (job, ctx.machine_markers(job)) for job in jobs}
    there = {state_id: JobFiles(markers=found) for state_id, (_, found) in markers.items() if found}
    unseen = [job for job, found in markers.values() if found is None]
    wanted = [job for job in unseen if job.own_settings.results or job.own_settings.done]
    if not wanted:
        return PatrolFiles(there)
    try:
        here = Helper().run(
            dict[str, JobFiles], lambda: {job.id: _files_of(job) for job in wanted}, _TIMEOUT_S
        )
    except HelperFailed as error:
        return PatrolFiles(there, problem=error.reason)
    return PatrolFiles({**there, **here})


def _files_of(job: WatchedJob) -> JobFiles:
    return JobFiles(tuple(_uniquely_named(_results(job)))[:_MAX_RESULTS], dict(_markers(job)))


def _markers(job: WatchedJob) -> Iterator[tuple[str, bool]]:
    """Yield what the user named as the signs that the job is done, and whether this run has written it."""
    if job.own_settings.done is None:
        return
    for task in in_order(list(job.tasks.values()))[:_MAX_TASKS]:
        if not is_waiting(task):
            look = look_for_done(job, task)
            yield from ((name, False) for name in look.missing)
            yield from ((name, True) for name in look.found)


def _results(job: WatchedJob) -> Iterator[Quote]:
    for task in in_order(list(job.tasks.values())):
        if task.end and task.end.outcome is Outcome.SUCCESS and task.diagnosis:
            yield from task.diagnosis.results  # as they were at its end
        elif not is_waiting(task):
            yield from read_results(job, task, own_outputs(job, task)).quotes


def _uniquely_named(quotes: Iterable[Quote]) -> Iterator[Quote]:
    """Number quotes of the same name, as the tasks of an array have; drop repetitions of a name and text."""
    seen: dict[str, set[str]] = {}
    for quote in quotes:
        texts = seen.setdefault(quote.name, set())
        if quote.text in texts:
            continue
        texts.add(quote.text)
        yield quote if len(texts) == 1 else replace(quote, name=f"{quote.name} ({len(texts)})")


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
