"""Turn a job's status into words, figures and JSON, for any output medium."""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from jobmon.views.diagnosis import evidence_json
from jobmon.views.end_files import end_json
from jobmon_core.app.jobs.ending import ending_of
from jobmon_core.app.live.phase import phase_of
from jobmon_core.domain.diagnosis.exit_causes import CANCELLED
from jobmon_core.domain.diagnosis.model import Diagnosis
from jobmon_core.domain.humanize import duration
from jobmon_core.domain.messages.scheduler_outage import current_outage
from jobmon_core.domain.pending.categories import category_of
from jobmon_core.domain.pending.wait import wait_json
from jobmon_core.domain.slurm.exit_codes import exit_phrase
from jobmon_core.domain.slurm.job_ids import IndexSet, ref_of
from jobmon_core.domain.slurm.states import JobState, Outcome, Phase, stated_reason

if TYPE_CHECKING:
    from jobmon_core.domain.progress.model import JobProgress
    from jobmon_core.domain.tracking.model import Task, WatchedJob
    from jobmon_core.lifecycle.health import JobStatus

_NO_DIAGNOSIS = Diagnosis(None, "", "", "")


def state(job: WatchedJob) -> str:
    """Return the state as Slurm writes it; if tasks differ in state, the number of tasks in each."""
    counted = state_counts(job)
    if len(counted) > 1:
        return " ".join(f"{each}:{number}" for each, number in counted.items())
    return next(iter(counted), JobState.UNKNOWN)


def short_state(job: WatchedJob) -> str:
    """Return the number of tasks in each state as in squeue's column ST, e.g. ``F:2 R:1 CD:7``."""
    counted = by_interest(state_counts(job))
    return " ".join(f"{JobState.from_slurm(each).short or each}:{number}" for each, number in counted)


def by_interest(counted: Counter[str]) -> list[tuple[str, int]]:
    """Return the states with their numbers: failures first, success last."""
    return sorted(counted.items(), key=lambda each: _interest(each[0]))


def _interest(state: str) -> tuple[bool, bool, bool, bool, str]:
    """Return the sort key of a state: failures first, success last."""
    each = JobState.from_slurm(state)
    is_pending = each is JobState.PENDING
    return each is JobState.COMPLETED, is_pending, each.is_alive, each is JobState.CANCELLED, state


def state_counts(job: WatchedJob) -> Counter[str]:
    """Return the number of tasks in each state."""
    counted: Counter[str] = Counter(sorted(task_state(task) for task in job.tasks.values()))
    if pending := len(IndexSet.parse(job.pending_indices)):
        counted[JobState.PENDING] += pending
    return counted


def task_state(task: Task) -> str:
    """Return the final state of a task, from the first source that shows one, else the latest."""
    final = task.end or ending_of(task)
    return (final.state if final else None) or task.raw_state or JobState.UNKNOWN


def pending_reason(job: WatchedJob) -> str:
    """Return why a job, or the rest of an array, is pending, as Slurm writes it; empty without a reason."""
    waiting = [
        task.reason for task in job.tasks.values() if not task.end and task.state.phase is Phase.WAITING
    ]
    reasons = [*waiting, job.pending_reason if job.pending_indices else ""]
    return next((reason for reason in map(stated_reason, reasons) if reason), "")


def leading(job: WatchedJob) -> Task | None:
    """Return the task to show for the job: the first with the job's outcome, else the first, if any."""
    tasks = list(job.tasks.values())
    outcome = job.outcome
    return next(
        (task for task in tasks if task.end and task.end.outcome is outcome), tasks[0] if tasks else None
    )


def cause(job: WatchedJob) -> str:
    """Return why the job did not succeed: the cause found, else the exit code or signal, else a note.

    Empty if the task that `leading` returns succeeded or has not ended.
    """
    task = leading(job)
    if task is None or task.end is None or task.end.outcome is Outcome.SUCCESS:
        return ""
    if task.diagnosis and task.diagnosis.cause:
        headline = task.diagnosis.headline
        is_outcome = task.diagnosis.cause == CANCELLED  # shown like an outcome, in lower case
        return f"{headline[0].lower()}{headline[1:]}" if is_outcome else headline
    if task.end.exit_code or task.end.signal:
        return exit_phrase(task.end.exit_code, task.end.signal)
    return task.end.why


