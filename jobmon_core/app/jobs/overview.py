"""Use case: the status of all watched jobs, as up to date as the files of this home are."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.decide import interval_s
from jobmon_core.domain.errors import ConfigInvalid, JobmonError, SchedulerMissing
from jobmon_core.domain.job.tracking.apply_queue import apply_queue
from jobmon_core.domain.job.tracking.duplicates import without_duplicates
from jobmon_core.domain.job.tracking.policy import SAVE_INTERVAL_S, Policy
from jobmon_core.lifecycle.health import Health, JobStatus, job_status
from jobmon_core.store.jobs import Unreadable
from jobmon_core.store.lineages import lineage_id_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.job.job_progress import JobProgress
    from jobmon_core.domain.job.restart.model import Lineage
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.slurm.rows import QueueRow

# The answer to a query comes some seconds after it is due.
_ANSWER_S = 10.0


class _Answer(NamedTuple):
    """An answer of the queue."""

    asked_s: float = 0.0  # Unix seconds; 0 if there was none
    rows: Mapping[int, Sequence[QueueRow]] = MappingProxyType({})  # by job id


@dataclass(frozen=True, slots=True)
class Overview:
    """The watched jobs, one record each, and the state files that cannot be read."""

    jobs: list[JobStatus]
    unreadable: list[Unreadable]
    policy: Policy = Policy()
    progress: Mapping[str, JobProgress] = field(default_factory=dict)  # of running jobs, by state id
    group_intervals_s: Mapping[str, float] = field(default_factory=dict)  # of members of groups, by state id
    lineages: Mapping[str, Lineage] = field(default_factory=dict)  # of jobs that are attempts, by state id

    def age_s(self, job: WatchedJob, now_s: float) -> float | None:
        """Return how old the data are (seconds), if they are older than one interval, else None.

        A monitor keeps the intervals that it began with. They are not known here and may be longer than those
        configured now, so data count as old only if they are older than the default interval, too.
        """
        if job.closed or job.answered_s is None:
            return None
        age_s = now_s - job.answered_s
        # a hint of the end shortens the interval; the data may be as old as before it
        before = replace(job, end_hint_s=None)
        usual_s = max(interval_s(before, each, now_s) for each in (self.policy, Policy()))
        usual_s = max(usual_s, self.group_intervals_s.get(job.id, 0.0))
        return age_s if age_s > usual_s + _ANSWER_S else None


def overview(ctx: Context) -> Overview:
    """Return the status of all jobs, without asking the scheduler."""
    entries = list(ctx.store.all())
    jobs = without_duplicates(entry for entry in entries if not isinstance(entry, Unreadable))
    known = statuses(ctx, jobs)
    running = [each.job for each in known if not each.job.closed and each.job.is_running]
    return Overview(
        known,
        [entry for entry in entries if isinstance(entry, Unreadable)],
        # reading the configuration takes a while, and only the age of jobs that are watched depends on it
        Policy() if all(job.closed for job in jobs) else policy(ctx),
        {job.id: ctx.progress_file(job.id).read() for job in running},
        {} if all(job.closed for job in jobs) else group_intervals_s(ctx),
        lineages_of(ctx, jobs),
    )


def lineages_of(ctx: Context, jobs: Iterable[WatchedJob]) -> dict[str, Lineage]:
    """Return the lineages of those jobs that are an attempt of one, by state id."""
    ids, found = set(ctx.lineages.ids()), dict[str, "Lineage"]()
    for job in jobs:
        if lineage_id_of(job) in ids:
            with suppress(JobmonError):  # `jobmon restarts` reports a file that cannot be read
                found[job.id] = ctx.lineages.load(lineage_id_of(job))
    return found


def group_intervals_s(ctx: Context) -> dict[str, float]:
    """Return how often the members of all groups are checked (seconds), by state id."""
    found = dict[str, float]()
    for name in ctx.groups.names():
        with suppress(JobmonError):  # `jobmon group status` reports a file that cannot be read
            group = ctx.groups.load(name)
            found |= {each.state_id: group.settings.interval_s for each in group.members.values()}
    return found


def policy(ctx: Context) -> Policy:
    """Return the configured delays; the default ones if the configuration is invalid."""
    try:
        return ctx.configuration().policy
    except ConfigInvalid:  # commands that need it report its faults
        return Policy()


def config_fault(ctx: Context) -> str:
    """Return what is wrong with the configuration, in one line; empty if nothing is."""
    try:
        ctx.configuration()
    except ConfigInvalid as error:
        return f"{error.source} is invalid, so messages are not sent: {'; '.join(error.faults)}"
    return ""


def current_status(ctx: Context, job: WatchedJob) -> JobStatus:
    """Return the status of one job, without asking the scheduler."""
    return statuses(ctx, [job])[0]


def statuses(ctx: Context, jobs: Iterable[WatchedJob]) -> list[JobStatus]:
    """Return the status of each of these jobs, without asking the scheduler."""
    jobs = list(jobs)
    latest = _LatestAnswers(ctx, jobs)
    return [latest.apply_to(job_status(ctx, job)) for job in jobs]


class _LatestAnswers:
    """The latest answers of the queue, which the monitors of a host share.

    A monitor applies an answer only when its own next check is due, and saves a job without news only every
    few minutes. So a shared answer may be newer than the state file of a job.
    """

    def __init__(self, ctx: Context, jobs: Collection[WatchedJob]) -> None:
        self._ctx = ctx
        self._job_ids = {job.job_id for job in jobs}
        self._answers: dict[tuple[str, str, str, str], _Answer] = {}

    def apply_to(self, status: JobStatus) -> JobStatus:
        """Return a status as of the latest answer that the host of the job's monitor has."""
        job, owner = status.job, status.owner
        watching = status.health in (Health.ALIVE, Health.REMOTE)
        if owner is None or not watching or job.closed or job.answered_s is None or job.stale_since_s:
            return status
        answer = self._latest(job, owner.host)
        # a monitor that works would have saved the job by then: this one may be suspended
        if not job.answered_s < answer.asked_s < job.answered_s + 2 * SAVE_INTERVAL_S:
            return status
        rows = answer.rows.get(job.job_id, ())
        return replace(status, job=apply_queue(job, rows, answer.asked_s, Policy()))

    def _latest(self, job: WatchedJob, host: str) -> _Answer:
        try:
            default_cluster = self._ctx.shared_answer("cluster", job.backend, host=host)
        except SchedulerMissing:  # the backend of a newer jobmon
            return _Answer()
        cluster = job.cluster if job.is_elsewhere(lambda: default_cluster.read().text) else ""
        key = (job.backend, cluster, job.user, host)
        if key not in self._answers:
            self._answers[key] = self._read(*key)
        return self._answers[key]

    def _read(self, backend: str, cluster: str, user: str, host: str) -> _Answer:
        stored = self._ctx.shared_answer("queue", backend, cluster, user, host=host).read()
        rows: dict[int, list[QueueRow]] = {}
        if stored.problem or not stored.asked_s:
            return _Answer()
        for row in self._ctx.scheduler(backend).read_queue(stored.text, self._job_ids):
            rows.setdefault(row.ref.job_id, []).append(row)
        return _Answer(stored.asked_s, rows)
