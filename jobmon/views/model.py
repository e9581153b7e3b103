"""Turn a job's status into words, figures and JSON, for any output medium."""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

from jobmon_core.app.jobs.find import StateGroup, group_of
from jobmon_core.app.jobs.overview import ending_of
from jobmon_core.app.live.tasks import phase_of
from jobmon_core.domain.before.pending.categories import category_of, pending_words
from jobmon_core.domain.before.pending.wait import wait_json
from jobmon_core.domain.humanize import duration
from jobmon_core.domain.logs.diagnosis.exit_causes import CANCELLED
from jobmon_core.domain.logs.diagnosis.model import (
    DAMAGED_OUTPUTS,
    INCOMPLETE,
    LOST_WORKER,
    MISSING_OUTPUTS,
    NAN_LOSS,
    Diagnosis,
)
from jobmon_core.domain.messages.scheduler_outage import current_outage
from jobmon_core.domain.slurm.job_ids import IndexSet, ref_of
from jobmon_core.domain.slurm.states import JobState, Outcome, Phase, exit_phrase, stated_reason

if TYPE_CHECKING:
    from jobmon.views.console import Rows
    from jobmon_core.domain.job.job_progress import JobProgress
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.lifecycle.health import JobStatus

    Json: TypeAlias = dict[str, Any]


_QUOTE = "| "
_DOUBTS = {  # by cause
    INCOMPLETE: "not all was processed",
    MISSING_OUTPUTS: "outputs are missing",
    DAMAGED_OUTPUTS: "an output is damaged",
    LOST_WORKER: "a worker was lost",
    NAN_LOSS: "its last loss is NaN",
}
_NO_DIAGNOSIS = Diagnosis(None, "", "", "")


def state(job: WatchedJob) -> str:
    """Return the state as Slurm writes it; of tasks in several states, their numbers."""
    counted = state_counts(job)
    if len(counted) > 1:
        return " ".join(f"{each}:{number}" for each, number in counted.items())
    return next(iter(counted), JobState.UNKNOWN)


def short_state(job: WatchedJob) -> str:
    """Return the states as in squeue's column ST, e.g. ``F:2 R:1 CD:7``."""
    counted = by_interest(state_counts(job))
    return " ".join(f"{JobState.from_slurm(each).short or each}:{number}" for each, number in counted)


def counted_states(counted: Counter[str]) -> str:
    """Return e.g. ``1 FAILED, 5 COMPLETED``."""
    return ", ".join(f"{number} {each}" for each, number in by_interest(counted))


def by_interest(counted: Counter[str]) -> list[tuple[str, int]]:
    """Return the states with their numbers: failures first, success last."""
    return sorted(counted.items(), key=lambda each: _interest(each[0]))


def _interest(state: str) -> tuple[bool, bool, bool, bool, str]:
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
    """Return the final state of a task, if any source shows one, else the latest."""
    final = task.end or ending_of(task)
    return (final.state if final else None) or task.raw_state or JobState.UNKNOWN


def is_unseen(job: WatchedJob) -> bool:
    """Whether no answer of the scheduler has shown a job so far."""
    return job.answered_s is None and not job.closed and not job.tasks


def pending_reason(job: WatchedJob) -> str:
    """Return why a job, or the rest of an array, is pending, as Slurm writes it; may be empty."""
    waiting = [
        task.reason for task in job.tasks.values() if not task.end and task.state.phase is Phase.WAITING
    ]
    reasons = [*waiting, job.pending_reason if job.pending_indices else ""]
    return next((reason for reason in map(stated_reason, reasons) if reason), "")


def pending_text(job: WatchedJob) -> str:
    """Return what the reason for a pending job means, as far as that is known, and the reason."""
    if group_of(job) is not StateGroup.PENDING:
        return ""
    reason = pending_reason(job)
    return f"{words} ({reason})" if reason and (words := pending_words(reason)) else reason


def leading(job: WatchedJob) -> Task | None:
    """Return the task to show for the job: the first with the job's outcome, else the first."""
    tasks = list(job.tasks.values())
    outcome = job.outcome
    return next(
        (task for task in tasks if task.end and task.end.outcome is outcome), tasks[0] if tasks else None
    )


def cause(job: WatchedJob) -> str:
    """Return why the job did not succeed, by the task that `leading` returns."""
    task = leading(job)
    return task_cause(task) if task else ""