def failed_task(job: WatchedJob, task: Task) -> str:
    """Return which task of an array failed, and why, e.g. ``8123_4: KeyError: 'lr'``."""
    alone = replace(job, tasks={task.key: task}, pending_indices="")
    return f"{ref_of(job.job_id, task.key)}: {cause(alone)}".removesuffix(": ")


def doubt(job: WatchedJob) -> str:
    """Return why the success of a job is doubtful; empty if it is not, or if the job did not succeed.

    For an array or het job, it begins with the number of doubtful tasks.
    """
    if not job.is_doubtful_success:
        return ""
    found = (task.diagnosis for task in job.tasks.values() if task.is_doubtful_success and task.diagnosis)
    tasks = f"{job.doubtful_tasks} of {len(job.tasks)} " if len(job.tasks) > 1 else ""
    return f"{tasks}doubtful: {next(found).headline}"


def elapsed(job: WatchedJob, now_s: float) -> str:
    """Return the run time and the time limit, e.g. ``3m 05s/2h``.

    ``-`` stands for the run time of a job that has not started, ``?`` for what is not known. For an array
    or het job, both are those of the task that has been running longest, else of the one that ran longest.
    """
    if not job.tasks:
        return "-/?"
    task = max(job.tasks.values(), key=lambda each: _run_rank(each, now_s))
    is_followed = task.end or not job.closed
    seconds = run_time_s(task, now_s) if is_followed else None
    unknown = "-" if is_followed and _has_not_started(task) else "?"
    return f"{unknown if seconds is None else duration(seconds)}/{_limit(task)}"


def _run_rank(task: Task, now_s: float) -> tuple[bool, bool, float]:
    """Return the sort key of a task by its run time; those that still run come last."""
    seconds = run_time_s(task, now_s)
    runs = not (task.end or ending_of(task))
    return seconds is not None, runs, seconds or 0.0


def _has_not_started(task: Task) -> bool:
    return task.end.never_started if task.end else task.state.phase is Phase.WAITING and not ending_of(task)


def _limit(task: Task) -> str:
    if limit_s := task.limit_s or (task.end and task.end.limit_s):
        return duration(limit_s)
    return "unlimited" if task.has_started else "?"  # Slurm may set a limit when the task starts


def task_elapsed(task: Task, now_s: float) -> str:
    """Return the run time of a task and its limit, e.g. ``3m 05s of 2h``; empty if `run_time_s` is None."""
    seconds = run_time_s(task, now_s)
    if seconds is None:
        return ""
    return duration(seconds) + (f" of {duration(task.limit_s)}" if task.limit_s else "")


def run_time_s(task: Task, now_s: float) -> float | None:
    """Return for how long a task has run, or ran, in seconds; None if it did not start or that is unknown."""
    if final := task.end or ending_of(task):
        return final.elapsed_s
    # squeue also shows when a pending task is expected to start
    if task.start_s is None or task.start_s > now_s or task.state.phase is Phase.WAITING:
        return None
    return now_s - task.start_s


def age(seconds: float) -> str:
    """Return an age in its largest unit, e.g. ``42s``, ``12m``, ``3h``."""
    return span(seconds).split(maxsplit=1)[0]


def span(seconds: float) -> str:
    """Return a duration, e.g. ``3m 05s``; ``?`` for an impossible one from a damaged state file."""
    return duration(seconds) if math.isfinite(seconds) else "?"


def clock(at_s: float, now_s: float, *, seconds: bool = False) -> str:
    """Return a Unix time as local time, with the date unless it is today."""
    form = "%H:%M:%S" if seconds else "%H:%M"
    today = stamp(at_s, "%Y-%m-%d") == stamp(now_s, "%Y-%m-%d")
    return stamp(at_s, form if today else f"%Y-%m-%d {form}")


