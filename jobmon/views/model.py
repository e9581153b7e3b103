"""Turn a job's status into words, figures and JSON, for any output medium."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from jobmon.views.diagnosis import evidence_json
from jobmon_core.domain.diagnosis.model import Diagnosis
from jobmon_core.domain.humanize import duration
from jobmon_core.domain.messages.scheduler_outage import current_outage
from jobmon_core.domain.slurm.exit_codes import describe_exit
from jobmon_core.domain.slurm.job_ids import IndexSet, ref_of
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.lifecycle.health import Health, JobStatus

if TYPE_CHECKING:
    from jobmon_core.domain.tracking.model import Task, WatchedJob

RECENT_S = 7 * 86_400
_NO_DIAGNOSIS = Diagnosis(None, "", "", "")


def is_recent(status: JobStatus, now_s: float) -> bool:
    """Whether a job is watched, has undelivered messages, or ended in the last 7 days."""
    job = status.job
    if status.health is not Health.DONE or job.undelivered:
        return True
    return now_s - (job.concluded_s or job.unwatched_s or job.registered_s) < RECENT_S


def state(job: WatchedJob) -> str:
    """Return the state as Slurm writes it; if tasks differ in state, the number of tasks in each."""
    states = (
        task.end.state if task.end else task.raw_state or JobState.UNKNOWN for task in job.tasks.values()
    )
    counted: Counter[str] = Counter(sorted(states))
    if pending := len(IndexSet.parse(job.pending_indices)):
        counted[JobState.PENDING] += pending
    if len(counted) > 1:
        return " ".join(f"{each}:{number}" for each, number in counted.items())
    return next(iter(counted), JobState.UNKNOWN)


def leading(job: WatchedJob) -> Task | None:
    """Return the task to show for the job: the first with the job's outcome, else the first, if any."""
    tasks = list(job.tasks.values())
    outcome = job.outcome
    return next(
        (task for task in tasks if task.end and task.end.outcome is outcome), tasks[0] if tasks else None
    )


def cause(job: WatchedJob) -> str:
    """Return why the job failed, in a few words; empty if it succeeded or the cause is unknown."""
    task = leading(job)
    if task is None or task.end is None or task.end.outcome is Outcome.SUCCESS:
        return ""
    if task.diagnosis and task.diagnosis.cause:
        return task.diagnosis.title
    if task.end.exit_code or task.end.signal:
        return f"exit code {describe_exit(task.end.exit_code, task.end.signal)}"
    return task.end.why


def elapsed(job: WatchedJob, now_s: float) -> str:
    """Return the run time and the limit, e.g. ``3m 05s / 2h 00m``; empty if the job did not start."""
    task = leading(job)
    if task is None:
        return ""
    seconds = task.end.elapsed_s if task.end else (now_s - task.start_s if task.start_s else None)
    if seconds is None or (not task.end and seconds < 0):
        return ""
    return duration(seconds) + (f" / {duration(task.limit_s)}" if task.limit_s else "")


def clock(at_s: float, now_s: float) -> str:
    """Return a Unix time as local time, with the date unless it is today."""
    today = stamp(at_s, "%Y-%m-%d") == stamp(now_s, "%Y-%m-%d")
    return stamp(at_s, "%H:%M" if today else "%Y-%m-%d %H:%M")


def stamp(at_s: float, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    """Return a Unix time as local time; ``?`` for an impossible one from a damaged state file."""
    try:
        return time.strftime(form, time.localtime(at_s))
    except (OverflowError, ValueError, OSError):
        return "?"


def status_json(status: JobStatus) -> dict[str, Any]:
    """Return the documented object for one job in the list of ``jobmon status --json``."""
    job = status.job
    task = leading(job)
    end = task.end if task else None
    outage = current_outage(job)
    return {
        "job_id": str(job.ref),
        "name": job.name,
        "state": state(job),
        "outcome": job.outcome,
        "exit_code": end.exit_code if end else None,
        "signal": (end.signal or None) if end else None,
        "cause": (task.diagnosis.cause if task and task.diagnosis else None),
        "monitor": status.health,
        "undelivered": job.undelivered,
        "backend": job.backend,
        "cluster": job.cluster,
        "partition": job.partition,
        "elapsed_s": end.elapsed_s if end else None,
        "limit_s": task.limit_s if task else None,
        "restarts": task.restarts if task else 0,
        "as_of": job.answered_s,
        "stale_since": outage.since_s if outage and not job.closed else None,
    }


def details_json(status: JobStatus) -> dict[str, Any]:
    """Return the documented object of ``jobmon show --json``: `status_json` and paths, tasks, messages."""
    job = status.job
    return {
        **status_json(status),
        "workdir": job.workdir,
        "command": job.command,
        "stdout": job.logs.stdout,
        "stderr": job.logs.stderr,
        "tasks": [_task_json(job, task) for task in job.tasks.values()],
        "messages": [
            {
                "title": entry.message.title,
                "route": entry.message.route,
                "channel": entry.channel or None,
                "attempts": entry.attempts,
                "delivered_at": entry.delivered_s,
                "given_up": entry.given_up or None,
                "maybe_repeated": entry.maybe_delivered,
            }
            for entry in job.outbox
        ],
    }


def _task_json(job: WatchedJob, task: Task) -> dict[str, Any]:
    end, found = task.end, task.diagnosis or _NO_DIAGNOSIS
    return {
        "job_id": str(ref_of(job.job_id, task.key)),
        "state": task.raw_state,
        "outcome": end.outcome if end else None,
        "witness": end.source if end else None,
        "exit_code": end.exit_code if end else None,
        "signal": (end.signal or None) if end else None,
        "why": end.why if end else "",
        "nodes": (end.nodes if end else "") or task.nodes,
        "started_at": end.started_s if end else task.start_s,
        "ended_at": end.ended_s if end else None,
        "max_rss_bytes": end.usage.max_rss_bytes if end else None,
        "restarts": task.restarts,
        "cause": found.cause,
        "title": found.title,
        "advice": found.advice,
        "log": found.log_path,
        "evidence": evidence_json(found),
        "history": [{"state": m.state, "at": m.at_s, "reason": m.reason} for m in task.history],
    }
