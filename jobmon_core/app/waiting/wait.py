"""Use case: wait until jobs are over, from jobmon's own files: the scheduler gets no query.

The monitors of the jobs query it anyway. A wait looks at the state files once a second, and reads those that
have changed. It also ends if a monitor is gone and cannot be restarted: nothing would report the job's end.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from jobmon_core.app.jobs.overview import policy
from jobmon_core.app.waiting.result import Result, Waited, judge, result_of
from jobmon_core.domain.channels import Route
from jobmon_core.domain.errors import JobmonError, StateUnreadable
from jobmon_core.lifecycle.health import Health, job_status
from jobmon_core.system.files import file_stamp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.domain.slurm.states import Outcome
    from jobmon_core.domain.tracking.model import WatchedJob
    from jobmon_core.system.files import Stamp

_LOOK_INTERVAL_S = 1.0
_HEALTH_INTERVAL_S = 10.0  # between two looks at whether the monitors live
_RESTART_TIMEOUT_S = 60.0  # another `jobmon recover` may be running


@dataclass(frozen=True, slots=True)
class Target:
    """A job to wait for."""

    state_id: str  # empty if it is a run that was not submitted
    ref: JobRef | None  # the job, or a part of it
    run: str = ""  # its name in a group
    outcome: Outcome | None = None  # as the group remembers it: the state file may be removed


def restart_monitors(ctx: Context, tell: Callable[[str], None]) -> None:
    """Restart the monitors that are gone, as `jobmon recover` does; this process must have one thread."""
    from jobmon_core.app.recover import RecoverJobs  # rarely needed
    from jobmon_core.lifecycle.start import MonitorStarter

    for result in RecoverJobs(ctx, MonitorStarter(ctx)).recover():
        if result.is_changed and result.is_job:
            tell(f"{result.subject}: {result.action}")


@dataclass(slots=True)
class WaitForJobs:
    """Waits for jobs, whose monitors it restarts if they are gone."""

    ctx: Context
    tell: Callable[[str], None]
    restart: Callable[[Context, Callable[[str], None]], None] = restart_monitors
    _read: dict[str, tuple[Stamp | None, WatchedJob]] = field(default_factory=dict, init=False)
    _unwatched_since_s: dict[str, float] = field(default_factory=dict, init=False)
    _looked_s: float = field(default=float("-inf"), init=False)

    def wait(self, find: Callable[[], Sequence[Target]], deadline_s: float | None) -> list[Waited]:
        """Return the answer about each job when all are over, or at ``deadline_s`` (Unix seconds).

        Without a deadline, it waits for as long as a job runs. ``find`` returns the jobs; it is called at
        each look, since a group may grow.
        """
        doubtful_fails = Route(policy(self.ctx).doubtful_success) is Route.ERROR
        while True:
            targets = find()
            answers = [self._answer(target, doubtful_fails=doubtful_fails) for target in targets]
            running = {
                target.state_id
                for target, answer in zip(targets, answers, strict=True)
                if answer.result is Result.RUNNING
            }
            self._look_after_monitors(running)
            now_s = self.ctx.clock.now()
            is_last = deadline_s is not None and now_s >= deadline_s
            answers = [
                self._without_monitor(target, answer, now_s, is_last=is_last)
                for target, answer in zip(targets, answers, strict=True)
            ]
            if is_last or all(answer.result is not Result.RUNNING for answer in answers):
                return answers
            rest_s = _LOOK_INTERVAL_S if deadline_s is None else min(_LOOK_INTERVAL_S, deadline_s - now_s)
            self.ctx.clock.wait(rest_s)

    def _answer(self, target: Target, *, doubtful_fails: bool) -> Waited:
        if not target.state_id:
            return Waited(None, None, Result.UNKNOWN, "it was not submitted", target.run)
        try:
            job = self._job(target.state_id)
        except StateUnreadable as error:
            if target.outcome:
                return Waited(target.ref, None, result_of(target.outcome), str(target.outcome), target.run)
            return Waited(target.ref, None, Result.UNKNOWN, str(error), target.run)
        answer = judge(job, target.ref or job.ref, doubtful_fails=doubtful_fails)
        return replace(answer, run=target.run)

    def _job(self, state_id: str) -> WatchedJob:
        """Return a job; its file is read only if it has changed."""
        stamp = file_stamp(self.ctx.store.path(state_id))
        known = self._read.get(state_id)
        if known is None or stamp is None or known[0] != stamp:
            known = stamp, self.ctx.store.load(state_id)
            self._read[state_id] = known
        return known[1]

    def _look_after_monitors(self, state_ids: set[str]) -> None:
        """If a monitor of these jobs is gone, restart all that are gone; look at most every ten seconds."""
        now_s = self.ctx.clock.now()
        if 0 <= now_s - self._looked_s < _HEALTH_INTERVAL_S:
            return
        self._looked_s = now_s
        gone = self._without_monitors(state_ids)
        if gone:
            self._recover()
            gone = self._without_monitors(gone)
        self._unwatched_since_s = {each: self._unwatched_since_s.get(each, now_s) for each in gone}

    def _without_monitors(self, state_ids: set[str]) -> set[str]:
        healths = {each: job_status(self.ctx, self._read[each][1]).health for each in state_ids}
        return {each for each, health in healths.items() if health in (Health.DEAD, Health.STALE)}

    def _recover(self) -> None:
        try:
            self.restart(self.ctx, self.tell)
        except JobmonError as error:
            self.tell(f"the monitors cannot be restarted now: {error}")

    def _without_monitor(self, target: Target, answer: Waited, now_s: float, *, is_last: bool) -> Waited:
        """Return the answer; UNKNOWN if the job has had no monitor for too long, or has none at the end."""
        since_s = self._unwatched_since_s.get(target.state_id)
        if answer.result is not Result.RUNNING or since_s is None:
            return answer
        if not is_last and 0 <= now_s - since_s < _RESTART_TIMEOUT_S:
            return answer
        why = "it has no monitor, and none could be started; `jobmon recover` says why"
        return replace(answer, result=Result.UNKNOWN, why=why)
