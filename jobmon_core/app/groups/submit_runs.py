"""Plan the runs of a file in a group; submit runs, each once, even if the command is repeated.

Each run is submitted by a helper process in a session of its own, see `submit_once`, so a repeated command
finds the job of a submission that was cut off.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.app.groups.jobs import open_group, update, watched_job
from jobmon_core.app.runs.recorded import in_recorded_folder
from jobmon_core.app.runs.submit_request import SubmitRequest
from jobmon_core.app.submit import SubmitJob
from jobmon_core.app.submit_once import Reply, helper_runs, reply_to, run_in_session
from jobmon_core.domain.errors import JobmonError, SchedulerMissing, SchedulerRejected
from jobmon_core.domain.many.groups.model import Member, PlannedRun
from jobmon_core.domain.many.groups.runs_file import planned_run
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import NotListed, Unreachable
from jobmon_core.lifecycle.start import MonitorStarter
from jobmon_core.scheduler.backends import find_backend
from jobmon_core.scheduler.base import CutOffSubmission, Untraceable
from jobmon_core.store.lineages import RecordedSubmission
from jobmon_core.system.helper import HelperFailed
from jobmon_core.system.lock import command_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.new_job import NewJob
    from jobmon_core.domain.many.groups.model import Group, GroupSettings
    from jobmon_core.domain.many.groups.runs_file import Reader

_LOCK_TIMEOUT_S = 5.0
_STILL_RUNS_S = 60.0  # wait for the helper of a command that was killed
_STEP_S = 0.2
_MAX_REFUSED = 3  # in a row: the rest would be refused too, e.g. because of a limit
_ROUTINE = ("watching job ",)  # what `jobmon submit` says each time


@dataclass(frozen=True, slots=True)
class Run:
    """A run to submit."""

    name: str  # in the group
    recorded: RecordedSubmission  # its folder, its arguments and, if its file has changed, its script
    request: SubmitRequest
    replaces: str = ""  # the state id of the earlier job that this submission replaces


class RunResult(NamedTuple):
    """What became of a run."""

    name: str
    text: str
    is_submitted: bool  # in the group, by this command or before
    is_new: bool = False  # by this command


def plan_file(
    ctx: Context,
    name: str,
    path: Path,
    backend: str | None,
    settings: Callable[[GroupSettings], GroupSettings],
) -> tuple[tuple[Run, ...], dict[str, JobRef]]:
    """Read a file of runs into a group, made if need be; return what to submit, and the known jobs."""
    from jobmon_core.observe.job_config import read_runs

    backend = backend or ctx.configuration().backend
    runs = read_runs(path, _reader(backend))
    open_group(ctx, name, settings)
    update(ctx, name, lambda group: _planned(group, runs))
    folder = str(path.absolute().parent)
    planned = [_run(each, run, folder, backend) for each, run in runs.items() if isinstance(run, PlannedRun)]
    return tuple(planned), {each: run for each, run in runs.items() if isinstance(run, JobRef)}


def _reader(backend: str) -> Reader:
    line = find_backend(backend).command_line
    if line is None:
        return planned_run

    def read(words: Sequence[str]) -> PlannedRun:
        try:
            found = line.read(words)
        except SchedulerRejected as error:
            raise ValueError(str(error)) from error
        if not found.operands:
            raise ValueError("no script is given")
        return PlannedRun(found.script, found.operands[bool(found.script) :], found.options)

    return read


def _run(name: str, run: PlannedRun, folder: str, backend: str) -> Run:
    arguments = (*run.options, *filter(None, (run.script,)), *run.arguments)
    return Run(name, RecordedSubmission(arguments, folder), SubmitRequest(backend, arguments))


def _planned(group: Group, runs: Mapping[str, PlannedRun | JobRef]) -> Group:
    members = {}
    for name, run in runs.items():
        member = group.members.get(name, Member())
        if isinstance(run, PlannedRun) and not member.state_id:
            members[name] = replace(member, planned=run)
    return group.with_members(members)


@dataclass(slots=True)
class SubmitRuns:
    """Submits runs of one group."""

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
        CommandBusy says that another command submits runs of this group.
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
            reply = run_in_session(Reply, lambda: self._in_helper(run))
        except HelperFailed as error:
            again = "repeat the command to find out whether it was submitted"
            return RunResult(run.name, f"the submission was cut off ({error}); {again}", is_submitted=False)
        self._pass_on(reply, run)
        member = self._member(run)
        if _is_submitted(member, run):
            return RunResult(run.name, f"submitted as job {_job_id(member)}", is_submitted=True, is_new=True)
        if reply.is_missing:
            raise SchedulerMissing(reply.error)
        what = "not submitted"
        if reply.may_have_job:
            what = "perhaps submitted; repeat the command to find out"
        problem = reply.error or f"{what} (exit code {reply.exit_code})"
        return RunResult(run.name, problem, is_submitted=False)

    def _pass_on(self, reply: Reply, run: Run) -> None:
        for text in reply.told:
            if text not in self._told and not text.startswith(_ROUTINE):
                self._told.add(text)
                self.tell(f"{run.name}: {text}" if run.name not in text else text)

    def _member(self, run: Run) -> Member:
        return self.ctx.groups.load(self.group).members.get(run.name, Member())

    def _save(self, run: Run, change: Callable[[Member], Member]) -> Member:
        def changed(group: Group) -> Group:
            return group.with_member(run.name, change(group.members.get(run.name, Member())))

        return update(self.ctx, self.group, changed).members[run.name]

    def _in_helper(self, run: Run) -> Reply:
        told: list[str] = []
        try:
            with in_recorded_folder(self.ctx, run.recorded) as arguments:
                self._save(run, lambda member: _with_submission(member, self.ctx.clock.now()))
                request = run.request._replace(arguments=arguments, group_run=f"{self.group}/{run.name}")
                submit_job = SubmitJob(
                    self.ctx, told.append, request, on_saved=lambda job: self._record(run, job, told)
                )
                reply = reply_to(submit_job.submission)
            if not reply.may_have_job:
                self._save(run, _without_submission)
        except JobmonError as error:
            return Reply(error.exit_code, error=str(error))
        return replace(reply, told=tuple(told))

    def _record(self, run: Run, job: NewJob, told: list[str]) -> None:
        try:
            self._save(run, lambda member: _submitted_as(member, job.id))
        except JobmonError as error:  # the job must be watched all the same; a repeated command finds it
            told.append(f"job {job.job_id} is submitted, but not recorded in group {self.group}: {error}")

    def _resolved(self, run: Run, member: Member) -> tuple[Member, str]:
        member = self._when_helper_ended(run, member)
        if member.submitting_since_s is None:
            return member, ""
        found = self._find(run, member)
        if isinstance(found, JobRef):
            job = watched_job(self.ctx, MonitorStarter(self.ctx, at_most=1), found)
            return self._save(run, lambda old: _submitted_as(old, job.id)), ""
        if isinstance(found, Unreachable | Untraceable) and not self.retry_unclear:
            return member, (
                "an earlier command was cut off while it submitted this run, and it is not known whether "
                f"there is a job: {found.why}. If there is one, run `jobmon group add {self.group} JOB --as "
                f"'{run.name}'`; if not, repeat this command with --retry-unclear"
            )
        return self._save(run, _without_submission), ""

    def _when_helper_ended(self, run: Run, member: Member) -> Member:
        """Wait for the helper of a command that was killed: it may be submitting the run right now."""
        deadline_s = self.ctx.clock.now() + _STILL_RUNS_S
        while (
            helper_runs(member.submitting_session, member.submitting_host)
            and self.ctx.clock.now() < deadline_s
        ):
            self.ctx.clock.wait(_STEP_S)
            member = self._member(run)
        return member

    def _find(self, run: Run, member: Member) -> JobRef | NotListed | Untraceable | Unreachable:
        group = self.ctx.groups.load(self.group)
        others = {ref for each in group.members.values() if (ref := _ref(each))}
        submission = CutOffSubmission(
            member.submitting_session,
            member.submitting_host,
            member.submitting_since_s or 0.0,
            run.recorded.folder,
            run.recorded.arguments,
        )
        return self.ctx.job_control(run.request.backend).find_submission(
            submission, others, self.ctx.clock.now()
        )


def _is_submitted(member: Member, run: Run) -> bool:
    return member.state_id not in ("", run.replaces)


def _with_submission(member: Member, now_s: float) -> Member:
    return replace(
        member,
        submitting_since_s=now_s,
        submitting_session=os.getpid(),
        submitting_host=os.uname().nodename,
    )


def _without_submission(member: Member) -> Member:
    return replace(member, submitting_since_s=None, submitting_session=0, submitting_host="")


def _submitted_as(member: Member, state_id: str) -> Member:
    return replace(_without_submission(member), state_id=state_id, outcome=None, cause="", has_metrics=False)


def _ref(member: Member) -> JobRef | None:
    if member.job_id.isdecimal():
        return JobRef(int(member.job_id))
    return None


def _job_id(member: Member) -> str:
    return str(_ref(member) or member.state_id)
