"""Polls the groups: reads the members' state files, and does what `domain.many.groups.poll` decides."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import JobmonError, StorageFailed
from jobmon_core.system.files import file_stamp, settled
from jobmon_core.system.helper import HelperFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.many.groups.log_text import GpuFigures
    from jobmon_core.domain.many.groups.member_view import MemberView
    from jobmon_core.domain.many.groups.model import Group, GroupSettings, Member
    from jobmon_core.system.files import Stamp
    from jobmon_core.system.helper import Helper

_FIGURES_TIMEOUT_S = 20.0
# if a poll is late by this and the interval of the group, any monitor does it: those of the members seem dead
_OVERDUE_S = 60.0
_LOOK_S = 1.0  # between two looks at the folder of groups


@dataclass(slots=True)
class GroupKeeper:
    """Polls the groups of a home. ``log`` writes an event to the monitor's log."""

    ctx: Context
    helper: Helper
    log: Callable[[str], None]
    _looked_s: float = field(default=0.0, init=False)  # Unix seconds
    _folder_stamp: Stamp | None = field(default=None, init=False)
    _groups: dict[str, Group] = field(default_factory=dict, init=False)  # by name; as last read
    _views: dict[str, tuple[Stamp, MemberView]] = field(default_factory=dict, init=False)  # by state id
    _problems: dict[str, str] = field(default_factory=dict, init=False)  # by name, as last logged

    def run_due(self, own_state_ids: Collection[str] | None) -> float | None:
        """Poll each group that is due; return when the next is due (Unix seconds), None without one.

        A monitor polls a group without any of its jobs (``own_state_ids``) only if that is long overdue, and
        leaves out one that another process polls now. With None, for a monitor that is about to end and for a
        command, every group is polled that is due or whose members have all ended, and its lock is waited
        for.
        """
        now_s = self.ctx.clock.now()
        due_s: list[float] = []
        failure: StorageFailed | None = None
        for name, group in self._read_groups().items():
            if group.next_due_s() is None and not _is_unfinished(group):
                continue
            group_due_s = now_s if own_state_ids is None else _due_s(group, own_state_ids)
            if group_due_s > now_s:
                due_s.append(group_due_s)
                continue
            try:
                self._poll(name, must_wait=own_state_ids is None)
            except StorageFailed as error:  # the other groups may be on another disk
                failure = error
            due_s.append(now_s + group.settings.interval_s)
        if failure:
            raise failure
        return min(due_s, default=None)

    def settings_of(self, state_id: str) -> GroupSettings | None:
        """Return the settings of a job's group; None if it is in none, or its group is complete."""
        groups = self._read_groups().values()
        return next(
            (each.settings for each in groups if each.complete_s is None and each.name_of(state_id)), None
        )

    def _read_groups(self) -> Mapping[str, Group]:
        """Return all groups; their files are read again only if one was changed, at most once a second."""
        now_s = self.ctx.clock.now()
        if 0 <= now_s - self._looked_s < _LOOK_S:  # `settings_of` is called for each job
            return self._groups
        self._looked_s = now_s
        stamp = file_stamp(self.ctx.home.groups)
        if stamp is None:
            self._groups = {}
        elif stamp != self._folder_stamp:
            self._folder_stamp = settled(stamp, now_s)
            self._groups = dict(self._loaded())
        return self._groups

    def _loaded(self) -> Iterator[tuple[str, Group]]:
        for name in self.ctx.groups.names():
            try:
                yield name, self.ctx.groups.load(name)
            except JobmonError as error:
                self._log_problem(name, str(error))

    def _poll(self, name: str, *, must_wait: bool) -> None:
        store = self.ctx.groups
        self._looked_s = 0.0  # the poll changes the group: read it again next time
        try:
            with store.locked(name) if must_wait else store.locked_if_free(name) as group:
                if group is not None:
                    self._poll_locked(group)
        except StorageFailed:
            raise
        except JobmonError as error:  # removed by the user, or damaged
            self._log_problem(name, str(error))

    def _poll_locked(self, group: Group) -> None:
        from jobmon_core.domain.many.groups.log_text import EventText  # only for users with groups
        from jobmon_core.domain.many.groups.poll import after_poll, is_due, logs_gpu_figures
        from jobmon_core.monitor.groups.actions import perform_saved

        group = self._with_newest_attempts(group)
        views = {name: self._view(member) for name, member in group.members.items()}
        # finish what a process saved and was killed before doing
        group = perform_saved(self.ctx, group, views)
        now_s = self.ctx.clock.now()
        if not is_due(group, views, now_s):
            return
        figures = self._gpu_figures(group, views) if logs_gpu_figures(group) else {}
        if figures and self.ctx.groups.load(group.name) != group:
            return  # another host, which locks may not reach, changed it meanwhile: try again later
        log = (
            group.log if group.log.path else replace(group.log, path=str(self.ctx.home.group_log(group.name)))
        )
        group = after_poll(replace(group, log=log), views, figures, EventText(now_s, _local_time))
        self.ctx.groups.save(group)
        perform_saved(self.ctx, group, views)

    def _with_newest_attempts(self, group: Group) -> Group:
        newest = dict[str, "Member"]()
        for name, member in group.members.items():
            view = self._view(member)
            job = None
            if view.is_over and view.is_attempt:
                job = self._job(member.state_id)
            if job and (successor := self.ctx.lineages.successor_of(job)):
                newest[name] = member.with_attempt(successor)
        if newest:
            group = group.with_members(newest)
            self.ctx.groups.save(group)
        return group

    def _view(self, member: Member) -> MemberView:
        from jobmon_core.domain.many.groups.member_view import UNREADABLE, UNWATCHED, MemberView, view_of
        from jobmon_core.store.jobs import Unreadable

        if not member.state_id:
            return MemberView()
        path = self.ctx.store.path(member.state_id)
        stamp = file_stamp(path)
        if stamp is None:  # removed, e.g. by `jobmon forget` or `jobmon prune`
            state = UNWATCHED
            if member.outcome:
                state = member.logged_state
            return MemberView(state, member.job_id, member.outcome, is_over=True, cause=member.cause)
        known = self._views.get(member.state_id)
        if known is None or known[0] != stamp:
            job = self.ctx.store.read(path)
            view = MemberView(UNREADABLE) if isinstance(job, Unreadable) else view_of(job)
            known = self._views[member.state_id] = (stamp, view)
        return known[1]

    def _gpu_figures(self, group: Group, views: Mapping[str, MemberView]) -> dict[str, GpuFigures]:
        running = {name: member.state_id for name, member in group.members.items() if not views[name].is_over}

        def read() -> dict[str, GpuFigures]:
            from jobmon_core.monitor.groups.actions import gpu_figures  # only in a child

            jobs = {name: self._job(state_id) for name, state_id in running.items() if state_id}
            found = {name: gpu_figures(self.ctx, job) for name, job in jobs.items() if job and job.is_running}
            return {name: figures for name, figures in found.items() if figures}

        from jobmon_core.domain.many.groups.log_text import GpuFigures

        try:
            return self.helper.run(dict[str, GpuFigures], read, _FIGURES_TIMEOUT_S)
        except HelperFailed as error:
            self._log_problem(group.name, f"its GPU figures could not be read: {error}")
            return {}

    def _job(self, state_id: str) -> WatchedJob | None:
        try:
            return self.ctx.store.load(state_id)
        except JobmonError:
            return None

    def _log_problem(self, name: str, problem: str) -> None:
        if self._problems.get(name) != problem:
            self._problems[name] = problem
            self.log(f"group {name}: {problem}")


def _due_s(group: Group, own_state_ids: Collection[str]) -> float:
    """Return when a monitor of these jobs polls a group; one without a member of it waits longer."""
    next_s = group.next_due_s()
    if next_s is None:  # complete, but its last poll is unfinished: at once
        return 0.0
    is_own = any(member.state_id in own_state_ids for member in group.members.values())
    overdue_s = 0.0
    if not is_own:
        overdue_s = group.settings.interval_s + _OVERDUE_S
    # a group that nobody has polled yet is due for its own monitor at once
    return max(next_s, group.created_s) + overdue_s


def _is_unfinished(group: Group) -> bool:
    return bool(group.log.pending or group.unsent or group.hold or group.then_is_due)


def _local_time(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds))
