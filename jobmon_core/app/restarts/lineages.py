"""List the lineages, find that of a job, and change what follows its next end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.app.jobs.find import find_job
from jobmon_core.domain.errors import JobmonError, StateUnreadable
from jobmon_core.domain.job.restart.summary import summary_of
from jobmon_core.store.owner import Health

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.context import Context
    from jobmon_core.domain.job.restart.model import Attempt, Lineage
    from jobmon_core.domain.job.restart.summary import LineageSummary
    from jobmon_core.domain.job.tracking.model import WatchedJob

_BY_HAND = "ended by `jobmon restart --off`"


def all_lineages(ctx: Context) -> Iterator[LineageSummary | str]:
    """Yield the oldest first; of one that cannot be read, why."""
    found = list["LineageSummary"]()
    for lineage_id in ctx.lineages.ids():
        try:
            found.append(summarized(ctx, ctx.lineages.load(lineage_id)))
        except JobmonError as error:
            yield str(error)
    yield from sorted(found, key=lambda each: each.lineage.created_s)


def lineage_of(ctx: Context, argument: str) -> LineageSummary:
    """Return that of which the job ``argument`` is an attempt."""
    job, _ = find_job(ctx, argument)
    lineage = ctx.lineages.of_job(job)
    if lineage is None:
        raise JobmonError(
            f"job {job.ref} was submitted without --restart, so it is part of no lineage; "
            f"`jobmon restart {job.ref}` submits it again by hand, from its newest complete checkpoint"
        )
    return summarized(ctx, lineage)


def summarized(ctx: Context, lineage: Lineage) -> LineageSummary:
    """Add what the records of its jobs say."""
    jobs = {each.number: job for each in lineage.attempts if (job := _job(ctx, each.state_id))}
    for attempt in lineage.attempts:
        if job := jobs.get(attempt.number):
            lineage = lineage.with_attempt(_completed(ctx, attempt, job))
    newest = lineage.newest
    return summary_of(lineage, jobs.get(newest.number) if newest else None, ctx.clock.now())


def _job(ctx: Context, state_id: str) -> WatchedJob | None:
    try:
        return ctx.store.load(state_id)
    except StateUnreadable:  # `jobmon status` reports it, unless it was forgotten
        return None


def _completed(ctx: Context, attempt: Attempt, job: WatchedJob) -> Attempt:
    task = next(iter(job.tasks.values()), None)
    end, last_step = task.end if task else None, attempt.last_step
    followed = None
    if task and last_step is None:
        followed = ctx.progress_file(job.id).read().tasks.get(task.key)
    if followed and followed.progress and followed.progress.unit == "step":
        last_step = int(followed.progress.current)
    return replace(
        attempt,
        started_s=attempt.started_s or (end.started_s if end else task.start_s if task else None),
        ended_s=attempt.ended_s or (end.ended_s if end else None),
        last_step=last_step,
        decision=attempt.decision or job.decision,
    )


def hold(ctx: Context, lineage_id: str, *, is_held: bool) -> None:
    """Let a restart that is due wait for the user, or release it."""

    def change(lineage: Lineage) -> Lineage:
        if lineage.ended_why:
            raise JobmonError(f"the lineage has ended: {lineage.ended_why}")
        return replace(lineage, is_held=is_held)

    ctx.lineages.update(lineage_id, change)


def end(ctx: Context, lineage_id: str, why: str = _BY_HAND) -> None:
    """No further attempt follows, and what is needed to submit one is deleted."""

    def change(lineage: Lineage) -> Lineage:
        if lineage.ended_why or not lineage.id:
            return lineage
        return replace(lineage, ended_why=why, ended_s=ctx.clock.now())

    newest = ctx.lineages.update(lineage_id, change).newest
    ctx.lineages.remove_submission(lineage_id)
    if newest:
        wake_monitor(ctx, newest.state_id)


def wake_monitor(ctx: Context, state_id: str) -> None:
    """Have the monitor of a job, if it runs on this host, look whether a restart that was due still is."""
    owner = ctx.owner_record(state_id).read()
    if owner and owner[0].health() is Health.ALIVE:
        owner[0].wake()
