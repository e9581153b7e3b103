"""When the scheduler does not answer for long: one warning for all jobs of a cluster, and one all-clear.

The job that warns is the teller: its outbox holds the warning, and later the all-clear, so that they
arrive in this order. A notice that the watched jobs of a cluster share says who it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

from jobmon_core.domain.channels import Route
from jobmon_core.domain.delivery.outbox import Field, Message, OutboxEntry, Tone
from jobmon_core.domain.humanize import duration
from jobmon_core.domain.tracking.model import AccountingStatus, WatchedJob
from jobmon_core.domain.tracking.policy import Policy


@dataclass(frozen=True, slots=True)
class Outage:
    """A scheduler that does not answer: since when (Unix seconds), and why in its own words."""

    since_s: float
    why: str


@dataclass(frozen=True, slots=True)
class OutageNotice:
    """Which job told the user of an outage, for all watched jobs of its cluster; none where it is empty."""

    JSON_KEYS: ClassVar[dict[str, str]] = {"reporter": "teller"}

    reporter: str = ""  # the id of its state file
    over_s: float = 0.0  # when it gave the all-clear; 0 while the outage lasts


def current_outage(job: WatchedJob) -> Outage | None:
    """Return since when nobody answers about the job whose answer is needed; None where somebody does.

    squeue is needed always, accounting while an end is looked into that only it can tell.
    """
    if job.stale_since_s is not None:
        return Outage(job.stale_since_s, job.stale_why)
    unheard = [
        task.inquiry
        for task in job.tasks.values()
        if task.inquiry and not task.end and task.inquiry.accounting is AccountingStatus.UNREACHABLE
    ]
    if not unheard:
        return None
    return Outage(min(inquiry.since_s for inquiry in unheard), unheard[0].accounting_error)


def warning_is_due(job: WatchedJob, policy: Policy, now_s: float) -> bool:
    """Whether the silence about a job has lasted so long that its user should know."""
    quiet = current_outage(job)
    if job.closed or job.outage_s is not None or quiet is None or not policy.warn_stale_s:
        return False
    return now_s - quiet.since_s >= policy.warn_stale_s


def is_over(job: WatchedJob) -> bool:
    """Whether the outage that this job told of is over."""
    return job.outage_s is not None and current_outage(job) is None


def may_notify(notice: OutageNotice, policy: Policy, now_s: float, *, teller_watches: bool) -> bool:
    """Whether a job may warn: no other one has, and the last all-clear is long enough ago.

    Where one host hears the scheduler again, another one may not yet: it has no news for a while.
    """
    if notice.reporter and not notice.over_s:
        return not teller_watches
    return not 0 <= now_s - notice.over_s < policy.warn_stale_s


def with_outage_message(job: WatchedJob, host: str, now_s: float, scheduler: str) -> WatchedJob:
    """Return the job as the teller of the outage, with the warning owed; ``host`` is the one that asked."""
    quiet = current_outage(job)
    if quiet is None:
        return job
    message = Message(
        id=_warning_id(job, quiet.since_s),
        route=Route.ERROR,
        tone=Tone.ATTENTION,
        title=f"{_who(job, scheduler)} does not answer",
        summary=f"For {duration(now_s - quiet.since_s)} nothing could be learnt about the jobs that jobmon "
        "watches there. It touches none of them, takes none for ended, and goes on asking. This is "
        "told once; when answers come again, you are told that too.",
        fields=(*_facts(job, host), Field("No answer since", at_s=int(quiet.since_s)), *_last_answer(job)),
        evidence=(quiet.why,) if quiet.why else (),
        advice="Do not submit the jobs again: as far as anybody knows they wait or run. See whether squeue "
        "and sacct answer by hand; if no maintenance was announced, tell those who run the cluster.",
        created_s=int(now_s),
    )
    return replace(job, outage_s=quiet.since_s, outbox=(*job.outbox, OutboxEntry(message)))


def with_recovery_message(
    job: WatchedJob, notice: OutageNotice, host: str, now_s: float, scheduler: str
) -> WatchedJob:
    """Return the job after the outage that it told of, with the all-clear owed.

    There is none where the warning can't arrive any more, where another job took over meanwhile, and
    where nobody answered: the job was given up as unknown, which is told by itself.
    """
    since_s = job.outage_s
    after = replace(job, outage_s=None)
    if since_s is None or _never_heard(job) or _is_succeeded(job, notice, since_s):
        return after
    if not any(entry.message.id == _warning_id(job, since_s) and not entry.given_up for entry in job.outbox):
        return after
    message = Message(
        id=f"{_warning_id(job, since_s)}-over",
        route=Route.ERROR,
        tone=Tone.RESOLVED,
        title=f"{_who(job, scheduler)} answers again",
        summary=f"The outage lasted {duration(now_s - since_s)}. What became of the watched jobs meanwhile "
        "is told as usual.",
        fields=(*_facts(job, host), Field("No answer from", at_s=int(since_s)), Field("To", at_s=int(now_s))),
        created_s=int(now_s),
    )
    return replace(after, outbox=(*job.outbox, OutboxEntry(message)))


def _never_heard(job: WatchedJob) -> bool:
    parts = job.tasks.values()
    return any(task.inquiry and task.inquiry.accounting is AccountingStatus.UNREACHABLE for task in parts)


def _is_succeeded(job: WatchedJob, notice: OutageNotice, since_s: float) -> bool:
    """Whether another job tells of this outage, as this one was not watched for a while."""
    of_this_outage = not notice.over_s or notice.over_s >= since_s
    return notice.reporter not in ("", job.id) and of_this_outage


def _warning_id(job: WatchedJob, since_s: float) -> str:
    return f"{job.ref}/outage-{int(since_s)}"


def _who(job: WatchedJob, scheduler: str) -> str:
    return f"{scheduler} ({job.cluster})" if job.cluster else scheduler


def _facts(job: WatchedJob, host: str) -> Iterator[Field]:
    if job.cluster:
        yield Field("Cluster", job.cluster)
    yield Field("Asked from", host)


def _last_answer(job: WatchedJob) -> Iterator[Field]:
    if job.answered_s is not None:
        yield Field("Last answer", at_s=int(job.answered_s))
