"""The screen of ``jobmon show``: everything known about one job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.views.console import one_line
from jobmon.views.delivery import advice, delivery
from jobmon.views.model import clock, span, stamp, state, state_counts, task_elapsed
from jobmon.views.status import health_text, pending_reason
from jobmon_core.app.jobs.array_summary import detailed_tasks, failed_count, in_order
from jobmon_core.app.jobs.output import known_files
from jobmon_core.domain.diagnosis.patterns import CLEAN
from jobmon_core.domain.humanize import count, duration, size
from jobmon_core.domain.messages.scheduler_outage import current_outage
from jobmon_core.domain.slurm.exit_codes import describe_exit
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.domain.tracking.cause_groups import cause_groups
from jobmon_core.lifecycle.health import Health

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jobmon.views.console import Console
    from jobmon_core.domain.diagnosis.model import Diagnosis
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.domain.tracking.model import End, Task, WatchedJob
    from jobmon_core.lifecycle.health import JobStatus

    Pairs = Iterator[tuple[str, str]]

_NAME_WIDTH = 9
_HISTORY_SHOWN = 20
_TASKS_SHOWN = 10


def detail_lines(
    status: JobStatus, key: str, now_s: float, console: Console, *, all_tasks: bool = False
) -> Iterator[str]:
    """Yield the details of a job, or of its part ``key``; of many tasks a summary and the failed ones."""
    job = status.job
    yield console.bold(f"{job.ref} {job.name}".rstrip())
    yield from _drawn(_heading(status, now_s), console)
    if key or len(job.tasks) <= 1:
        shown = [task for task in job.tasks.values() if not key or task.key == key]
    else:
        yield from _drawn(_summary(job), console)
        shown = in_order(list(job.tasks.values())) if all_tasks else detailed_tasks(job, _TASKS_SHOWN)
    explained: dict[str, JobRef] = {}
    for task in shown:
        ref = ref_of(job.job_id, task.key)
        if task.key:
            yield from ("", console.bold(f"{ref}: {task.raw_state or 'not listed'}"))
        yield from _drawn(_part(job, task, explained, now_s), console)
        if task.diagnosis and task.diagnosis.cause:
            explained.setdefault(task.diagnosis.title, ref)
    if not key and not all_tasks:
        yield from _hidden(job, len(shown), console)
    if job.outbox and any(task.key for task in shown):
        yield ""
    yield from _drawn(_messages(status, now_s), console)


def _drawn(pairs: Pairs, console: Console) -> Iterator[str]:
    """Yield each name and value as lines; a name that repeats is left out."""
    last = ""
    for name, value in pairs:
        label = "" if name == last else name
        last = name
        if value.startswith("/") and console.width:  # a path stays whole, so that it can be copied
            yield f"  {label:<{_NAME_WIDTH}} {one_line(value)}"
            continue
        yield from console.prose(value, f"  {label:<{_NAME_WIDTH}} ", " " * (_NAME_WIDTH + 3))


def _heading(status: JobStatus, now_s: float) -> Pairs:
    job = status.job
    if where := " / ".join(part for part in (job.cluster or job.backend, job.partition) if part):
        yield "where", where
    yield "state", _state(job) + (f", outcome {job.outcome}" if len(job.tasks) > 1 and job.outcome else "")
    if not job.closed and job.answered_s is not None:
        yield "as of", f"{clock(job.answered_s, now_s)}, {span(now_s - job.answered_s)} ago"
    monitor = f", process {status.owner.pid} on {status.owner.host}" if status.owner else ""
    advice = "; `jobmon recover` restarts it" if status.health in (Health.DEAD, Health.STALE) else ""
    yield "monitor", health_text(status) + (monitor if status.health is not Health.DONE else "") + advice
    if not job.closed and (outage := current_outage(job)):
        who = "accounting (sacct)" if outage.only_accounting else "the scheduler"
        since = clock(outage.since_s, now_s)
        yield "outage", f"{who} has not answered since {since}: {outage.why or 'no error text'}"
    for name, value in (("folder", job.workdir), ("script", job.command)):
        if value:
            yield name, value


def _state(job: WatchedJob) -> str:
    if job.answered_s is None and not job.closed and not job.tasks:
        return "submitted, not yet listed" if job.stale_since_s is None else "unknown"
    reason = pending_reason(job)
    unwatched = ", no longer watched" if job.unwatched_s is not None and not job.outcome else ""
    return state(job) + (f" ({reason})" if reason else "") + unwatched


def _summary(job: WatchedJob) -> Pairs:
    """Yield the number of tasks in each state, the causes with their tasks, and what is pending."""
    counted = state_counts(job)
    numbers = ", ".join(f"{number} {each}" for each, number in counted.items())
    yield "tasks", f"{counted.total()}: {numbers}"
    for group in cause_groups(job):
        yield "causes", f"{group.cause}, {count(len(group.keys), 'task')}: {group.indices}"
    if job.pending_indices:
        yield "pending", job.pending_indices


def _hidden(job: WatchedJob, shown: int, console: Console) -> Iterator[str]:
    """Yield a line about the tasks that are not shown, if there are any."""
    hidden = len(job.tasks) - shown
    if len(job.tasks) <= 1 or hidden <= 0:
        return
    failed = failed_count(job) - shown
    what = (
        f"{failed} more failed and {hidden - failed} other tasks" if failed > 0 else f"{hidden} other tasks"
    )
    example = ref_of(job.job_id, next(iter(job.tasks)))
    yield ""
    yield from console.prose(f"{what} not shown: add --all, or show one task, e.g. {example}", "  ")


def _messages(status: JobStatus, now_s: float) -> Pairs:
    for entry in status.job.outbox:
        hint = advice(entry, status)
        yield "message", f"{entry.message.title}: {delivery(entry, now_s)}" + (f"; {hint}" if hint else "")


def _part(job: WatchedJob, task: Task, explained: Mapping[str, JobRef], now_s: float) -> Pairs:
    """Yield what is known of a task; a cause that another task shows in ``explained`` only by its title."""
    if task.key and task.reason not in ("", "None") and not task.end:
        yield "reason", task.reason
    if task.end:
        yield from _end(job, task, task.end, now_s)
    else:
        yield from _running(task, now_s)
    if task.diagnosis and task.diagnosis.title in explained:
        yield "cause", f"{task.diagnosis.title}, as in {explained[task.diagnosis.title]}"
        yield "log", task.diagnosis.log_path
    elif task.diagnosis:
        yield from _diagnosis(task.diagnosis, ref_of(job.job_id, task.key))
    if not (task.diagnosis and task.diagnosis.log_path):
        for path in known_files(job, task):
            yield "log", path
    for moment in task.history[-_HISTORY_SHOWN:]:
        reason = f" ({moment.reason})" if moment.reason not in ("", "None") else ""
        yield "history", f"{stamp(moment.at_s)} {moment.state}{reason}"


def _running(task: Task, now_s: float) -> Pairs:
    if running := task_elapsed(task, now_s):
        started = f", started {clock(task.start_s, now_s)}" if task.start_s else ""
        until_s = task.start_s + task.limit_s if task.start_s and task.limit_s else None
        until = f", limit reached {clock(until_s, now_s)}" if until_s else ""
        yield "running", running + started + until
    elif task.start_s and task.start_s > now_s:
        yield "start", f"expected {clock(task.start_s, now_s)}"
    if task.nodes:
        yield "nodes", task.nodes
    if task.restarts:
        yield "restarts", str(task.restarts)


def _end(job: WatchedJob, task: Task, end: End, now_s: float) -> Pairs:
    yield "outcome", f"{end.outcome}, {job.source_phrase(end.source)}"
    if end.exit_code or end.signal or (end.exit_code == 0 and end.state is JobState.COMPLETED):
        yield "exit code", describe_exit(end.exit_code, end.signal)
    if end.elapsed_s is not None:
        limit = f" of {duration(end.limit_s)}" if end.limit_s else ""
        ended = f", ended {clock(end.ended_s, now_s)}" if end.ended_s else ""
        yield "ran", duration(end.elapsed_s) + limit + ended
    if end.usage.max_rss_bytes:
        requested = f" of {size(end.usage.requested_bytes)}" if end.usage.requested_bytes else ""
        yield "memory", size(end.usage.max_rss_bytes) + requested
    if end.nodes:
        yield "nodes", end.nodes
    if task.restarts:
        yield "restarts", str(task.restarts)
    if end.why:
        yield "note", end.why


def _diagnosis(found: Diagnosis, ref: JobRef) -> Pairs:
    is_healthy = found.label == CLEAN
    if found.headline and not is_healthy:
        yield "cause", found.headline
    if found.fact and not is_healthy:
        yield "cause", f"{found.title}."
    if found.explanation and not is_healthy:
        yield "cause", found.explanation
    if found.advice:
        yield "to do", found.advice.replace("JOBID", str(ref))
    if found.log_path:
        yield "log", found.log_path
    for line in found.evidence:
        number = f"{line.number}: " if line.number else ""
        yield "log", f"| {number}{line.text}"
    if found.note:
        yield "note", found.note
