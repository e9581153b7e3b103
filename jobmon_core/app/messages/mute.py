"""Mute a job, a group or everything for a while, end that, and acknowledge what was reported."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.app.jobs.find import find_job, name_of
from jobmon_core.domain.delivery.plan import (
    ALL,
    Mute,
    MutesAndAcks,
    group_target,
    job_target,
    targets_of,
)
from jobmon_core.domain.errors import StateUnreadable
from jobmon_core.store.group_files import groups_of_job

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import WatchedJob

_GROUP, _JOB = group_target(""), job_target("")


def mute(ctx: Context, argument: str, seconds: float) -> tuple[str, float]:
    """Mute ``all``, a group, or a job; return which, and until when (Unix seconds)."""
    target, subject = _target(ctx, argument)
    now_s = ctx.clock.now()
    new = Mute(now_s, now_s + seconds)
    _change(ctx, lambda user: replace(user, mutes={**user.mutes, target: new}))
    return subject, new.until_s


def unmute(ctx: Context, argument: str) -> tuple[str, bool]:
    """End the mute of the same; return which, and whether it was muted."""
    target, subject = _target(ctx, argument)
    was_muted = target in ctx.alerts.user().current(ctx.clock.now()).mutes

    def without_mute(user: MutesAndAcks) -> MutesAndAcks:
        return replace(user, mutes={name: each for name, each in user.mutes.items() if name != target})

    _change(ctx, without_mute)
    return subject, was_muted


def muted(ctx: Context) -> list[tuple[str, float]]:
    """Return everything that is muted now, and until when."""
    mutes = ctx.alerts.user().current(ctx.clock.now()).mutes
    return [(_subject(ctx, target), each.until_s) for target, each in mutes.items()]


def acknowledge(ctx: Context, argument: str) -> tuple[str, int]:
    """Acknowledge what was reported about a job so far, so that no reminder follows.

    Return its name and how many reminders end.
    """
    job, _ = find_job(ctx, argument)
    now_s = ctx.clock.now()
    _change(ctx, lambda user: replace(user, acks={**user.acks, job.id: now_s}))
    return name_of(job), sum(entry.is_open and entry.reminders > 0 for entry in job.outbox)


def _change(ctx: Context, change: Callable[[MutesAndAcks], MutesAndAcks]) -> None:
    now_s = ctx.clock.now()
    ctx.alerts.change_user(lambda user: change(user.current(now_s)))


class JobAlerts(NamedTuple):
    """Until when a job is muted, and when it was acknowledged (Unix seconds)."""

    muted_until_s: float | None = None
    acknowledged_s: float | None = None


def job_alerts(ctx: Context, job: WatchedJob) -> JobAlerts:
    """Return what the user muted and acknowledged."""
    user = ctx.alerts.user()
    groups = groups_of_job(ctx.groups, job.id) if user.mutes else ()
    until_s = user.muted_until_s(targets_of(job.id, groups, ""), ctx.clock.now())
    return JobAlerts(until_s, user.acks.get(job.id))


def _target(ctx: Context, argument: str) -> tuple[str, str]:
    if argument == ALL:
        return ALL, "everything"
    if ctx.groups.exists(argument):
        return group_target(argument), f"group {argument}"
    job, _ = find_job(ctx, argument)
    return job_target(job.id), name_of(job)


def _subject(ctx: Context, target: str) -> str:
    if target == ALL:
        return "everything"
    if target.startswith(_GROUP):
        return f"group {target.removeprefix(_GROUP)}"
    state_id = target.removeprefix(_JOB)
    try:
        return name_of(ctx.store.load(state_id))
    except StateUnreadable:
        is_there = ctx.store.path(state_id).exists()
        if is_there:
            return f"{state_id}, whose state file cannot be read"
        return f"the forgotten job {state_id}"
