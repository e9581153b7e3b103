"""The jobs that the user names, single ones or all members of groups; and the incomplete groups."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from jobmon_core.app.jobs.find import find_job
from jobmon_core.domain.errors import Invalid, StateUnreadable, UnknownGroup

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jobmon_core.context import Context
    from jobmon_core.domain.groups.model import Group


def named_state_ids(ctx: Context, arguments: Iterable[str]) -> list[str]:
    """Return the state ids of the jobs that arguments name; a group stands for its members.

    Raises:
        UnknownJob: jobmon has no record of such a job or group.
        StateUnreadable: its state file cannot be read.
    """
    found: dict[str, None] = {}  # in order, each once
    for argument in arguments:
        group = _group(ctx, argument)
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


def _group(ctx: Context, name: str) -> Group | None:
    try:
        return ctx.groups.load(name) if ctx.groups.exists(name) else None
    except Invalid:  # a job id, or a name that no group can have
        return None
