"""The rows of ``jobmon show`` about the tasks of a job: their states, causes and times."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from jobmon.views.model import (
    clock,
    counted_states,
    pending_reason,
    run_time_s,
    span,
    state_counts,
    why_doubtful,
)
from jobmon.views.telemetry import (
    gpu_marks_texts,
    gpus_text,
    memory_text,
    node_parts,
    percent,
    silence_text,
    status_text,
    worker_name,
    workers_text,
)
from jobmon.views.top.telemetry_lines import log_speed, logs_by_rank
from jobmon_core.app.jobs.overview import ending_of, problem_count
from jobmon_core.domain.before.pending.wait import held_text, wait_of
from jobmon_core.domain.humanize import count, duration, filled, joined, size, text_of
from jobmon_core.domain.job.tracking.cause_groups import cause_groups
from jobmon_core.domain.node.telemetry.summary import all_workers, gpu_use, is_current, latest_reports
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.domain.slurm.states import JobState, Outcome, Phase, stated_reason

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon.views.console import Console, Lines, Rows
    from jobmon_core.app.jobs.overview import Ending
    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.domain.job.tracking.model import End, StateChange, Task, WatchedJob
    from jobmon_core.domain.logs.diagnosis.model import StepUsage
    from jobmon_core.domain.node.telemetry.model import AgentReport


def summary_rows(job: WatchedJob) -> Rows:
    """Yield what all tasks have in common: their outcome, states and causes, and what is pending."""
    if job.outcome:
        yield "outcome", job.outcome + (_doubts(job) if job.is_doubtful_success else "")
    yield "tasks", tasks_text(job)
    for group in cause_groups(job):
        yield "causes", f"{count(len(group.keys), 'task')} ({group.indices}): {group.cause}"
    if job.pending_indices:
        reason = pending_reason(job)
        yield "pending", job.pending_indices + (filled(" ({})", reason))


def tasks_text(job: WatchedJob) -> str:
    """Return the number of tasks in each state, failures first."""
    counted = state_counts(job)
    numbers = counted_states(counted)
    return (f"{counted.total()}: {numbers}" if len(counted) > 1 else numbers) + unwatched_note(job)


def _doubts(job: WatchedJob) -> str:
    reasons = dict.fromkeys(
        why_doubtful(task.diagnosis) for task in job.tasks.values() if task.is_doubtful_success
    )
    return f", but {job.doubtful_tasks} of {len(job.tasks)} tasks doubtful: {' or '.join(reasons)}"


def hidden_lines(job: WatchedJob, shown: int, console: Console) -> Lines:
    """Yield a line about the tasks that are not shown, if there are any."""
    hidden = len(job.tasks) - shown
    if len(job.tasks) <= 1 or hidden <= 0:
        return
    more = problem_count(job) - shown
    what = count(hidden, "other task" if shown else "task")
    if more > 0:
        kinds = ["failed"]
        if job.doubtful_tasks:
            kinds.append("doubtful")
        if any(task.end and task.end.outcome is Outcome.UNKNOWN for task in job.tasks.values()):
            kinds.append("of unknown outcome")
        what = f"{more} more {' or '.join(kinds)}"
        if hidden > more:
            what += f" and {count(hidden - more, 'other task')}"
    example = ref_of(job.job_id, next(iter(job.tasks)))
    yield ""
    yield from console.prose(f"{what} not shown: add --all, or show one task, e.g. `jobmon show {example}`")


def unwatched_note(job: WatchedJob) -> str:
    """Return what follows the state of a job whose watching was stopped before its end."""
    return ", no longer watched" if job.unwatched_s is not None and not job.outcome else ""


_HISTORY_SHOWN = 20


def time_rows(job: WatchedJob, task: Task, now_s: float) -> Rows:
    """Yield the times of a task, its restarts, how long it waited and ran, and its limit."""
    if submitted_s := job.submitted_s or task.submit_s:
        yield "submitted", clock(submitted_s, now_s)
    if task.restarts:
        at = f", the last at {clock(task.submit_s, now_s)}" if task.submit_s else ""
        yield "restarts", f"{task.restarts}{at}"
    if final := task.end or ending_of(task):
        yield from _final_times(task, final, now_s)
    else:
        yield from _times_so_far(job, task, now_s)


def _final_times(task: Task, final: End | Ending, now_s: float) -> Rows:
    """Yield when a task started and ended; what is not known is shown only if its end is proved."""
    never_started = task.end is not None and task.end.never_started
    unknown = "unknown" if task.end and not never_started else ""
    if never_started:
        yield "started", "never"
    elif started := _start_text(task, final.started_s, now_s) if final.started_s else unknown:
        yield "started", started
    if ended := clock(final.ended_s, now_s) if final.ended_s else unknown:
        if final.elapsed_s is not None:
            limit_s = (task.end or task).limit_s
            ended += f", ran {duration(final.elapsed_s)}" + (f" of {duration(limit_s)}" if limit_s else "")
        yield "ended", ended


def _times_so_far(job: WatchedJob, task: Task, now_s: float) -> Rows:
    """Yield when a task started or may start, and for how long it has run.

    For a job that is no longer watched, only the start is certain.
    """
    if task.state.phase is Phase.WAITING:
        if job.closed:
            return
        text = "not yet"
        if task.submit_s:
            text += f", {span(max(0.0, now_s - task.submit_s))} in the queue so far"
        if task.start_s and task.start_s > now_s:
            text += f", expected {clock(task.start_s, now_s)}"
        yield "started", text
        if task.limit_s:
            yield "limit", duration(task.limit_s)
    elif task.start_s and (run_s := run_time_s(task, now_s)) is not None:
        yield "started", _start_text(task, task.start_s, now_s)
        text = duration(run_s)
        if task.limit_s:
            limit_at = clock(task.start_s + task.limit_s, now_s)
            text += f" of {duration(task.limit_s)}, time limit at {limit_at}"
        if not job.closed:
            yield "running", text


def _start_text(task: Task, started_s: int, now_s: float) -> str:
    text = clock(started_s, now_s)
    if task.submit_s:
        text += f", after {duration(started_s - task.submit_s)} in the queue"
    wait = wait_of(task)
    return text + (held_text(wait) if wait else "")


def history_rows(task: Task, now_s: float) -> Rows:
    """Yield the latest changes of state, at Slurm's times if they are known, else when jobmon saw them."""
    before = (-math.inf, *(change.at_s for change in task.history))
    changes = [*zip(before, task.history, strict=False)]
    for before_s, change in changes[-_HISTORY_SHOWN:]:
        yield "history", _history_row(task, change, before_s, now_s)


