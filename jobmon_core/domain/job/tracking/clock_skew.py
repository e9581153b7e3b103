"""Repair stored times that lie in the future because the machine's clock was set back."""

from __future__ import annotations

from dataclasses import replace

from jobmon_core.domain.job.tracking.model import Task, WatchedJob

_SLACK_S = 1.0
_MAX_WAIT_S = 21_600.0  # few waits are longer: a later time was probably set before the clock was set back


def clamp_to_now(job: WatchedJob, now_s: float) -> WatchedJob:
    """Return the job with polling's past times moved to ``now_s`` or before, and retries to within six hours.

    Times that Slurm reported are kept. Unless the clock was set back, nothing changes.
    """
    if max(job.registered_s, job.answered_s or 0.0) <= now_s + _SLACK_S:
        return job
    before_s = now_s - _SLACK_S
    return replace(
        job,
        registered_s=min(job.registered_s, before_s),
        answered_s=_earlier(job.answered_s, before_s),
        record_asked_s=min(job.record_asked_s, before_s),
        stale_since_s=_earlier(job.stale_since_s, now_s),
        outage_s=_earlier(job.outage_s, now_s),
        restart_due_s=_earlier(job.restart_due_s, now_s + _restart_delay_s(job)),
        tasks={key: _clamp_task(task, now_s) for key, task in job.tasks.items()},
        outbox=tuple(
            replace(entry, next_try_s=min(entry.next_try_s, now_s + _MAX_WAIT_S)) for entry in job.outbox
        ),
    )


def _restart_delay_s(job: WatchedJob) -> float:
    decision = job.decision
    return max(0.0, decision.not_before_s - decision.decided_s) if decision else 0.0


def _earlier(time_s: float | None, limit_s: float) -> float | None:
    return None if time_s is None else min(time_s, limit_s)


def _clamp_task(task: Task, now_s: float) -> Task:
    history = tuple(replace(change, at_s=min(change.at_s, now_s - _SLACK_S)) for change in task.history)
    inquiry = task.inquiry and replace(
        task.inquiry,
        since_s=min(task.inquiry.since_s, now_s),
        opened_s=_earlier(task.inquiry.opened_s, now_s),
        last_queue_s=min(task.inquiry.last_queue_s, now_s),
        next_query_s=min(task.inquiry.next_query_s, now_s),
        unreachable_since_s=_earlier(task.inquiry.unreachable_since_s, now_s),
    )
    return replace(task, history=history, inquiry=inquiry)
