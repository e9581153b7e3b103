"""Alerts about a job that needs its user: it will not start by itself, or Ray has lost sight of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from jobmon_core.domain.backends import KUBE_STUCK, RAY_LOST, RAY_SHORT, url_of, uses_slurm
from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.delivery.outbox import Field, Message
from jobmon_core.domain.job.tracking.model import Task, WatchedJob
from jobmon_core.domain.messages.parts import job_title, where_fields, with_own_cancel_command
from jobmon_core.domain.messages.what_follows import waits_for_nothing_in_chain
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


class _Problem(NamedTuple):
    """Why a task needs the user."""

    subject: str
    problem: str  # the end of a sentence about the job
    advice: str
    summary: str = "The job has not ended. jobmon keeps monitoring it."


_OF_SERVICES = {  # by how the reason begins
    RAY_LOST: _Problem(
        "ray-lost",
        "is out of sight of Ray",
        "Check on the node whether the driver runs. `jobmon cancel JOBID` stops watching the job.",
        "Ray calls the job FAILED because it can no longer see the driver, e.g. because its node or its "
        "raylet is down. The driver may still run, so jobmon does not call this an end. It keeps querying "
        "Ray.",
    ),
    RAY_SHORT: _Problem(
        "ray-short",
        "waits for what no node of its Ray cluster has",
        "Stop it (`CANCEL`), ask for less and submit it again, or add a node that has what it asks for.",
        "The job has not ended: Ray keeps it waiting, however long that takes. jobmon keeps monitoring it.",
    ),
    KUBE_STUCK: _Problem(
        "kubernetes-stuck",
        "does not go on by itself",
        "Mend what the state says, e.g. the name of the image, or look at the node. If it cannot be mended: "
        "`jobmon handover JOBID` names the command that deletes the job.",
        "The job has not ended: Kubernetes keeps trying, or does not hear of a node. jobmon keeps monitoring "
        "it.",
    ),
    "Can Never Run": _Problem(  # the comment of PBS's scheduler
        "pbs-never",
        "will not start: PBS can never run it",
        "Delete it (`scancel JOBID`), ask for less or for another queue, and submit it again.",
        "The job has not ended: no node or queue has what it asks for, and PBS keeps it waiting. jobmon "
        "keeps monitoring it.",
    ),
}


def stuck_alerts(job: WatchedJob, now_s: float) -> Iterator[tuple[str, Message]]:
    """Yield (subject, message) for each problem of a task that has not ended and needs the user.

    All tasks of an array share their subjects, so that a thousand held tasks cause one message. The
    caller skips subjects that it has seen before.
    """
    tasks = list(job.tasks.values())
    if job.pending_indices:  # array tasks that squeue has not listed one by one yet
        tasks.insert(0, Task("", JobState.PENDING, JobState.PENDING, job.pending_reason))
    for task in tasks:
        has_left = task.end is not None or task.inquiry is not None  # or is about to
        if has_left or waits_for_nothing_in_chain(job, task.reason.strip("()")):
            continue
        if found := _problem_of(job, task):
            shared_key = task.key
            if job.is_array:
                shared_key = ""
            yield f"{shared_key}:{found.subject}", _message(job, task, found, now_s)


def _message(job: WatchedJob, task: Task, found: _Problem, now_s: float) -> Message:
    ref, log_path = str(ref_of(job.job_id, task.key)), job.logs.stderr or job.logs.stdout
    if not task.restarts or "%" in log_path:
        log_path = ""
    return Message(
        id=f"{ref}/{found.subject}",
        route=Route.ERROR,
        tone=Tone.ATTENTION,
        title=f"{job_title(job, task.key)} {found.problem}",
        summary=found.summary,
        fields=(Field("State", f"{task.raw_state} ({task.reason})"), *where_fields(job)),
        advice=with_own_cancel_command(found.advice, job).replace("JOBID", ref),
        log_path=log_path,
        created_s=int(now_s),
    )


def _problem_of(job: WatchedJob, task: Task) -> _Problem | None:
    reason = task.reason.strip("()")
    if not uses_slurm(job.backend):  # the other backends give whole sentences as reasons
        stop = f"ray job stop --address {url_of(job.cluster)} {job.name}"
        found = (each for begin, each in _OF_SERVICES.items() if reason.startswith(begin))
        return next((each._replace(advice=each.advice.replace("CANCEL", stop)) for each in found), None)
    # Slurm soon cancels a job with --kill-on-invalid-dep
    if reason in STUCK_REASONS and (reason != NEVER_SATISFIED or _has_lasted(job, task)):
        return _Problem(reason, *STUCK_REASONS[reason])
    if task.state in _HELD_STATES:
        held = _HELD_STATES[task.state]
        return _Problem(f"{task.state}-{task.restarts}", held.problem, held.advice)
    hint = pending_hint(reason)
    # not if only one of several partitions refuses it
    if hint and hint.never_starts and _has_lasted(job, task) and "," not in job.partition:
        return _Problem("WillNotStart", hint.problem, hint.advice)
    return None


def _has_lasted(job: WatchedJob, task: Task) -> bool:
    """Whether a later answer of Slurm gave the same reason as the first one that did."""
    since_s = job.pending_reason_since_s
    if task.history:
        since_s = task.history[-1].at_s
    return (job.answered_s or 0.0) - (since_s or 0.0) >= _SETTLED_S
