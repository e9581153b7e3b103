"""Alerts about a job that needs its user: it will not start by itself, or Ray has lost sight of it."""

from __future__ import annotations

from collections.abc import Iterator

from jobmon_core.domain.backends import url_of, uses_slurm
from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.delivery.outbox import Field, Message
from jobmon_core.domain.job.tracking.model import Task, WatchedJob
from jobmon_core.domain.logs.diagnosis.ray_reasons import ray_problem
from jobmon_core.domain.messages.chain_stage import waits_for_nothing_in_chain
from jobmon_core.domain.messages.parts import job_title, where_fields, with_own_cancel_command
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.domain.slurm.pending_reasons import (
    NEVER_SATISFIED,
    RELEASE,
    STUCK_REASONS,
    Hint,
    pending_hint,
)
from jobmon_core.domain.slurm.states import JobState

_SETTLED_S = 30.0  # for which Slurm gives the same reason
_HELD_STATES = {
    JobState.SPECIAL_EXIT: Hint("is held after a special exit", RELEASE),
    # Slurm 25.11, after --requeue=expedite and a nonzero exit code; `scontrol requeuehold` gives PENDING
    JobState.REQUEUE_HOLD: Hint("failed, was requeued and is held", RELEASE),
}


def stuck_alerts(job: WatchedJob, now_s: float) -> Iterator[tuple[str, Message]]:
    """Yield (subject, message) for each problem of a task that has not ended and needs the user.

    All tasks of an array share their subjects, so that a thousand held tasks cause one message. The
    caller skips subjects that it has seen before.
    """
    # pending array tasks that squeue has not listed one by one yet
    pending = Task("", JobState.PENDING, JobState.PENDING, job.pending_reason)
    for task in (*([pending] if job.pending_indices else []), *job.tasks.values()):
        reason = task.reason.strip("()")
        has_left = task.end is not None or task.inquiry is not None  # or is about to
        if has_left or waits_for_nothing_in_chain(job, reason):
            continue
        summary = "The job has not ended. jobmon keeps monitoring it."
        if not uses_slurm(job.backend):  # the other backends give whole sentences as reasons
            if (found := ray_problem(reason)) is None:
                continue
            subject, problem, summary, advice = found
            advice = advice.replace("CANCEL", f"ray job stop --address {url_of(job.cluster)} {job.name}")
        # Slurm soon cancels a job with --kill-on-invalid-dep
        elif reason in STUCK_REASONS and (reason != NEVER_SATISFIED or _has_lasted(job, task)):
            subject, (problem, advice) = reason, STUCK_REASONS[reason]
        elif task.state in _HELD_STATES:
            subject, (problem, advice) = f"{task.state}-{task.restarts}", _HELD_STATES[task.state]
        elif (hint := pending_hint(reason)) and hint.never_starts and _is_refused(job, task):
            subject, (problem, advice) = "WillNotStart", hint
        else:
            continue
        ref = str(ref_of(job.job_id, task.key))
        log_path = job.logs.stderr or job.logs.stdout
        message = Message(
            id=f"{ref}/{subject}",
            route=Route.ERROR,
            tone=Tone.ATTENTION,
            title=f"{job_title(job, task.key)} {problem}",
            summary=summary,
            fields=(Field("State", f"{task.raw_state} ({task.reason})"), *where_fields(job)),
            advice=with_own_cancel_command(advice, job).replace("JOBID", ref),
            log_path=log_path if task.restarts and "%" not in log_path else "",
            created_s=int(now_s),
        )
        yield f"{'' if job.is_array else task.key}:{subject}", message


def _is_refused(job: WatchedJob, task: Task) -> bool:
    """Whether Slurm has refused to start a task for a while, and not only in one of several partitions."""
    return _has_lasted(job, task) and "," not in job.partition


def _has_lasted(job: WatchedJob, task: Task) -> bool:
    """Whether a later answer of Slurm gave the same reason as the first one that did."""
    since_s = task.history[-1].at_s if task.history else job.pending_reason_since_s
    return (job.answered_s or 0.0) - (since_s or 0.0) >= _SETTLED_S
