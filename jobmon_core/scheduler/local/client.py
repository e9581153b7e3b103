"""The local scheduler as a `Scheduler` and a `JobControl`: batch scripts without Slurm."""

from __future__ import annotations

import os
import shlex
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerRejected, StateUnreadable, StorageFailed
from jobmon_core.domain.job.restart.model import LINEAGE_VARIABLE, ProcessesLeft
from jobmon_core.domain.job.tracking.policy import NO_HURRY_S
from jobmon_core.domain.slurm.job_ids import IndexSet, JobRef, compact
from jobmon_core.domain.slurm.log_paths import LogPaths
from jobmon_core.domain.slurm.rows import NotListed, Unreachable
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.base import Submission, Submitted
from jobmon_core.scheduler.local.job_dir import JobDir, all_job_dirs
from jobmon_core.scheduler.local.task_env import CLUSTER, TaskEnv
from jobmon_core.scheduler.records import StatusRow, from_answer, same_fields, to_answer
from jobmon_core.system.process import ProcessId, ProcessStatus, processes_with, start_ticks

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
    from pathlib import Path

    from jobmon_core.domain.slurm.rows import JobRow, RecordAnswer
    from jobmon_core.scheduler.base import BackendResources, CutOffSubmission
    from jobmon_core.scheduler.local.job_dir import JobSpec, TaskRecord
    from jobmon_core.scheduler.local.submit import LocalRequest

# If the supervisor was killed, its unfinished tasks are not listed, unless their process still runs.
_SUPERVISOR_KILLED = "its supervisor was killed: how the job ends will not be recorded"
_WAITS = "Dependency"
_QUEUED = "JobArrayTaskLimit"  # Slurm's reason for tasks that wait for others of their array

_CANNOT_HOLD = "local jobs cannot be held, only cancelled"
_MIN_JOB_AGE_S = 300.0  # how long the queue lists ended jobs: the default of slurmctld's MinJobAge


