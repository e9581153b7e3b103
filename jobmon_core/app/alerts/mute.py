"""Use case: mute a job, a group or everything for a while, end that, and list what is muted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.app.jobs.find import find_job
from jobmon_core.app.recover import name_of
from jobmon_core.domain.delivery.alert_rules import ALL, Mute, MutesAndAcks, group_target, job_target
from jobmon_core.domain.errors import Invalid, StateUnreadable

if TYPE_CHECKING:
    from jobmon_core.context import Context

_GROUP, _JOB = group_target(""), job_target("")


class Muted(NamedTuple):
    """What is muted, and until when (Unix seconds); None if it is not muted any more."""

    subject: str
    until_s: float | None
    changed: bool = True  # False: `unmute` found no mute


def mute(ctx: Context, argument: str, seconds: float) -> Muted:
    """Mute what ``argument`` names: ``all``, a group, or a job.

    Raises:
        UnknownJob: it names neither a group nor a job.
        StateUnreadable: the job has a state file that cannot be read.
        StorageFailed: the mute cannot be saved.
    """
    target, subject = _target(ctx, argument)
    now_s = ctx.clock.now()
    new = Mute(now_s, now_s + seconds)

    def change(user: MutesAndAcks) -> MutesAndAcks:
        user = user.current(now_s)
        return replace(user, mutes={**user.mutes, target: new})

    ctx.alerts.change_user(change)
    return Muted(subject, new.until_s)


def unmute(ctx: Context, argument: str) -> Muted:
    """End the mute of what ``argument`` names; raise what `mute` raises."""
    target, subject = _target(ctx, argument)
    now_s = ctx.clock.now()
    was_muted = target in ctx.alerts.user().current(now_s).mutes

    def change(user: MutesAndAcks) -> MutesAndAcks:
        user = user.current(now_s)
        return replace(user, mutes={name: each for name, each in user.mutes.items() if name != target})

    ctx.alerts.change_user(change)
    return Muted(subject, None, was_muted)


def muted(ctx: Context) -> list[Muted]:
    """Return everything that is muted now."""
    mutes = ctx.alerts.user().current(ctx.clock.now()).mutes
    return [Muted(_subject(ctx, target), each.until_s) for target, each in mutes.items()]


def _target(ctx: Context, argument: str) -> tuple[str, str]:
    """Return the target of a mute, and its name for the user."""
    if argument == ALL:
        return ALL, "everything"
    if _is_group(ctx, argument):
        return group_target(argument), f"group {argument}"
    job, _ = find_job(ctx, argument)
    return job_target(job.id), name_of(job)


def _is_group(ctx: Context, argument: str) -> bool:
    try:
        return ctx.groups.exists(argument)
    except Invalid:
        return False  # it cannot be the name of a group, e.g. a job id


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
        return f"{state_id}, whose state file cannot be read" if is_there else f"the forgotten job {state_id}"