def task_cause(task: Task) -> str:
    """Return why a task did not succeed: the cause found, else the exit code or signal, else a note."""
    if task.end is None or task.end.outcome is Outcome.SUCCESS:
        return ""
    if task.diagnosis and task.diagnosis.cause:
        headline = task.diagnosis.headline
        if task.diagnosis.cause == CANCELLED:  # shown like an outcome, in lower case
            return f"{headline[0].lower()}{headline[1:]}"
        return headline
    if task.end.exit_code or task.end.signal:
        return exit_phrase(task.end.exit_code, task.end.signal, is_exact=task.end.exit_code_exact)
    return task.end.why


def nodes_of(task: Task) -> str:
    """Return the nodes of a task, as Slurm writes them."""
    return (task.end.nodes if task.end else "") or task.nodes


def failed_task(job: WatchedJob, task: Task) -> str:
    """Return e.g. ``8123_4: KeyError: 'lr'``."""
    return f"{ref_of(job.job_id, task.key)}: {task_cause(task)}".removesuffix(": ")


def doubt(job: WatchedJob) -> str:
    """Return why the success of a job is doubtful; of an array, with the number of such tasks."""
    if not job.is_doubtful_success:
        return ""
    found = (task.diagnosis for task in job.tasks.values() if task.is_doubtful_success and task.diagnosis)
    tasks = ""
    if len(job.tasks) > 1:
        tasks = f"{job.doubtful_tasks} of {len(job.tasks)} "
    return f"{tasks}doubtful: {next(found).headline}"


def elapsed(job: WatchedJob, now_s: float) -> str:
    """Return the run time and the time limit, e.g. ``3m 05s/2h``; ``-``: not started, ``?``: not known.

    For an array or het job, both are those of the task that has been running longest, else that ran longest.
    """
    if not job.tasks:
        return "-/?"
    task = max(job.tasks.values(), key=lambda each: _run_rank(each, now_s))
    run = "?"
    if task.end or not job.closed:
        seconds = run_time_s(task, now_s)
        if seconds is not None:
            run = duration(seconds)
        elif _has_not_started(task):
            run = "-"
    return f"{run}/{_limit(task)}"


def _run_rank(task: Task, now_s: float) -> tuple[bool, bool, float]:
    seconds = run_time_s(task, now_s)
    runs = not (task.end or ending_of(task))
    return seconds is not None, runs, seconds or 0.0


def _has_not_started(task: Task) -> bool:
    if task.end:
        return task.end.never_started
    return task.state.phase is Phase.WAITING and not ending_of(task)


def _limit(task: Task) -> str:
    if limit_s := task.limit_s or (task.end and task.end.limit_s):
        return duration(limit_s)
    return "unlimited" if task.has_started else "?"  # Slurm may set a limit when the task starts


def run_time_s(task: Task | None, now_s: float) -> float | None:
    """Return for how long a task has run, or ran; None if it did not start or that is unknown."""
    if task is None:
        return None
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
    """Return e.g. ``3m 05s``; ``?`` for an impossible duration from a damaged state file."""
    if math.isfinite(seconds):
        return duration(seconds)
    return "?"


def clock(at_s: float, now_s: float, *, seconds: bool = False) -> str:
    """Return a Unix time as local time, with the date unless it is today."""
    form = "%H:%M:%S" if seconds else "%H:%M"
    is_today = stamp(at_s, "%F") == stamp(now_s, "%F")
    return stamp(at_s, form if is_today else f"%F {form}")