@dataclass(frozen=True, slots=True)
class LocalScheduler:
    """Runs jobs as detached processes, each with a supervisor process."""

    name = "local"

    folder: Path  # of all local jobs

    def submit(
        self,
        arguments: Sequence[str],
        on_job: Callable[[Submitted], None],
        on_start: Callable[[], None] | None = None,
    ) -> Submission:
        """Start a job and print what sbatch would print; see `Submitter`."""
        from jobmon_core.scheduler.local import submit

        def read_request() -> LocalRequest:
            request = submit.read_request(arguments)
            ignored = submit.ignored_options(request.options)
            if ignored and "quiet" not in request.options:
                _print_error(f"ignored on a single machine: {' '.join(ignored)}")
            return request

        return self.start(read_request, on_job, on_start)

    def start(
        self,
        read_request: Callable[[], LocalRequest],
        on_job: Callable[[Submitted], None],
        on_start: Callable[[], None] | None = None,
    ) -> Submission:
        """Start what ``read_request`` returns, as `submit` does."""
        from jobmon_core.scheduler.local import submit

        try:
            request = read_request()
            if on_start:  # before the job starts, so that it does not run for long without its monitor
                on_start()
            folder = submit.start_job(self.folder, request)
        except SchedulerRejected as error:
            _print_error(str(error))
            return Submission(1, None)
        except (OSError, StorageFailed) as error:
            _print_error(f"the job could not be started: {error}")
            return Submission(1, None)
        job = Submitted(JobRef(folder.id))
        try:
            if "quiet" not in request.options:
                is_parsable = "parsable" in request.options
                print(folder.id if is_parsable else f"Submitted batch job {folder.id}", flush=True)
        finally:
            on_job(job)
        return Submission(0, job)

    def ask_queue(self, user: str) -> str | Unreachable:  # noqa: ARG002 - all jobs of a home are one user's
        """See `Scheduler`."""
        return _answer(self._queued())

    def _queued(self) -> Iterator[StatusRow]:
        observer = ProcessId.current()
        for folder in all_job_dirs(self.folder):
            ended_s = folder.ended_s()
            if ended_s is None or time.time() - ended_s < _MIN_JOB_AGE_S:
                yield from job_status_rows(folder, observer)

    def read_queue(self, text: str, job_ids: Collection[int]) -> tuple[JobRow, ...]:
        """See `Scheduler`."""
        return tuple(row.as_queue_row() for row in from_answer(text, job_ids))

    def ask_accounting(
        self,
        job_ids: Sequence[int],
        within_s: float = NO_HURRY_S,  # noqa: ARG002 - files are read at once
    ) -> str | Unreachable:
        """See `Scheduler`."""
        return _answer(row for job_id in job_ids for row in self._rows_of(job_id))

    def read_accounting(self, text: str, job_id: int) -> tuple[JobRow, ...]:
        """See `Scheduler`."""
        return tuple(row.as_accounting_row(CLUSTER) for row in from_answer(text, (job_id,)))

    def ask_record(self, job_id: int) -> RecordAnswer:
        """See `Scheduler`."""
        answer = self.ask_accounting([job_id])
        if isinstance(answer, Unreachable):
            return answer
        return tuple(row.as_record() for row in from_answer(answer, [job_id])) or NotListed()

    def _rows_of(self, job_id: int) -> list[StatusRow]:
        folder = JobDir(self.folder / str(job_id))
        if folder.path.is_symlink():
            return []
        return job_status_rows(folder, ProcessId.current())

    def ask_log_templates(self, job_id: int) -> LogPaths | None:
        """See `Scheduler`."""
        try:
            spec = JobDir(self.folder / str(job_id)).spec()
        except (OSError, StateUnreadable):
            return None
        if spec is None:
            return None
        return LogPaths(spec.stdout, spec.stderr)

    def script_of(self, job_id: int) -> str:
        """See `Scheduler`."""
        try:
            return JobDir(self.folder / str(job_id)).script.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def main_pid(self, job_id: int, raw_job_id: int) -> int | None:
        """The PID of a task's script, if it runs on this host."""
        try:
            tasks = JobDir(self.folder / str(job_id)).tasks()
        except (OSError, StateUnreadable):
            return None
        started = (task for task in tasks if task.raw_job_id == raw_job_id and task.pid is not None)
        pids = (task.pid for task in started if task.pid and start_ticks(task.pid) == task.start_ticks)
        return next(pids, None)

    def cluster_name(self) -> str:
        """See `Scheduler`."""
        return CLUSTER

    def cancel(self, refs: Sequence[JobRef]) -> str:
        """See `JobControl`; a supervisor on another host cannot be reached."""
        this = ProcessId.current()
        remote = []
        for ref in refs:
            with suppress(StateUnreadable, OSError):
                owner = JobDir(self.folder / str(ref.job_id)).owner()
                status = owner.status(this) if owner else ProcessStatus.EXITED
                if owner and status is ProcessStatus.RUNNING:
                    os.kill(owner.pid, signal.SIGTERM)
                elif owner and status is ProcessStatus.REMOTE:
                    remote.append(f"job {ref} runs on {owner.host}")
        return "; ".join(remote)

    def hold(self, refs: Sequence[JobRef]) -> str:  # noqa: ARG002 - the interface of all schedulers
        """See `JobControl`."""
        return _CANNOT_HOLD

    def release(self, refs: Sequence[JobRef]) -> str:  # noqa: ARG002 - the interface of all schedulers
        """See `JobControl`."""
        return _CANNOT_HOLD

    def queued_jobs(self, user: str) -> dict[JobRef, str]:  # noqa: ARG002 - as for ask_queue
        """See `JobControl`."""
        jobs = [(each.id, spec.name) for each, spec in self._jobs() if each.ended_s() is None]
        return {JobRef(job_id): name for job_id, name in sorted(jobs)}

    def find_submission(
        self, submission: CutOffSubmission, others: Collection[JobRef], now_s: float
    ) -> JobRef | NotListed | Unreachable:
        """The first job since the attempt began with the same folder and script arguments."""
        del now_s
        found = [
            each.id
            for each, spec in self._jobs()
            if spec.submit_dir == submission.folder
            and spec.submit_s >= int(submission.since_s)
            and JobRef(each.id) not in others
            and submission.arguments[len(submission.arguments) - len(spec.arguments) :] == spec.arguments
        ]
        if found:
            return JobRef(min(found))
        return NotListed()

    def _jobs(self) -> Iterator[tuple[JobDir, JobSpec]]:
        for each in all_job_dirs(self.folder):
            with suppress(StateUnreadable, OSError):
                if spec := each.spec():
                    yield each, spec


