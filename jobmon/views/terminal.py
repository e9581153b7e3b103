"""The status table and the details of one job as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tabulate import tabulate

from jobmon.views.console import one_line, truncated
from jobmon.views.model import cause, clock, elapsed, stamp, state
from jobmon_core.domain.humanize import count, duration, size
from jobmon_core.domain.messages.scheduler_outage import current_outage
from jobmon_core.domain.slurm.exit_codes import describe_exit
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.lifecycle.health import Health, JobStatus

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon_core.domain.diagnosis.model import Diagnosis
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.domain.tracking.model import End, Task, WatchedJob

_HEADERS = ("JOB", "NAME", "STATE", "ELAPSED / LIMIT", "MONITOR", "OUTCOME", "CAUSE", "UNDELIVERED")
_NAME_WIDTH = 28
_HISTORY_SHOWN = 20


def status_table(statuses: Sequence[JobStatus], now_s: float) -> str:
    """Return the table of ``jobmon status``."""
    if not statuses:
        return "no jobs are being watched; start with `jobmon submit SCRIPT` or `jobmon watch JOBID`"
    return tabulate([_row(each, now_s) for each in statuses], _HEADERS, "simple", disable_numparse=True)


def _row(status: JobStatus, now_s: float) -> tuple[str, ...]:
    job = status.job
    return (
        str(job.ref),
        truncated(one_line(job.name), _NAME_WIDTH),
        _state(job, now_s),
        elapsed(job, now_s),
        _health(status),
        job.outcome or ("no longer watched" if job.unwatched_s else ""),
        one_line(cause(job)),
        str(job.undelivered or ""),
    )


def _state(job: WatchedJob, now_s: float) -> str:
    """Return the state, with its age if the scheduler is not responding."""
    if job.answered_s is None and not job.closed:
        return "submitted" if job.stale_since_s is None else "unknown (the scheduler is not responding)"
    outage = current_outage(job)
    if outage is None or job.answered_s is None or job.closed:
        return state(job)
    since = clock(outage.since_s, now_s)
    if outage.only_accounting:
        return f"{state(job)} (sacct has not answered since {since})"
    return f"{state(job)} (as of {clock(job.answered_s, now_s)}, stale since {since})"


def _health(status: JobStatus) -> str:
    if status.health is Health.DEAD:
        return "DEAD"
    if status.health in (Health.STALE, Health.REMOTE) and status.owner:
        return f"{status.health} ({status.owner.host})"
    return status.health


def details(status: JobStatus, key: str, now_s: float) -> str:
    """Return the details of a job, or of its task or component ``key``; the messages are of the whole job."""
    job = status.job
    lines = list(_heading(status, now_s))
    for task in job.tasks.values():
        if not key or task.key == key:
            lines += ["", *_part(job, task, now_s)]
    return "\n".join([*lines, *_messages(job, now_s)])


def _heading(status: JobStatus, now_s: float) -> Iterator[str]:
    job = status.job
    yield f"{job.ref} {one_line(job.name)}".rstrip()
    yield _pair("where", " / ".join(part for part in (job.cluster or job.backend, job.partition) if part))
    yield _pair("state", _state(job, now_s) + (f", outcome {job.outcome}" if job.outcome else ""))
    monitor = f", process {status.owner.pid} on {status.owner.host}" if status.owner else ""
    yield _pair("monitor", _health(status) + (monitor if status.health is not Health.DONE else ""))
    if not job.closed and (outage := current_outage(job)):
        who = "accounting (sacct)" if outage.only_accounting else "the scheduler"
        since = clock(outage.since_s, now_s)
        yield _pair("", f"{who} has not answered since {since}: {outage.why or 'no error text'}")
    for name, value in (("folder", job.workdir), ("script", job.command)):
        if value:
            yield _pair(name, value)


def _pair(name: str, value: str) -> str:
    return f"  {name:<9} {one_line(value)}"


def _part(job: WatchedJob, task: Task, now_s: float) -> Iterator[str]:
    yield f"{ref_of(job.job_id, task.key)}: {task.raw_state or 'not listed'}"
    if task.reason and task.reason != "None":
        yield _pair("reason", task.reason)
    if task.end:
        yield from _end(job, task, task.end, now_s)
    if task.diagnosis:
        yield from _diagnosis(task.diagnosis, ref_of(job.job_id, task.key))
    for moment in task.history[-_HISTORY_SHOWN:]:
        reason = f" ({moment.reason})" if moment.reason not in ("", "None") else ""
        yield _pair("history", f"{stamp(moment.at_s)} {moment.state}{reason}")


def _end(job: WatchedJob, task: Task, end: End, now_s: float) -> Iterator[str]:
    yield _pair("outcome", f"{end.outcome}, {job.source_phrase(end.source)}")
    if end.exit_code or end.signal or (end.exit_code == 0 and end.state is JobState.COMPLETED):
        yield _pair("exit code", describe_exit(end.exit_code, end.signal))
    if end.elapsed_s is not None:
        limit = f" of {duration(end.limit_s)}" if end.limit_s else ""
        ended = f", ended {clock(end.ended_s, now_s)}" if end.ended_s else ""
        yield _pair("ran", duration(end.elapsed_s) + limit + ended)
    if end.usage.max_rss_bytes:
        requested = f" of {size(end.usage.requested_bytes)}" if end.usage.requested_bytes else ""
        yield _pair("memory", size(end.usage.max_rss_bytes) + requested)
    if end.nodes:
        yield _pair("nodes", end.nodes)
    if task.restarts:
        yield _pair("restarts", str(task.restarts))
    if end.why:
        yield _pair("note", end.why)


def _diagnosis(found: Diagnosis, ref: JobRef) -> Iterator[str]:
    for name, value in (
        ("cause", found.title),
        ("", found.explanation),
        ("to do", found.advice.replace("JOBID", str(ref))),
        ("log", found.log_path),
        ("note", found.note),
    ):
        if value:
            yield _pair(name, value)
    for line in found.evidence:
        number = f"{line.number}: " if line.number else ""
        yield _pair("", f"| {number}{line.text}")


def _messages(job: WatchedJob, now_s: float) -> Iterator[str]:
    for entry in job.outbox:
        channel = f" to channel {entry.channel}" if entry.channel else ""
        if entry.delivered_s is not None:
            delivery = f"delivered{channel} at {clock(entry.delivered_s, now_s)}"
        elif entry.given_up:
            delivery = f"GIVEN UP{channel}: {entry.given_up}"
        else:
            delivery = f"not delivered{channel} yet, {count(entry.attempts, 'attempt')}"
        yield _pair("message", f"{entry.message.title}: {delivery}")
