"""What keeps a job from ever starting: told while the job lives, once for each thing."""

from __future__ import annotations

from collections.abc import Iterator

from jobmon_core.domain.channels import Route
from jobmon_core.domain.delivery.outbox import Field, Message, Tone
from jobmon_core.domain.messages.job_ended import identity_of, title_of
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.domain.tracking.model import Task, WatchedJob

_RELEASE = "Look at its log; then start it again (scontrol release JOBID) or end it (scancel JOBID)."
_LAUNCH_FAILED = ("is held, because its launch failed", _RELEASE)
# Reasons to wait that never go away by themselves: what they mean, and what to do.
# Source: Slurm's job_reason_codes.
_HOPELESS = {
    "DependencyNeverSatisfied": (
        "will never start: its dependency can no longer be met",
        "The job that it waits for did not end as required. End it (scancel JOBID) or change its dependency.",
    ),
    "BadConstraints": (
        "will never start: no node can satisfy its constraints",
        "Cancel it (scancel JOBID), change the request (see sinfo for what there is) and submit again.",
    ),
    "InvalidAccount": (
        "will not start: its account is not valid here",
        "Set another one (scontrol update jobid=JOBID account=...), or submit again.",
    ),
    "InvalidQOS": (
        "will not start: its QOS is not valid here",
        "Set another one (scontrol update jobid=JOBID qos=...), or submit again.",
    ),
    "JobHoldMaxRequeue": ("is held, because it was requeued too often", _RELEASE),
    "launch failed requeued held": _LAUNCH_FAILED,
    "launch_failed_requeued_held": _LAUNCH_FAILED,
}


def stuck_alerts(job: WatchedJob, now_s: float) -> Iterator[tuple[str, Message]]:
    """Yield (subject, message) for what keeps the job from ever starting, while it lives.

    All tasks of an array have their subjects in common: a thousand that are held are told of once.
    """
    for task in (*_waiting(job), *job.tasks.values()):
        reason = task.reason.strip("()")
        found: tuple[str, tuple[str, str]] | None = None
        if task.end is None and reason in _HOPELESS:
            found = reason, _HOPELESS[reason]
        elif task.end is None and task.state is JobState.SPECIAL_EXIT:
            found = f"{task.state}-{task.restarts}", ("is held after a special exit", _RELEASE)
        if found:
            part = "" if job.is_array else task.key
            yield f"{part}:{found[0]}", _attention(job, task, *found, now_s)


def _waiting(job: WatchedJob) -> Iterator[Task]:
    """Yield what stands for the tasks of an array that nobody has listed one by one yet."""
    if job.pending_indices:
        yield Task("", JobState.PENDING, JobState.PENDING, job.pending_reason)


def _attention(job: WatchedJob, task: Task, subject: str, words: tuple[str, str], now_s: float) -> Message:
    what, advice = words
    log_path = job.logs.stderr or job.logs.stdout
    return Message(
        id=f"{ref_of(job.job_id, task.key)}/{subject}",
        route=Route.ERROR,
        tone=Tone.ATTENTION,
        title=f"{title_of(job, task.key)} {what}",
        summary="The job has not ended; jobmon goes on watching it.",
        fields=(*identity_of(job, task.key), Field("State", f"{task.raw_state} ({task.reason})")),
        advice=advice.replace("JOBID", str(ref_of(job.job_id, task.key))),
        log_path=log_path if task.restarts and "%" not in log_path else "",
        created_s=int(now_s),
    )
