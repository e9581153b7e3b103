"""Look up what the scheduler knows about a job now, without retries: queue, record, accounting, log paths."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.analysis.job_logs import with_scheduler_logs, with_script_logs
from jobmon_core.domain.errors import JobmonError, SchedulerUnavailable, UnknownJob
from jobmon_core.domain.job.tracking.apply_accounting import apply_accounting
from jobmon_core.domain.job.tracking.apply_queue import apply_queue
from jobmon_core.domain.job.tracking.apply_record import apply_record
from jobmon_core.domain.job.tracking.conclude import conclude
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.slurm.rows import Unreachable
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.backends import display_name
from jobmon_core.system.users import user_name

if TYPE_CHECKING:
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.domain.slurm.rows import AccountingAnswer, QueueAnswer
    from jobmon_core.scheduler.base import Scheduler

_OFFLINE_HINT = "`jobmon diagnose FILE` explains a log file without a scheduler"
_PART_HINT = "name an array task as 12_3 and a het job component as 12+1, not by its $SLURM_JOB_ID"
_NO_WAITING = Policy(
    running_s=0.0, accounting_grace_s=0.0, deadline_s=0.0, unreachable_deadline_s=0.0, vanished_s=0.0
)


def look_up(job: WatchedJob, scheduler: Scheduler, now_s: float) -> WatchedJob:
    """Return the job with all that the scheduler knows about it.

    Raises:
        UnknownJob: the scheduler does not know it.
        SchedulerUnavailable: no source lists the job, and at least one does not respond.
    """
    record = scheduler.ask_record(job.job_id)
    records = record if isinstance(record, tuple) else ()
    owner = ""  # squeue lists by user, and the job may belong to another user
    if records:
        owner = records[0].user
        if records[0].ref.job_id != job.job_id:
            # job.job_id is the raw id (JobIDRaw) of an array task or het component; Slurm lists that under
            # the id of the whole job
            return look_up(replace(job, job_id=records[0].ref.job_id), scheduler, now_s)
    queue = _queue(scheduler, job.user or owner or user_name(), job.job_id)
    accounting = _accounting(scheduler, job.job_id)
    # an unreachable squeue counts as an empty queue, which proves no end: `conclude` requires that another
    # source shows the end, or that slurmctld answered that it does not know the job
    rows = queue if isinstance(queue, tuple) else ()
    if not (records or rows or (isinstance(accounting, tuple) and accounting)):
        answers = (record, queue, accounting)
        raise _lookup_error(job, [answer.why for answer in answers if isinstance(answer, Unreachable)])
    job = apply_queue(job, rows, now_s, _NO_WAITING)
    job = apply_accounting(apply_record(job, record, now_s), accounting, _NO_WAITING, now_s)
    if records:
        job = with_scheduler_logs(job, records, scheduler)
    tasks = {key: _with_end(task, now_s) for key, task in job.tasks.items()}
    return with_script_logs(replace(job, tasks=tasks), scheduler)


def _queue(scheduler: Scheduler, user: str, job_id: int) -> QueueAnswer:
    answer = scheduler.ask_queue(user)
    return scheduler.read_queue(answer, [job_id]) if isinstance(answer, str) else answer


def _accounting(scheduler: Scheduler, job_id: int) -> AccountingAnswer:
    answer = scheduler.ask_accounting([job_id])
    return scheduler.read_accounting(answer, job_id) if isinstance(answer, str) else answer


def _lookup_error(job: WatchedJob, errors: list[str]) -> JobmonError:
    if errors:  # usually with the same cause: the first one is enough
        return SchedulerUnavailable(f"job {job.job_id} cannot be looked up now: {errors[0]}; {_OFFLINE_HINT}")
    return UnknownJob(
        f"unknown job {job.job_id}. {display_name(job.backend)} lists no job under this id; {_PART_HINT}; "
        f"{_OFFLINE_HINT}"
    )


def _with_end(task: Task, now_s: float) -> Task:
    """Accounting or the controller's record fill gaps of squeue."""
    end = task.end or conclude(task, _NO_WAITING, now_s)
    inquiry = task.inquiry
    source = (inquiry.record or inquiry.row) if inquiry else None
    if source is None:
        return replace(task, end=end)
    raw_state = task.raw_state or source.raw_state
    return replace(
        task,
        end=end,
        raw_state=raw_state,
        state=JobState.from_slurm(raw_state),
        reason=task.reason or source.reason,
        raw_job_id=task.raw_job_id or source.raw_job_id,
        nodes=task.nodes or source.nodes,
        start_s=task.start_s or source.start_s,
    )