def stamp(at_s: float, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    """Return a Unix time as local time; ``?`` for an impossible one."""
    try:
        return time.strftime(form, time.localtime(at_s))
    except (OverflowError, ValueError, OSError):
        return "?"


def iso(at_s: float | None) -> str | None:
    """Return a Unix time as ISO 8601; None for an impossible one."""
    try:
        if at_s is None:
            return None
        return datetime.fromtimestamp(at_s, tz=UTC).isoformat(timespec="seconds")
    except (OverflowError, ValueError, OSError):  # logs print times that lie beyond the year 9999
        return None


def rounded(value: float | None, digits: int = 1) -> float | None:
    """Return a number for JSON with few digits."""
    return None if value is None else round(value, digits)


def json_number(value: float | None) -> float | int | str | None:
    """Return a number for JSON: ``nan`` and ``inf`` as strings, whole numbers without a fraction."""
    if value is None:
        return None
    if not math.isfinite(value):
        return str(value)
    if value == int(value):
        return int(value)
    return value


def status_json(status: JobStatus, now_s: float, progress: JobProgress | None = None) -> Json:
    """Return the documented object of a job in ``jobmon status --json``."""
    job, task = status.job, leading(status.job)
    end = task and task.end
    run_s = run_time_s(task, now_s) if end or not job.closed else None
    return {
        "job_id": str(job.ref),
        **fields(job, "name", "outcome", "undelivered", "backend", "cluster", "partition"),
        "state": state(job),
        "phase": phase_of(status, progress, now_s),
        **fields(end, "exit_code"),
        **known_fields(end, "signal"),
        **fields(task.diagnosis if task else None, "cause"),
        "monitor": status.health,
        "elapsed_s": None if run_s is None else int(run_s),
        **fields(task, "limit_s"),
        "restarts": task.restarts if task else 0,
        **fields(job, as_of="answered_s"),
        **fields(None if job.closed else current_outage(job), stale_since="since_s"),
        "restart_due_at": job.restart_due_s if job.is_restarting else None,
        **_pending_json(job),
    }


def _pending_json(job: WatchedJob) -> Json:
    phases = (JobState.from_slurm(each).phase for each in state_counts(job))
    if job.closed or Phase.WAITING not in phases:
        return {"pending_reason": None, "pending_category": None}
    reason = pending_reason(job)
    return {"pending_reason": reason, "pending_category": category_of(reason)}


def details_json(status: JobStatus, now_s: float, progress: JobProgress | None = None) -> Json:
    """Return the documented object of ``jobmon show --json``."""
    job = status.job
    return {
        **status_json(status, now_s, progress),
        **fields(job, "workdir", "command"),
        **fields(job.logs, "stdout", "stderr"),
        "settings": asdict(job.settings) if job.settings else None,
        "tasks": [_task_json(job, task) for task in job.tasks.values()],
        "messages": [
            {
                **fields(entry.message, "title", "route", "level"),
                **known_fields(entry, "channel", "given_up", "problem", "held", "counted", "told_on"),
                **fields(entry, "attempts", delivered_at="delivered_s", maybe_repeated="maybe_delivered"),
                "next_try_at": entry.next_try_s if entry.is_open else None,
            }
            for entry in job.outbox
        ],
    }


def _task_json(job: WatchedJob, task: Task) -> Json:
    end, found = task.end, task.diagnosis or _NO_DIAGNOSIS
    return {
        "job_id": str(ref_of(job.job_id, task.key)),
        **fields(task, "restarts", state="raw_state"),
        **fields(end, "outcome", "exit_code", witness="source", ended_at="ended_s"),
        **known_fields(end, "signal"),
        "why": end.why if end else "",
        "nodes": nodes_of(task),
        "started_at": end.started_s if end else task.start_s,
        **fields(end.usage if end else None, "max_rss_bytes"),
        "wait": wait_json(task),
        **fields(found, "cause", "title", "advice", log="log_path"),
        "evidence": evidence_json(found),
        **end_json(found),
        "history": [fields(change, "state", "reason", at="at_s") for change in task.history],
    }


def evidence_json(diagnosis: Diagnosis) -> list[Json]:
    """Return its log lines."""
    return [fields(line, "file", "text", line="number") for line in diagnosis.evidence]


def why_doubtful(found: Diagnosis | None) -> str:
    """Return why a success is doubtful, in a few words."""
    return _DOUBTS.get((found and found.cause) or "", "the log ends in a failure")


def end_rows(found: Diagnosis) -> Rows:
    """Yield the rows of ``jobmon show`` about the files of an ended task."""
    if found.outputs:
        yield "verified" if found.outputs_verified else "outputs", found.outputs
    for quote in found.results:
        yield "result", f"{quote.name}:"
        yield from (("result", f"{_QUOTE}{line}") for line in quote.text.split("\n"))
    if found.bundle:
        yield "bundle", found.bundle


def end_json(found: Diagnosis) -> Json:
    """Return the keys about the files of an ended task."""
    return {
        **known_fields(found, "outputs", diagnostics="bundle"),
        **fields(found, "outputs_verified"),
        "results": [fields(quote, "name", "text") for quote in found.results],
    }


def fields(record: object, *names: str, **renamed: str) -> Json:
    """Return attributes of a record by their names, or by the keys of those that are ``renamed``.

    E.g. ``fields(job, "name", as_of="answered_s")``. A tuple becomes a list; of None, each value is null.
    """
    attributes = {**dict(zip(names, names, strict=True)), **renamed}
    return {key: _value(record, attribute) for key, attribute in attributes.items()}


def known_fields(record: object, *names: str, **renamed: str) -> Json:
    """Return attributes as `fields` does; what is empty or 0 is null."""
    return {key: value or None for key, value in fields(record, *names, **renamed).items()}


def _value(record: object, attribute: str) -> object:
    value = None if record is None else getattr(record, attribute)
    if isinstance(value, tuple):
        return [*value]
    return value
