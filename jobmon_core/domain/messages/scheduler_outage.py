"""The messages about an outage of the scheduler or its accounting: when it has lasted long, and when it ends.

All watched jobs of a cluster share an `OutageNotice`. The first job that finds the outage long enough
becomes its reporter: its outbox holds both messages, so that they arrive in order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from jobmon_core.domain.backends import OutageWords
from jobmon_core.domain.channels import Route, Tone
from jobmon_core.domain.delivery.outbox import Field, Message
from jobmon_core.domain.humanize import duration
from jobmon_core.domain.job.tracking.model import AccountingStatus, WatchedJob
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.messages.parts import with_message

_OUTAGE = " is not responding"  # the end of a title


@dataclass(frozen=True, slots=True)
class Outage:
    """An outage of the whole scheduler, or of accounting alone."""

    since_s: float  # the first query without a response, Unix seconds
    why: str  # the error text
    only_accounting: bool = False  # squeue responds, sacct does not


@dataclass(frozen=True, slots=True)
class OutageNotice:
    """Which job reported the latest outage to the user, on behalf of all watched jobs of its cluster."""

    JSON_KEYS: ClassVar[dict[str, str]] = {"reporter": "teller"}

    reporter: str = ""  # the id of its state file; empty if no job did
    over_s: float = 0.0  # when that job reported the recovery (Unix seconds); 0 while the outage lasts


def current_outage(job: WatchedJob) -> Outage | None:
    """Return the outage that keeps jobmon from following the job; None if there is none.

    Every job needs squeue. A job whose end is under inquiry also needs accounting.
    """
    if job.stale_since_s is not None:
        return Outage(job.stale_since_s, job.stale_why)
    unreachable = [
        inquiry for _, inquiry in job.open_inquiries() if inquiry.accounting is AccountingStatus.UNREACHABLE
    ]
    if not unreachable:
        return None
    # a state file of an older version lacks the first of these times
    since_s = min(inquiry.unreachable_since_s or inquiry.since_s for inquiry in unreachable)
    return Outage(since_s, unreachable[0].accounting_error, only_accounting=True)


def outage_is_due(job: WatchedJob, policy: Policy, now_s: float) -> bool:
    """Whether the outage has lasted so long that the user should know about it."""
    outage = current_outage(job)
    if job.closed or job.outage_s is not None or outage is None or not policy.warn_stale_s:
        return False
    return now_s - outage.since_s >= policy.warn_stale_s


def recovery_is_due(job: WatchedJob) -> bool:
    """Whether the outage that this job reported is over."""
    return job.outage_s is not None and current_outage(job) is None


def may_notify(notice: OutageNotice, policy: Policy, now_s: float, *, reporter_is_active: bool) -> bool:
    """Whether a job may report an outage: no other job does, and the last recovery is long enough ago.

    One host may reach the scheduler again before another does, so no outage is reported for
    ``warn_stale_s`` after a recovery. ``reporter_is_active``: the job that ``notice`` names is still watched.
    """
    if notice.reporter and not notice.over_s:
        return not reporter_is_active
    return not 0 <= now_s - notice.over_s < policy.warn_stale_s


def with_outage_message(
    job: WatchedJob, host: str, now_s: float, scheduler: str, words: OutageWords | None = None
) -> WatchedJob:
    """Return the job as the reporter of its outage, with the message queued; unchanged if it has none.

    A service that is not a scheduler has ``words`` of its own.
    """
    outage = current_outage(job)
    if outage is None:
        return job
    name = scheduler
    if job.cluster:
        name = f"{scheduler} ({job.cluster})"
    lasted = duration(now_s - outage.since_s)
    last_response = "Last response"
    if outage.only_accounting:
        name, last_response = f"{name}: accounting (sacct)", "Last response of squeue"
        summary = (
            f"sacct has not responded for {lasted}, so jobmon cannot tell yet how jobs that left the queue "
            "ended. It keeps retrying and still follows the jobs that squeue lists."
        )
        advice = "Before you submit such a job again, check its log: it may have succeeded."
    else:
        summary = (
            f"jobmon has had no news of your jobs for {lasted}. It leaves them alone, considers none "
            f"finished and keeps retrying. You will be notified once {name} responds."
        )
        advice = "Do not submit the jobs again: they may still be pending or running."
    advice = (
        f"{advice} Check whether squeue and sacct respond. If no maintenance was announced, contact the "
        "cluster's administrators."
    )
    if words:
        name, summary, advice = (text.format(cluster=job.cluster, lasted=lasted) for text in words)
    message = Message(
        id=_outage_id(job, outage.since_s),
        route=Route.ERROR,
        tone=Tone.ATTENTION,
        title=f"{name}{_OUTAGE}",
        summary=summary,
        fields=_fields(host, {"No response since": outage.since_s, last_response: job.answered_s}),
        evidence=(outage.why,) if outage.why else (),
        advice=advice,
        created_s=int(now_s),
    )
    return with_message(replace(job, outage_s=outage.since_s), message)


def with_recovery_message(job: WatchedJob, notice: OutageNotice, host: str, now_s: float) -> WatchedJob:
    """Return the job after the outage that it reported, with the recovery message queued.

    No recovery message is queued if the outage message could not be delivered, if another job has reported
    the outage meanwhile, or if accounting did not respond before the search for the job's end was given up:
    then the job's own message says so.
    """
    since_s = job.outage_s
    recovered = replace(job, outage_s=None)
    accounting = [task.inquiry.accounting for task in job.tasks.values() if task.inquiry]
    if since_s is None or AccountingStatus.UNREACHABLE in accounting or _was_replaced(job, notice, since_s):
        return recovered
    messages = (entry.message for entry in job.outbox if not entry.given_up)
    reported = next((message for message in messages if message.id == _outage_id(job, since_s)), None)
    if reported is None:
        return recovered
    message = Message(
        id=f"{_outage_id(job, since_s)}-over",
        route=Route.ERROR,
        tone=Tone.RESOLVED,
        title=f"{reported.title.removesuffix(_OUTAGE)} is responding again",
        summary=f"The outage lasted {duration(now_s - since_s)}. jobmon now reports what happened to your "
        "jobs in the meantime.",
        fields=_fields(host, {"Outage began": since_s, "Outage ended": now_s}),
        created_s=int(now_s),
    )
    return with_message(recovered, message)


def _was_replaced(job: WatchedJob, notice: OutageNotice, since_s: float) -> bool:
    is_about_this_outage = not notice.over_s or notice.over_s >= since_s
    return notice.reporter not in ("", job.id) and is_about_this_outage


def _outage_id(job: WatchedJob, since_s: float) -> str:
    return f"{job.ref}/outage-{int(since_s)}"


def _fields(host: str, times_s: dict[str, float | None]) -> tuple[Field, ...]:
    times = [Field(name, at_s=int(time_s)) for name, time_s in times_s.items() if time_s is not None]
    return (Field("Queried from", host), *times)