def _history_row(task: Task, change: StateChange, before_s: float, now_s: float) -> str:
    """Return a line for a change; jobmon saw the one before it at ``before_s``."""
    reason = filled(" ({})", stated_reason(change.reason))
    at_s = _slurm_time_s(task, JobState.from_slurm(change.state).phase)
    if at_s is None or not before_s - 1 < at_s <= change.at_s:
        return f"{clock(change.at_s, now_s, seconds=True)} {change.state}{reason} (first seen then)"
    return f"{clock(at_s, now_s, seconds=True)} {change.state}{reason}"


def _slurm_time_s(task: Task, phase: Phase) -> int | None:
    """Return when the latest run entered a phase, as Slurm reports it."""
    if phase is Phase.WAITING:
        return task.submit_s
    if phase is Phase.ACTIVE:
        return task.end.started_s if task.end else task.start_s
    return task.end.ended_s if task.end and phase is not Phase.UNKNOWN else None


_QUOTE = "| "
_WORKERS_SHOWN = 8


def _usage_rows(usage: StepUsage, live: LiveTask, now_s: float) -> Rows:
    elapsed_s = run_time_s(live.task, now_s)
    if usage.memory is not None:
        yield "memory", f"{size(usage.memory)}, as Slurm samples it (sstat)"
    if usage.cpu_s is not None and elapsed_s:
        yield "CPU", f"{usage.cpu_s / elapsed_s:.1f} cores on average (sstat)"


def problem_rows(live: LiveTask, now_s: float) -> Rows:
    """Yield what is wrong with a running task, with proof and advice, the worst first."""
    for event in live.ongoing:
        yield "problem", f"since {clock(event.since_s, now_s)}: {event.text or event.kind}"
        yield from (("problem", f"{_QUOTE}{line}") for line in event.evidence)
        if event.advice:
            yield "problem", event.advice.replace("JOBID", live.ref)


def _worker_texts(live: LiveTask, reports: Sequence[AgentReport], now_s: float) -> Lines:
    """Yield e.g. ``rank 0: running, GPU 0: 92%, 60.0 GiB, 2.5 items/s``."""
    workers, logs = all_workers(reports), logs_by_rank(live)
    for each in workers[:_WORKERS_SHOWN] if len(workers) > 1 else ():
        worker, (used, memory) = each.worker, gpu_use(each, reports)
        use = f"{percent(worker.cpu_percent) or '?'} CPU"
        if worker.gpus:
            use = f"GPU {','.join(map(str, worker.gpus))}: {percent(used) or '?'}"
        speed = log_speed(live, logs[worker.rank], now_s) if worker.rank in logs else ""
        parts = (status_text(worker.status), use, text_of(memory, size), speed)
        yield f"{worker_name(worker)}: {joined(*parts)}"
    if len(workers) > _WORKERS_SHOWN:
        yield f"and {len(workers) - _WORKERS_SHOWN} more; `jobmon top` shows all"


def telemetry_rows(live: LiveTask, now_s: float) -> Rows:
    """Yield what the latest reports of a task's agents show."""
    reports = latest_reports(live.reports, now_s)
    texts = {"GPUs": gpus_text(reports), "memory": memory_text(reports), "workers": workers_text(reports)}
    yield from ((name, text) for name, text in texts.items() if text)
    yield from (("GPUs", text) for text in gpu_marks_texts(reports))
    yield from (("workers", text) for text in _worker_texts(live, reports, now_s))
    if not live.reports and live.agents.problem:
        yield "agent", f"none: {live.agents.problem}"
    if usage := live.agents.usage:
        yield from _usage_rows(usage, live, now_s)
    for report in live.reports:
        node = f"{report.latest.node.name}: " if len(live.reports) > 1 else ""
        if not is_current(report, now_s):
            why = filled(": {}", live.agents.problem)
            yield "agent", f"{node}{silence_text(report, now_s)}{why}"
        elif text := joined(*node_parts(report.latest)):
            yield "CPU", f"{node}{text}"
        if report.unavailable:
            yield "agent", f"{node}does not measure {'; '.join(report.unavailable)}"
