"""Use case: submit runs of a group, each once, even if the command is killed and repeated.

Each run is submitted by a helper process in a session of its own, whose id is saved in the group before
sbatch starts. Slurm records the session with the job, so a repeated command finds the job of a submission
that was cut off.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.app.groups.edit import update, watched_job
from jobmon_core.app.submit import SubmitJob
from jobmon_core.domain.errors import JobmonError, SchedulerMissing
from jobmon_core.domain.groups.model import Member
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import NotListed, Unreachable
from jobmon_core.lifecycle.start import MonitorStarter
from jobmon_core.scheduler.base import Attempt
from jobmon_core.system.lock import command_lock
from jobmon_core.system.process import start_ticks
from jobmon_core.system.worker import Worker, WorkerFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from jobmon_core.context import Context
    from jobmon_core.domain.groups.model import Group
    from jobmon_core.domain.tracking.new_job import NewJob

_LOCK_TIMEOUT_S = 5.0
_SUBMISSION_TIMEOUT_S = 1800.0  # an sbatch that hangs; the next command finds out what became of it
_STILL_RUNS_S = 60.0  # wait for the helper of a command that was killed
_STEP_S = 0.2
_MAX_REFUSED = 3  # in a row: the rest would be refused too, e.g. because of a limit
_ROUTINE = ("watching job ",)  # what `jobmon submit` says each time


@dataclass(frozen=True, slots=True)
class Run:
    """A run to submit."""

    name: str  # in the group
    folder: str  # the working directory
    arguments: tuple[str, ...]  # of sbatch
    backend: str
    job_config: str = ""
    no_agent: bool = False
    script_path: str = ""
    replaces: str = ""  # the state id of the earlier job that this submission replaces; empty for a first one
    # enters the folder and yields the arguments, which may name a temporary copy of the script
    prepared: Callable[[], AbstractContextManager[tuple[str, ...]]] | None = None


class RunResult(NamedTuple):
    """What became of a run."""

    name: str
    text: str
    is_submitted: bool  # in the group, by this command or before
    is_new: bool = False  # by this command


@dataclass(frozen=True, slots=True)
class _Reply:
    """What the helper process says about a submission."""

    exit_code: int = 0
    is_unclear: bool = False  # whether the scheduler may have accepted the job
    error: str = ""
    is_missing: bool = False  # this host has no such scheduler
    told: tuple[str, ...] = ()


@dataclass(slots=True)
class SubmitRuns:
    """Submits runs of one group; ``tell`` prints a message to the user."""

    ctx: Context
    group: str
    tell: Callable[[str], None]
    retry_unclear: bool = False  # submit again what may have been submitted by a command that was killed
    _told: set[str] = field(default_factory=set, init=False)

    def submit(
        self, runs: Sequence[Run], is_stopped: Callable[[], bool] = lambda: False
    ) -> Iterator[RunResult]:
        """Submit the runs that are not submitted yet, in this order; yield what became of each.

        It stops early when ``is_stopped`` returns True, or after three runs in a row that were not submitted.

        Raises:
            CommandBusy: another command submits runs of this group.
            SchedulerMissing: this host has no such scheduler.
            JobmonError: the group cannot be read or written.
        """
        lock = self.ctx.home.monitors / f"group-{self.group}.lock"
        with command_lock(lock, f"jobmon group for {self.group}", _LOCK_TIMEOUT_S):
            refused = 0
            for run in runs:
                if is_stopped() or refused == _MAX_REFUSED:
                    return
                result = self._submit(run)
                refused = 0 if result.is_submitted else refused + 1
                yield result

    def _submit(self, run: Run) -> RunResult:
        member = self._member(run)
        if _is_submitted(member, run):
            return RunResult(run.name, f"was submitted before, as job {_job_id(member)}", is_submitted=True)
        if member.submitting_since_s is not None:
            member, problem = self._resolved(run, member)
            if problem:
                return RunResult(run.name, problem, is_submitted=False)
            if _is_submitted(member, run):
                text = f"was submitted by a command that was cut off, as job {_job_id(member)}"
                return RunResult(run.name, text, is_submitted=True)
        try:
            reply = Worker().run(_Reply, lambda: self._in_helper(run), _SUBMISSION_TIMEOUT_S)
        except WorkerFailed as error:
            again = "repeat the command to find out whether it was submitted"
            return RunResult(run.name, f"the submission was cut off ({error}); {again}", is_submitted=False)
        self._pass_on(reply, run)
        member = self._member(run)
        if _is_submitted(member, run):
            return RunResult(run.name, f"submitted as job {_job_id(member)}", is_submitted=True, is_new=True)
        if reply.is_missing:
            raise SchedulerMissing(reply.error)
        problem = reply.error or f"not submitted (exit code {reply.exit_code})"
        return RunResult(run.name, problem, is_submitted=False)

    def _pass_on(self, reply: _Reply, run: Run) -> None:
        """Print the messages of a submission, except routine ones and those that an earlier run printed."""
        for text in reply.told:
            if text not in self._told and not text.startswith(_ROUTINE):
                self._told.add(text)
                self.tell(f"{run.name}: {text}" if run.name not in text else text)

    def _member(self, run: Run) -> Member:
        return self.ctx.groups.load(self.group).members.get(run.name, Member())

    def _save(self, run: Run, change: Callable[[Member], Member]) -> Member:
        """Change the member of a run; return it."""

        def changed(group: Group) -> Group:
            return group.with_member(run.name, change(group.members.get(run.name, Member())))

        return update(self.ctx, self.group, changed).members[run.name]

    def _in_helper(self, run: Run) -> _Reply:
        """Submit a run; runs in the helper process."""
        os.setsid()
        _detach_streams()
        self._save(run, lambda member: _with_attempt(member, self.ctx.clock.now()))
        told: list[str] = []
        starter = MonitorStarter(self.ctx, at_most=1)  # one monitor for the whole group
        submit_job = SubmitJob(
            self.ctx,
            starter,
            told.append,
            None,
            run.job_config,
            no_agent=run.no_agent,
            script_path=run.script_path,
            on_saved=lambda job: self._record(run, job, told),
        )
        try:
            with run.prepared() if run.prepared else _in_folder(run) as arguments:
                result = submit_job.submission(run.backend, arguments)
        except JobmonError as error:
            self._save(run, _without_attempt)
            return _Reply(error.exit_code, error=str(error), is_missing=isinstance(error, SchedulerMissing))
        finally:
            starter.discard()
        is_unclear = (result.job is None and bool(result.note)) or result.exit_code < 0
        if not is_unclear and result.job is None:
            self._save(run, _without_attempt)
        return _Reply(result.exit_code, is_unclear, result.note if is_unclear else "", told=tuple(told))

    def _record(self, run: Run, job: NewJob, told: list[str]) -> None:
        try:
            self._save(run, lambda member: _submitted_as(member, job.id))
        except JobmonError as error:  # the job must be watched all the same; a repeated command finds it
            told.append(f"job {job.job_id} is submitted, but not recorded in group {self.group}: {error}")

    def _resolved(self, run: Run, member: Member) -> tuple[Member, str]:
        """Find out what became of a submission that was cut off; return the member, and a problem."""
        member = self._when_helper_ended(run, member)
        if member.submitting_since_s is None:
            return member, ""
        found = self._find(run, member)
        if isinstance(found, JobRef):
            job = watched_job(self.ctx, MonitorStarter(self.ctx, at_most=1), found)
            return self._save(run, lambda old: _submitted_as(old, job.id)), ""
        if isinstance(found, Unreachable) and not self.retry_unclear:
            return member, (
                "an earlier command was cut off while it submitted this run, and it is not known whether "
                f"there is a job: {found.why}. If there is one, run `jobmon group add {self.group} JOB --as "
                f"'{run.name}'`; if not, repeat this command with --retry-unclear"
            )
        return self._save(run, _without_attempt), ""

    def _when_helper_ended(self, run: Run, member: Member) -> Member:
        """Wait for the helper of a command that was killed: it may be submitting the run right now."""
        deadline_s = self.ctx.clock.now() + _STILL_RUNS_S
        is_here = member.submitting_host == os.uname().nodename
        while is_here and _runs(member.submitting_session) and self.ctx.clock.now() < deadline_s:
            self.ctx.clock.wait(_STEP_S)
            member = self._member(run)
            if member.submitting_since_s is None:
                break
        return member

    def _find(self, run: Run, member: Member) -> JobRef | NotListed | Unreachable:
        group = self.ctx.groups.load(self.group)
        others = {ref for each in group.members.values() if (ref := _ref(each))}
        attempt = Attempt(
            member.submitting_session,
            member.submitting_host,
            member.submitting_since_s or 0.0,
            run.folder,
            run.arguments,
        )
        return self.ctx.job_control(run.backend).find_attempt(attempt, others, self.ctx.clock.now())


def _is_submitted(member: Member, run: Run) -> bool:
    return member.state_id not in ("", run.replaces)


def _with_attempt(member: Member, now_s: float) -> Member:
    """Return a member that this process is about to submit."""
    return replace(
        member,
        submitting_since_s=now_s,
        submitting_session=os.getpid(),
        submitting_host=os.uname().nodename,
    )


def _without_attempt(member: Member) -> Member:
    return replace(member, submitting_since_s=None, submitting_session=0, submitting_host="")


def _submitted_as(member: Member, state_id: str) -> Member:
    return replace(_without_attempt(member), state_id=state_id, outcome=None, cause="", has_metrics=False)


def _ref(member: Member) -> JobRef | None:
    return JobRef(int(member.job_id)) if member.job_id.isdecimal() else None


def _job_id(member: Member) -> str:
    return str(_ref(member) or member.state_id)


def _runs(pid: int) -> bool:
    return pid > 0 and start_ticks(pid) is not None


def _detach_streams() -> None:
    """Give the helper no input, and drop what sbatch prints on stdout; its errors are for the user."""
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)


@contextmanager
def _in_folder(run: Run) -> Iterator[tuple[str, ...]]:
    try:
        os.chdir(run.folder)
    except OSError as error:
        raise JobmonError(f"{run.folder}: {error.strerror}") from error
    yield run.arguments