def _answer(rows: Iterable[StatusRow]) -> str | Unreachable:
    try:
        return to_answer(rows)
    except OSError as error:
        return Unreachable(f"the records of the local jobs cannot be read: {error}")


def _print_error(message: str) -> None:
    for line in message.splitlines():
        print(f"jobmon: local: {line}", file=sys.stderr, flush=True)


def job_status_rows(folder: JobDir, observer: ProcessId) -> list[StatusRow]:
    """The status of all known tasks of a job, as ``observer`` sees it."""
    try:
        spec, owner = folder.spec(), folder.owner()
        if spec is None or owner is None:
            return []
        # the supervisor's status before its records: otherwise its last record could be missed
        supervisor = owner.status(observer)
        tasks, cancelled = folder.tasks(), folder.never_started_record()
    except StateUnreadable as error:
        return [StatusRow(folder.id, JobState.UNKNOWN, folder.id, reason=str(error))]
    shared = _shared_fields(folder.id, spec, owner.host)
    pending = ((row, None) for row in _pending_row(shared, spec, tasks, cancelled))
    started = ((replace(shared, task=task.index, **same_fields(task, StatusRow)), task) for task in tasks)
    rows = (_checked(row, task, supervisor, owner.host) for row, task in (*pending, *started))
    return [row for row in rows if row is not None]


def _shared_fields(job_id: int, spec: JobSpec, host: str) -> StatusRow:
    task_env = TaskEnv(spec, job_id, None, job_id, host)
    return replace(
        StatusRow(job_id, JobState.PENDING, job_id, **same_fields(spec, StatusRow)),
        nodes=task_env.node,
        stdout=spec.stdout if spec.array else task_env.path(spec.stdout),
        stderr=spec.stderr if spec.array else task_env.path(spec.stderr),
        command=shlex.join((spec.command, *spec.arguments)) if spec.command else "",
    )


def _pending_row(
    shared: StatusRow, spec: JobSpec, tasks: list[TaskRecord], cancelled: TaskRecord | None
) -> Iterator[StatusRow]:
    started = {task.index for task in tasks}
    pending = [index for index in IndexSet.parse(spec.array) if index not in started]
    if not pending and (spec.array or started):
        return
    row = replace(shared, pending_indices=compact(pending))
    if cancelled is None:
        waits = ""
        if spec.after_ok:
            waits = _WAITS
        yield replace(row, reason=_QUEUED if started else waits)
    else:
        end = replace(row, state=cancelled.state, reason=cancelled.reason)
        yield replace(end, cancelled_by=cancelled.cancelled_by, end_s=cancelled.end_s)


def _checked(
    row: StatusRow, task: TaskRecord | None, supervisor: ProcessStatus, host: str
) -> StatusRow | None:
    if not row.job_state.is_alive or supervisor is ProcessStatus.RUNNING:
        return row
    if supervisor is ProcessStatus.REBOOTED:
        return replace(row, state=JobState.NODE_FAIL, reason="the machine was restarted")
    if supervisor is ProcessStatus.REMOTE:
        reason = f"only {host}, where it was submitted, knows its status"
        return replace(row, state=JobState.UNKNOWN, reason=reason)
    if task is None or task.pid is None or task.start_ticks is None:
        return None
    still_runs = start_ticks(task.pid) == task.start_ticks
    if still_runs:
        return replace(row, reason=_SUPERVISOR_KILLED)
    return None


def processes_left(
    resources: BackendResources, _cluster: str, number: int, lineage: str
) -> ProcessesLeft | Unreachable:
    """The processes of a lineage that still run here, e.g. after its supervisor was killed.

    Those of jobmon do not count: a monitor of a job that this lineage submitted outlives it.
    """
    try:
        owner = JobDir(resources.folder() / str(number)).owner()
    except (OSError, StateUnreadable) as error:
        return Unreachable(f"the record of job {number} cannot be read: {error}")
    if owner is not None and owner.status(ProcessId.current()) is ProcessStatus.REMOTE:
        return Unreachable(f"the job ran on {owner.host}, and only there its processes can be seen")
    from jobmon_core.scheduler.process.find import is_jobmon

    found = (pid for pid in processes_with(LINEAGE_VARIABLE, lineage) if not is_jobmon(pid))
    return ProcessesLeft(tuple(found), "kill")