def stamp(at_s: float, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    """Return a Unix time as local time; ``?`` for an impossible one from a damaged state file."""
    try:
        return time.strftime(form, time.localtime(at_s))
    except (OverflowError, ValueError, OSError):
        return "?"


def iso(at_s: float | None) -> str | None:
    """Return a Unix time for JSON, e.g. ``2026-01-31T22:13:15+00:00``; None for an impossible one."""
    try:
        return None if at_s is None else datetime.fromtimestamp(at_s, tz=UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):  # logs print times that lie beyond the year 9999
        return None


def json_number(value: float | None) -> float | int | str | None:
    """Return a number for JSON: ``nan`` and ``inf`` as strings, whole numbers without a fraction."""
    if value is None:
        return None
    if not math.isfinite(value):
        return str(value)
    return int(value) if value == int(value) else value


def status_json(status: JobStatus, now_s: float, progress: JobProgress | None = None) -> dict[str, Any]:
    """Return the documented object for one job in the list of ``jobmon status --json``."""
    job = status.job
    task = leading(job)
    end = task.end if task else None
    outage = current_outage(job)
    return {
        "job_id": str(job.ref),
        "name": job.name,
        "state": state(job),
        "phase": phase_of(status, progress, now_s),
        "outcome": job.outcome,
        "exit_code": end.exit_code if end else None,
        "signal": (end.signal or None) if end else None,
        "cause": (task.diagnosis.cause if task and task.diagnosis else None),
        "monitor": status.health,
        "undelivered": job.undelivered,
        "backend": job.backend,
        "cluster": job.cluster,
        "partition": job.partition,
        "elapsed_s": _whole_run_time_s(task, now_s) if task and (end or not job.closed) else None,
        "limit_s": task.limit_s if task else None,
        "restarts": task.restarts if task else 0,
        "as_of": job.answered_s,
        "stale_since": outage.since_s if outage and not job.closed else None,
        **_pending_json(job),
    }


def _pending_json(job: WatchedJob) -> dict[str, Any]:
    """Return why a job or the rest of an array is pending; null if nothing is."""
    phases = (JobState.from_slurm(each).phase for each in state_counts(job))
    is_pending = not job.closed and Phase.WAITING in phases
    reason = pending_reason(job) if is_pending else None
    category = category_of(reason) if reason is not None else None
    return {"pending_reason": reason, "pending_category": category}


def _whole_run_time_s(task: Task, now_s: float) -> int | None:
    seconds = run_time_s(task, now_s)
    return None if seconds is None else int(seconds)


def details_json(status: JobStatus, now_s: float, progress: JobProgress | None = None) -> dict[str, Any]:
    """Return the documented object of ``jobmon show --json``: `status_json` and paths, tasks, messages."""
    job = status.job
    return {
        **status_json(status, now_s, progress),
        "workdir": job.workdir,
        "command": job.command,
        "stdout": job.logs.stdout,
        "stderr": job.logs.stderr,
        "settings": asdict(job.settings) if job.settings else None,
        "tasks": [_task_json(job, task) for task in job.tasks.values()],
        "messages": [
            {
                "title": entry.message.title,
                "route": entry.message.route,
                "level": entry.message.level,
                "channel": entry.channel or None,
                "attempts": entry.attempts,
                "delivered_at": entry.delivered_s,
                "given_up": entry.given_up or None,
                "problem": entry.problem or None,
                "next_try_at": entry.next_try_s if entry.is_open else None,
                "maybe_repeated": entry.maybe_delivered,
                "held": entry.held or None,
                "counted": entry.counted or None,
                "told_on": entry.told_on or None,
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
        "wait": wait_json(task),
        "cause": found.cause,
        "title": found.title,
        "advice": found.advice,
        "log": found.log_path,
        "evidence": evidence_json(found),
        **end_json(found),
        "history": [{"state": m.state, "at": m.at_s, "reason": m.reason} for m in task.history],
    }
