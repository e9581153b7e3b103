"""Wait until jobs are over, from jobmon's own files: the monitors query the scheduler anyway.

A wait looks at the state files once a second, and reads those that have changed. It also ends if a monitor is
gone and cannot be restarted: nothing would report the job's end. A group may grow meanwhile.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, assert_never

from jobmon_core.app.jobs.find import find_job
from jobmon_core.app.jobs.overview import policy
from jobmon_core.app.live.changed_files import ChangedFiles
from jobmon_core.domain.channels import Route
from jobmon_core.domain.decide import MAX_DIAGNOSED
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.many.groups.member_view import view_of
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.lifecycle.health import job_status
from jobmon_core.scheduler.backends import cancel_command

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.domain.slurm.job_ids import JobRef

_LOOK_INTERVAL_S = 1.0
_HEALTH_INTERVAL_S = 10.0  # between two looks at whether the monitors live
_GROUP_INTERVAL_S = 0.2
_GROUP_TIMEOUT_S = 15.0  # a living monitor completes a group right after its last job has ended
_RESTART_TIMEOUT_S = 60.0  # another `jobmon recover` may be running


@dataclass(frozen=True, slots=True)
class WaitTarget:
    """A job to wait for."""

    state_id: str  # empty if it is a run that was not submitted
    ref: JobRef | None
    run: str = ""  # in a group
    outcome: Outcome | None = None  # as the group remembers it: the state file may be removed


def target_finder(ctx: Context, arguments: Sequence[str]) -> Callable[[], list[WaitTarget]]:
    """Return a function that finds the jobs of all arguments, which are names of jobs or groups."""
    finders = [_finder(ctx, each) for each in arguments]

    def find() -> list[WaitTarget]:
        return list(dict.fromkeys(target for finder in finders for target in finder()))

    return find


def _finder(ctx: Context, argument: str) -> Callable[[], list[WaitTarget]]:
    if argument in ctx.groups.names():
        file = ChangedFiles(lambda _path: _members(ctx, argument))
        return lambda: file.content(ctx.groups.path(argument))
    job, ref = find_job(ctx, argument)
    return lambda: [WaitTarget(job.id, ref)]


def _members(ctx: Context, name: str) -> list[WaitTarget]:
    """The target of a run that was not submitted has no state id."""
    members = ctx.groups.load(name).members
    return [WaitTarget(member.state_id, None, run, member.outcome) for run, member in members.items()]


def wait_until_complete(ctx: Context, names: Iterable[str], deadline_s: float | None) -> None:
    """Wait until the monitor has completed groups whose jobs have all ended: logs and messages.

    At most 15 seconds, and not beyond ``deadline_s`` (Unix seconds).
    """
    until_s = ctx.clock.now() + _GROUP_TIMEOUT_S
    until_s = until_s if deadline_s is None else min(until_s, deadline_s)
    for name in names:
        with suppress(JobmonError):  # it was removed or is unreadable; how its jobs ended is known anyway
            while ctx.groups.load(name).complete_s is None and ctx.clock.now() < until_s:
                ctx.clock.wait(_GROUP_INTERVAL_S)


def restart_monitors(ctx: Context, tell: Callable[[str], None]) -> None:
    """Do as `jobmon recover`; this process must have one thread."""
    from jobmon_core.app.recover import RecoverJobs  # rarely needed
    from jobmon_core.lifecycle.start import MonitorStarter

    for result in RecoverJobs(ctx, MonitorStarter(ctx)).recover():
        if result.is_changed and result.is_job:
            tell(f"{result.subject}: {result.action}")


@dataclass(slots=True)
class WaitForJobs:
    """Restarts their monitors if they are gone."""

    ctx: Context
    tell: Callable[[str], None]
    restart: Callable[[Context, Callable[[str], None]], None] = restart_monitors
    _jobs: ChangedFiles[WatchedJob] = field(init=False)
    _unwatched_since_s: dict[str, float] = field(default_factory=dict, init=False)
    _looked_s: float = field(default=float("-inf"), init=False)

    def __post_init__(self) -> None:
        """Begin without any I/O."""
        self._jobs = ChangedFiles(lambda path: self.ctx.store.load(path.stem))

    def wait(self, find: Callable[[], Sequence[WaitTarget]], deadline_s: float | None) -> list[Waited]:
        """Return the answer about each job when all are over, or at ``deadline_s`` (Unix seconds).

        ``find`` returns the jobs; it is called at each look, since a group may grow. A job that is restarted
        is over when its last attempt is.
        """
        doubtful_fails = Route(policy(self.ctx).doubtful_success) is Route.ERROR
        while True:
            targets = find()
            answers = [self._answer(target, doubtful_fails=doubtful_fails) for target in targets]
            running = [each.job for each in answers if each.job and each.result is Result.RUNNING]
            self._look_after_monitors(running)
            now_s = self.ctx.clock.now()
            is_last = deadline_s is not None and now_s >= deadline_s
            answers = [self._without_monitor(answer, now_s, is_last=is_last) for answer in answers]
            if is_last or all(answer.result is not Result.RUNNING for answer in answers):
                return answers
            rest_s = _LOOK_INTERVAL_S if deadline_s is None else min(_LOOK_INTERVAL_S, deadline_s - now_s)
            self.ctx.clock.wait(rest_s)

    def _answer(self, target: WaitTarget, *, doubtful_fails: bool) -> Waited:
        if not target.state_id:
            return Waited(None, None, Result.UNKNOWN, "it was not submitted", target.run)
        try:
            job = self._job(target.state_id)
            if successor := self.ctx.lineages.successor_of(job):
                job = self._job(successor)
        except JobmonError as error:
            if target.outcome:
                return Waited(target.ref, None, result_of(target.outcome), str(target.outcome), target.run)
            return Waited(target.ref, None, Result.UNKNOWN, str(error), target.run)
        ref = (target.ref if job.id == target.state_id else None) or job.ref
        answer = judge(job, ref, doubtful_fails=doubtful_fails)
        return replace(answer, run=target.run)

    def _job(self, state_id: str) -> WatchedJob:
        return self._jobs.content(self.ctx.store.path(state_id))

    def _look_after_monitors(self, jobs: Iterable[WatchedJob]) -> None:
        """Look at most every ten seconds."""
        now_s = self.ctx.clock.now()
        if 0 <= now_s - self._looked_s < _HEALTH_INTERVAL_S:
            return
        self._looked_s = now_s
        gone = self._without_monitors(jobs)
        if gone:
            self._recover()
            gone = self._without_monitors(gone)
        self._unwatched_since_s = {each.id: self._unwatched_since_s.get(each.id, now_s) for each in gone}

    def _without_monitors(self, jobs: Iterable[WatchedJob]) -> list[WatchedJob]:
        return [job for job in jobs if job_status(self.ctx, job).health.is_lost]

    def _recover(self) -> None:
        try:
            self.restart(self.ctx, self.tell)
        except JobmonError as error:
            self.tell(f"the monitors cannot be restarted now: {error}")

    def _without_monitor(self, answer: Waited, now_s: float, *, is_last: bool) -> Waited:
        """UNKNOWN if the job has had no monitor for too long, or has none at the end."""
        since_s = self._unwatched_since_s.get(answer.job.id) if answer.job else None
        if answer.result is not Result.RUNNING or since_s is None:
            return answer
        if not is_last and 0 <= now_s - since_s < _RESTART_TIMEOUT_S:
            return answer
        why = "it has no monitor, and none could be started; `jobmon recover` says why"
        return replace(answer, result=Result.UNKNOWN, why=why)


class Result(StrEnum):
    """What `jobmon wait` answers about a job, or about several."""

    RUNNING = "running"  # it has not ended, or its outcome is not known yet
    FAILURE = "failure"  # it failed, was cancelled or will never start
    UNKNOWN = "unknown"  # no outcome is known, and none will be
    SUCCESS = "success"


@dataclass(frozen=True, slots=True)
class Waited:
    """The answer about one job."""

    ref: JobRef | None  # the job, or the part of it that the user named; None if it was not submitted
    job: WatchedJob | None  # None if it has no state file that can be read
    result: Result
    why: str = ""  # why it is unknown or never starts, and what to do; of a forgotten job, its outcome
    run: str = ""  # in a group


def overall(results: Iterable[Result]) -> Result:
    """Return the worst result, but RUNNING until all are over; UNKNOWN without any."""
    order = list(Result)
    return min(results, key=order.index, default=Result.UNKNOWN)


def judge(job: WatchedJob, ref: JobRef, *, doubtful_fails: bool) -> Waited:
    """Return the answer about a job or the part of it that ``ref`` names.

    A job is over when its logs have been analysed and its messages are queued, so that a doubtful success
    shows and `jobmon diagnose` has its answer. ``doubtful_fails``: whether a doubtful success is a failure.
    """
    if (outcome := _outcome(job, ref)) is not None:
        is_doubtful = any(task.is_doubtful_success for task in _parts(job, ref))
        result = Result.FAILURE if is_doubtful and doubtful_fails else result_of(outcome)
        return Waited(ref, job, result, _why(job, outcome))
    if reason := view_of(job).never_starts:
        command = cancel_command(job)
        remedy = f"; `{command}` removes it" if command else ""
        return Waited(ref, job, Result.FAILURE, f"it will never start ({reason}){remedy}")
    if job.is_restarting:
        return Waited(ref, job, Result.RUNNING)
    if job.unwatched_s is not None:
        again = f"`jobmon watch {job.ref}` watches it again"
        return Waited(ref, job, Result.UNKNOWN, f"jobmon was asked to stop watching it; {again}")
    if job.closed:
        return Waited(ref, job, Result.UNKNOWN, f"job {job.ref} is over, and jobmon never saw this task")
    return Waited(ref, job, Result.RUNNING)


def _outcome(job: WatchedJob, ref: JobRef) -> Outcome | None:
    """Return the outcome once nothing will be added to it."""
    if ref.key in ("", job.watched_part):
        return job.outcome if job.is_over else None
    task = job.tasks.get(ref.key)
    if task is None or task.end is None:
        return None
    ended = sum(each.end is not None for each in job.tasks.values())
    is_final = job.closed or task.diagnosis is not None or ended > MAX_DIAGNOSED
    return task.end.outcome if is_final else None


def _parts(job: WatchedJob, ref: JobRef) -> list[Task]:
    return [task for task in job.tasks.values() if ref.key in ("", job.watched_part, task.key)]


def result_of(outcome: Outcome) -> Result:
    """Return the result of a job with an outcome that is not doubtful."""
    match outcome:
        case Outcome.SUCCESS:
            return Result.SUCCESS
        case Outcome.FAILURE | Outcome.CANCELLED:
            return Result.FAILURE
        case Outcome.UNKNOWN:
            return Result.UNKNOWN
    assert_never(outcome)


def _why(job: WatchedJob, outcome: Outcome) -> str:
    if outcome is not Outcome.UNKNOWN:
        return ""
    notes = (task.end.why for task in job.tasks.values() if task.end and task.end.outcome is outcome)
    return f"{next(filter(None, notes), 'no source shows how it ended')}; check its output and files yourself"
