"""The jobs to wait for, which are named directly or as members of a group. A group may grow meanwhile."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon_core.app.jobs.find import find_job
from jobmon_core.app.waiting.wait import Target
from jobmon_core.domain.errors import JobmonError
from jobmon_core.system.files import file_stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from jobmon_core.context import Context
    from jobmon_core.system.files import Stamp


_POLL_INTERVAL_S = 0.2
_TIMEOUT_S = 15.0  # a living monitor completes a group right after its last job has ended


def target_finder(ctx: Context, arguments: Sequence[str]) -> Callable[[], list[Target]]:
    """Return a function that finds the jobs of all arguments, which are names of jobs or groups.

    Raises:
        UnknownJob, StateUnreadable: jobmon has no record of a job, or cannot read it.
    """
    finders = [_finder(ctx, each) for each in arguments]

    def find() -> list[Target]:
        return list(dict.fromkeys(target for finder in finders for target in finder()))

    return find


def _finder(ctx: Context, argument: str) -> Callable[[], list[Target]]:
    """Return a function that finds the jobs of one argument."""
    if argument in ctx.groups.names():
        return GroupTargets(ctx, argument).find
    job, ref = find_job(ctx, argument)
    return lambda: [Target(job.id, ref)]


def wait_until_complete(ctx: Context, names: Iterable[str], deadline_s: float | None) -> None:
    """Wait until the monitor has completed groups whose jobs have all ended: their logs and messages.

    That is, it has written the last line of each group's log and queued the group's message. Waits at most
    15 seconds, and not beyond ``deadline_s`` (Unix seconds).
    """
    until_s = ctx.clock.now() + _TIMEOUT_S
    until_s = until_s if deadline_s is None else min(until_s, deadline_s)
    for name in names:
        with suppress(JobmonError):  # it was removed or is unreadable; how its jobs ended is known anyway
            while ctx.groups.load(name).complete_s is None and ctx.clock.now() < until_s:
                ctx.clock.wait(_POLL_INTERVAL_S)


@dataclass(slots=True)
class GroupTargets:
    """Reads the file of a group when it has changed."""

    ctx: Context
    name: str
    _targets: list[Target] = field(default_factory=list, init=False)
    _stamp: Stamp | None = field(default=None, init=False)

    def find(self) -> list[Target]:
        """Return the jobs of the group. The target of a run that was not submitted has no state id.

        Raises:
            UnknownGroup, StateUnreadable: the group was removed meanwhile, or its file cannot be read.
        """
        stamp = file_stamp(self.ctx.groups.path(self.name))
        if stamp is None or stamp != self._stamp:
            members = self.ctx.groups.load(self.name).members
            self._targets = [
                Target(member.state_id, None, run, member.outcome) for run, member in members.items()
            ]
            self._stamp = stamp
        return self._targets
