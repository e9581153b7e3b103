"""When the machine's clock is set back, what is known comes from the future: it is called now instead."""

from __future__ import annotations

from dataclasses import replace

from jobmon_core.domain.tracking.model import Task, WatchedJob

_SLACK_S = 1.0
_LONGEST_WAIT_S = 21_600.0  # between two attempts of anything: a later appointment was made by another clock


def clamp_to_now(job: WatchedJob, now_s: float) -> WatchedJob:
    """Return a job whose past lies in the past; the job itself, unless the clock was set back."""
    if max(job.registered_s, job.answered_s or 0.0) <= now_s + _SLACK_S:
        return job
    outbox = tuple(
        replace(entry, next_try_s=min(entry.next_try_s, now_s + _LONGEST_WAIT_S)) for entry in job.outbox
    )
    return replace(
        job,
        registered_s=min(job.registered_s, now_s - _SLACK_S),
        answered_s=None if job.answered_s is None else min(job.answered_s, now_s - _SLACK_S),
        record_asked_s=min(job.record_asked_s, now_s - _SLACK_S),
        stale_since_s=None if job.stale_since_s is None else min(job.stale_since_s, now_s),
        outage_s=None if job.outage_s is None else min(job.outage_s, now_s),
        tasks={key: _task(task, now_s) for key, task in job.tasks.items()},
        outbox=outbox,
    )


def _task(task: Task, now_s: float) -> Task:
    history = tuple(replace(moment, at_s=min(moment.at_s, now_s - _SLACK_S)) for moment in task.history)
    task = replace(task, history=history)
    if task.inquiry is None:
        return task
    inquiry = replace(
        task.inquiry,
        since_s=min(task.inquiry.since_s, now_s),
        last_queue_s=min(task.inquiry.last_queue_s, now_s),
        next_query_s=min(task.inquiry.next_query_s, now_s),
    )
    return replace(task, inquiry=inquiry)
