"""Use case: the status of all watched jobs, as up to date as the files of this home are."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.decide import interval_s
from jobmon_core.domain.errors import ConfigInvalid, SchedulerMissing
from jobmon_core.domain.tracking.duplicates import without_duplicates
from jobmon_core.domain.tracking.policy import SAVE_INTERVAL_S, Policy
from jobmon_core.lifecycle.health import Health, JobStatus, job_status
from jobmon_core.store.jobs import Unreadable
from jobmon_core.store.shared_answers import SharedAnswer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from jobmon_core.context import Context
    from jobmon_core.domain.progress.model import JobProgress
    from jobmon_core.domain.tracking.model import WatchedJob
    from jobmon_core.store.owner import Owner

# The answer to a query comes some seconds after it is due.
_ANSWER_S = 10.0


@dataclass(frozen=True, slots=True)
class Overview:
    """The watched jobs, one record each, and the state files that cannot be read."""

    jobs: list[JobStatus]
    unreadable: list[Unreadable]
    policy: Policy = Policy()
    progress: Mapping[str, JobProgress] = field(default_factory=dict)  # of running jobs, by state id

    def age_s(self, job: WatchedJob, now_s: float) -> float | None:
        """Return how old the data are (seconds), if they are older than one interval, else None."""
        if job.closed or job.answered_s is None:
            return None
        age_s = now_s - job.answered_s
        return age_s if age_s > interval_s(job, self.policy) + _ANSWER_S else None


def overview(ctx: Context) -> Overview:
    """Return the status of all jobs, without asking the scheduler."""
    entries = list(ctx.store.all())
    jobs = without_duplicates(entry for entry in entries if not isinstance(entry, Unreadable))
    return Overview(
        statuses(ctx, jobs),
        [entry for entry in entries if isinstance(entry, Unreadable)],
        # reading the configuration takes a while, and only the age of jobs that are watched depends on it
        Policy() if all(job.closed for job in jobs) else policy(ctx),
        {job.id: ctx.progress_file(job.id).read() for job in jobs if not job.closed and job.is_running},
    )


def policy(ctx: Context) -> Policy:
    """Return the configured delays; the default ones if the configuration is invalid."""
    try:
        return ctx.configuration().policy
    except ConfigInvalid:  # commands that need it report its faults
        return Policy()


def current_status(ctx: Context, job: WatchedJob) -> JobStatus:
    """Return the status of one job, without asking the scheduler."""
    return statuses(ctx, [job])[0]


def statuses(ctx: Context, jobs: Iterable[WatchedJob]) -> list[JobStatus]:
    """Return the status of each of these jobs, without asking the scheduler."""
    latest = _LatestAnswers(ctx)
    return [latest.apply_to(job_status(ctx, job)) for job in jobs]


class _LatestAnswers:
    """When monitors last got an answer from the queue: state files name that time only every few minutes."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._answered_s: dict[tuple[str, ...], float] = {}

    def apply_to(self, status: JobStatus) -> JobStatus:
        """Return a status with the time of the last answer that the job's monitor has seen."""
        job, owner = status.job, status.owner
        watching = status.health in (Health.ALIVE, Health.REMOTE)
        if owner is None or not watching or job.closed or job.answered_s is None or job.stale_since_s:
            return status
        answered_s = self._latest_s(job, owner)
        # a monitor that is suspended would have saved the job meanwhile
        if job.answered_s < answered_s < job.answered_s + 2 * SAVE_INTERVAL_S:
            return replace(status, job=replace(job, answered_s=answered_s))
        return status

    def _latest_s(self, job: WatchedJob, owner: Owner) -> float:
        try:
            fingerprint = self._ctx.scheduler_fingerprint(job.backend)
        except SchedulerMissing:  # the backend of a newer jobmon
            return 0.0
        # the monitor names the cluster in its queries only if that is another one than its host's
        names = [("queue", *fingerprint, cluster, job.user) for cluster in {job.cluster, ""}]
        return max(self._read(*each, host=owner.host) for each in names)

    def _read(self, *names: str, host: str) -> float:
        key = (*names, host)
        if key not in self._answered_s:
            answer = SharedAnswer.named(self._ctx.home.shared_answers, *names, host=host).read()
            self._answered_s[key] = 0.0 if answer.problem else answer.asked_s
        return self._answered_s[key]
