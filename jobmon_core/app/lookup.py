"""What the scheduler says of a job right now: each witness is asked once, and nothing is waited for."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.analysis.job_logs import learn_logs, with_script_logs
from jobmon_core.domain.errors import JobmonError, SchedulerUnavailable, UnknownJob
from jobmon_core.domain.slurm.rows import RawAnswer, Unreachable
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.domain.tracking.apply_accounting import apply_accounting
from jobmon_core.domain.tracking.apply_queue import apply_queue, apply_record
from jobmon_core.domain.tracking.conclude import conclude
from jobmon_core.domain.tracking.policy import Policy
from jobmon_core.system.process import user_name

if TYPE_CHECKING:
    from jobmon_core.domain.slurm.rows import AccountingAnswer, QueueAnswer
    from jobmon_core.domain.tracking.model import Task, WatchedJob
    from jobmon_core.scheduler.base import Scheduler

_OFFLINE = "`jobmon diagnose FILE` explains its log without Slurm"
_AT_ONCE = Policy(
    running_s=0.0, accounting_grace_s=0.0, deadline_s=0.0, unreachable_deadline_s=0.0, vanished_s=0.0
)


def look_up(job: WatchedJob, scheduler: Scheduler, now_s: float) -> WatchedJob:
    """Return the job with all that the scheduler knows of it now, its ends judged and its logs found.

    Raises:
        UnknownJob: the scheduler does not know it.
        SchedulerUnavailable: the scheduler can't be asked now.
    """
    record = scheduler.ask_record(job.job_id)
    if isinstance(record, tuple) and record and record[0].ref.job_id != job.job_id:
        # an array task has a number of its own, by which no listing names it
        return look_up(replace(job, job_id=record[0].ref.job_id), scheduler, now_s)
    # slurmctld lists by user, and the job may be somebody else's
    owner = record[0].user if isinstance(record, tuple) and record else ""
    queue = _queue(scheduler, job.user or owner or user_name(), job.job_id)
    ledger = _accounting(scheduler, job.job_id)
    answers = (record, queue, ledger)
    if not any(isinstance(answer, tuple) and answer for answer in answers):
        raise _unknown(job, [answer.why for answer in answers if isinstance(answer, Unreachable)])
    job = apply_queue(job, queue if isinstance(queue, tuple) else (), now_s, _AT_ONCE)
    job = apply_accounting(apply_record(job, record, now_s), ledger, _AT_ONCE, now_s)
    if isinstance(record, tuple):
        job = learn_logs(job, record, scheduler)
    tasks = {key: _settled(task, now_s) for key, task in job.tasks.items()}
    return with_script_logs(replace(job, tasks=tasks), scheduler)


def _queue(scheduler: Scheduler, user: str, job_id: int) -> QueueAnswer:
    answer = scheduler.ask_queue(user)
    return scheduler.read_queue(answer.text, [job_id]) if isinstance(answer, RawAnswer) else answer


def _accounting(scheduler: Scheduler, job_id: int) -> AccountingAnswer:
    answer = scheduler.ask_accounting([job_id])
    return scheduler.read_accounting(answer.text, job_id) if isinstance(answer, RawAnswer) else answer


def _unknown(job: WatchedJob, silent: list[str]) -> JobmonError:
    if silent:  # they are silent for one reason, which is told once
        return SchedulerUnavailable(f"job {job.job_id} can't be looked up now: {silent[0]}; {_OFFLINE}")
    return UnknownJob(f"job {job.job_id} is not known: neither jobmon nor Slurm lists it; {_OFFLINE}")


def _settled(task: Task, now_s: float) -> Task:
    """Judge a part, and learn of it what only the inquiry was told."""
    end = task.end or conclude(task, _AT_ONCE, now_s)
    inquiry = task.inquiry
    said = (inquiry.record or inquiry.row) if inquiry else None
    if said is None:
        return replace(task, end=end)
    word = task.raw_state or said.raw_state
    return replace(
        task,
        end=end,
        raw_state=word,
        state=JobState.from_slurm(word),
        reason=task.reason or said.reason,
        raw_job_id=task.raw_job_id or said.raw_job_id,
        nodes=task.nodes or said.nodes,
        start_s=task.start_s or said.start_s,
    )
