"""The status of all watched jobs, as up to date as the files of this home are, without a query."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.analysis.explainer import canceller_name
from jobmon_core.domain.decide import interval_s
from jobmon_core.domain.errors import ConfigInvalid, JobmonError, SchedulerMissing
from jobmon_core.domain.humanize import duration
from jobmon_core.domain.job.tracking.apply_queue import apply_queue
from jobmon_core.domain.job.tracking.cause_groups import cause_groups
from jobmon_core.domain.job.tracking.policy import SAVE_INTERVAL_S, Policy
from jobmon_core.domain.job.tracking.reopen import without_duplicates
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.domain.slurm.states import JobState, Outcome, Phase, exit_phrase, stated_reason
from jobmon_core.lifecycle.health import Health, JobStatus, job_statuses
from jobmon_core.store.jobs import Unreadable
from jobmon_core.store.lineages import lineage_id_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.job.job_progress import JobProgress
    from jobmon_core.domain.job.restart.model import Lineage
    from jobmon_core.domain.job.tracking.model import End, EndInquiry, Task, WatchedJob
    from jobmon_core.domain.slurm.rows import JobRow

    _Answer = tuple[float, Mapping[int, Sequence[JobRow]]]  # when it was asked for, and the rows by job id

# The answer to a query comes some seconds after it is due.
_ANSWER_S = 10.0


_NO_ANSWER: _Answer = 0.0, {}


@dataclass(frozen=True, slots=True)
class Overview:
    """The watched jobs, one record each, and the state files that cannot be read."""

    jobs: list[JobStatus]
    unreadable: list[Unreadable]
    policy: Policy = Policy()
    progress: Mapping[str, JobProgress] = field(default_factory=dict)  # of running jobs, by state id
    group_intervals_s: Mapping[str, float] = field(default_factory=dict)  # of members of groups, by state id
    lineages: Mapping[str, Lineage] = field(default_factory=dict)  # of jobs that are attempts, by state id

    def is_followed(self, job: WatchedJob) -> bool:
        """Whether a further attempt of its lineage was submitted, so that its own end needs nobody."""
        lineage = self.lineages.get(job.id)
        newest = lineage.newest if lineage else None
        return newest is not None and newest.state_id != job.id

    def age_s(self, job: WatchedJob, now_s: float) -> float | None:
        """Return how old the data are (seconds), if they are older than one interval, else None.

        A monitor keeps its intervals, so data must also be older than the default one.
        """
        if job.closed or job.answered_s is None:
            return None
        age_s = now_s - job.answered_s
        if age_s <= _ANSWER_S:
            return None
        # a hint of the end shortens the interval; the data may be as old as before it
        before = job if job.end_hint_s is None else replace(job, end_hint_s=None)
        usual_s = max(interval_s(before, each, now_s) for each in (self.policy, Policy()))
        usual_s = max(usual_s, self.group_intervals_s.get(job.id, 0.0))
        return age_s if age_s > usual_s + _ANSWER_S else None


def overview(ctx: Context) -> Overview:
    """Read all jobs, without a query."""
    ctx = ctx.for_one_look()
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
    """Return the lineages of attempts, by state id."""
    ids, found = set(ctx.lineages.ids()), dict[str, "Lineage"]()
    for job in jobs:
        if lineage_id_of(job) in ids:
            with suppress(JobmonError):  # `jobmon restarts` reports a file that cannot be read
                found[job.id] = ctx.lineages.load(lineage_id_of(job))
    return found


def group_intervals_s(ctx: Context) -> dict[str, float]:
    """Return how often members of groups are checked (seconds), by state id."""
    found = dict[str, float]()
    for name in ctx.groups.names():
        with suppress(JobmonError):  # `jobmon group status` reports a file that cannot be read
            group = ctx.groups.load(name)
            found |= {each.state_id: group.settings.interval_s for each in group.members.values()}
    return found


def policy(ctx: Context) -> Policy:
    """Return the configured delays; default ones if the configuration is invalid."""
    try:
        return ctx.configuration().policy
    except ConfigInvalid:  # commands that need it report its faults
        return Policy()


def config_fault(ctx: Context) -> str:
    """Return what is wrong with the configuration, in one line."""
    try:
        ctx.configuration()
    except ConfigInvalid as error:
        return f"{error.source} is invalid, so messages are not sent: {'; '.join(error.faults)}"
    return ""


def current_status(ctx: Context, job: WatchedJob) -> JobStatus:
    """Return the status as of the latest answer that is known."""
    return statuses(ctx, [job])[0]


def statuses(ctx: Context, jobs: Iterable[WatchedJob]) -> list[JobStatus]:
    """Return each status as of the latest answer that is known."""
    jobs = list(jobs)
    latest = _LatestAnswers(ctx, jobs)
    return [latest.apply_to(status) for status in job_statuses(ctx, jobs)]


class _LatestAnswers:
    """The monitors of a host share the latest answers of the queue.

    A monitor applies one only when its own next check is due, and saves a job without news only every few
    minutes. So a shared answer may be newer than the state file of a job.
    """

    def __init__(self, ctx: Context, jobs: Collection[WatchedJob]) -> None:
        self._ctx = ctx
        self._job_ids = {job.job_id for job in jobs}
        self._answers: dict[tuple[str, str, str, str], _Answer] = {}
        self._default_cluster = cache(self._read_default_cluster)

    def apply_to(self, status: JobStatus) -> JobStatus:
        job, owner = status.job, status.owner
        watching = status.health in (Health.ALIVE, Health.REMOTE)
        if owner is None or not watching or job.closed or job.answered_s is None or job.stale_since_s:
            return status
        asked_s, rows = self._latest(job, owner.host)
        # a monitor that works would have saved the job by then: this one may be suspended
        if not job.answered_s < asked_s < job.answered_s + 2 * SAVE_INTERVAL_S:
            return status
        return replace(status, job=apply_queue(job, rows.get(job.job_id, ()), asked_s, Policy()))

    def _latest(self, job: WatchedJob, host: str) -> _Answer:
        try:
            is_elsewhere = job.is_elsewhere(lambda: self._default_cluster(job.backend, host))
            key = (job.backend, job.cluster if is_elsewhere else "", job.user, host)
            if key not in self._answers:
                self._answers[key] = self._read(*key)
        except SchedulerMissing:  # the backend of a newer jobmon
            return _NO_ANSWER
        return self._answers[key]

    def _read_default_cluster(self, backend: str, host: str) -> str:
        return self._ctx.shared_answer("cluster", backend, host=host).read().text

    def _read(self, backend: str, cluster: str, user: str, host: str) -> _Answer:
        stored = self._ctx.shared_answer("queue", backend, cluster, user, host=host).read()
        rows: dict[int, list[JobRow]] = {}
        if stored.problem or not stored.asked_s:
            return _NO_ANSWER
        for row in self._ctx.scheduler(backend).read_queue(stored.text, self._job_ids):
            rows.setdefault(row.ref.job_id, []).append(row)
        return stored.asked_s, rows


class Ending(NamedTuple):
    """A task that ended or left the queue, but whose outcome is not known yet."""

    state: JobState | None  # the final state; None if no source shows one
    started_s: int | None
    ended_s: int | None

    @property
    def text(self) -> str:
        """And what jobmon still waits for."""
        if self.state is None:
            return "no longer listed, outcome not known yet"
        return "ended, unless requeued" if self.state.may_return else "ended, waiting for details"

    @property
    def elapsed_s(self) -> int | None:
        """The run time, if its start and its end are known."""
        if self.started_s is None or self.ended_s is None:
            return None
        return max(0, self.ended_s - self.started_s)


def ending_of(task: Task) -> Ending | None:
    """None for a task that runs or has an outcome."""
    if task.end or task.inquiry is None:
        return None
    shown, source = task.inquiry.queue_state, _final_row(task.inquiry)
    state = shown or (source.state if source else None)
    started_s = (source.start_s if source else None) or task.start_s
    ended_s = source.end_s if source else None
    # of a job that never got a node, Slurm reports the end as the start
    if started_s == ended_s and not task.has_started:
        started_s = None
    return Ending(state, started_s, ended_s)


def _final_row(inquiry: EndInquiry) -> JobRow | None:
    rows = (inquiry.row, inquiry.record)
    return next((row for row in rows if row and not row.state.is_alive), None)


def may_still_run(job: WatchedJob) -> bool:
    """Whether a task is not known to have ended, e.g. because nobody watches it any more."""
    ends = [task.end for task in job.tasks.values() if task.end]
    return not job.ended or any(end.outcome is Outcome.UNKNOWN for end in ends)


def state_text(end: End) -> str:
    """Return the final state, e.g. ``CANCELLED by you``."""
    if end.cancelled_by is not None:
        return f"{end.state} by {canceller_name(end.cancelled_by)}"
    return end.raw_state or end.state


def end_text(end: End) -> str:
    """Return the final state, and what tells more, e.g. ``FAILED, exit code 1``."""
    # the exit code 0 of a job that timed out would confuse, as would the signal that cancelled a job
    shows_exit = (
        end.exit_code
        or (end.signal and end.state is JobState.FAILED)
        or (end.exit_code == 0 and end.state is JobState.COMPLETED)
    )
    return (
        f"{state_text(end)}, {exit_phrase(end.exit_code, end.signal, is_exact=end.exit_code_exact)}"
        if shows_exit
        else state_text(end)
    )


_BAD = (Outcome.FAILURE, Outcome.UNKNOWN)
_NEW_S = 10.0  # for so long, an answer of the scheduler counts as new
# the task whose outcome comes first here stands for a job; None: it has started, but not ended
_TO_SHOW: tuple[Outcome | None, ...] = (
    Outcome.FAILURE,
    Outcome.UNKNOWN,
    None,
    Outcome.CANCELLED,
    Outcome.SUCCESS,
)


def detailed_tasks(job: WatchedJob, limit: int) -> list[Task]:
    """Return at most ``limit`` tasks that `problem_count` counts, by index: the first of each cause."""
    groups = [group.keys for group in cause_groups(job) if group.outcome is not Outcome.CANCELLED]
    ranked = sorted(
        (position, rank, key) for rank, keys in enumerate(groups) for position, key in enumerate(keys)
    )
    return in_order([job.tasks[key] for _, _, key in ranked[:limit]])


def worst_task(tasks: Iterable[Task]) -> Task | None:
    """Return the first with the worst outcome, which stands for all."""
    return min(tasks, key=_rank, default=None)


def is_waiting(task: Task) -> bool:
    """Whether a task has neither started nor ended."""
    return task.end is None and not task.has_started and task.state.phase is Phase.WAITING


def why_not_started(job: WatchedJob, task: Task | None, now_s: float) -> str:
    """Return why a task (None: a job without known tasks) has no run to show, as words after its id.

    An answer of the scheduler that is not new has its age: the task may have started since.
    """
    if task is None and job.closed:
        return "is no longer watched, and jobmon never saw it start"
    if task is None and not job.pending_indices:
        return "is not listed by the scheduler yet"
    reason = stated_reason(task.reason if task else job.pending_reason)
    verb = "waits for its next start" if task and task.has_started else "has not started"
    age_s = now_s - job.answered_s if job.answered_s is not None else 0.0
    asked = f"as of {duration(age_s)} ago" if age_s >= _NEW_S else ""
    return f"{verb} ({', '.join(filter(None, (task.state if task else JobState.PENDING, reason, asked)))})"


def in_order(tasks: Sequence[Task]) -> list[Task]:
    """Return tasks sorted by their index."""
    return sorted(tasks, key=task_index)


def task_index(task: Task) -> int:
    """That of an array task or component, or 0."""
    ref = ref_of(0, task.key)
    return ref.task or ref.component or 0


def failed_count(job: WatchedJob) -> int:
    """An unknown outcome is no failure."""
    return sum(1 for task in job.tasks.values() if task.end and task.end.outcome is Outcome.FAILURE)


def problem_count(job: WatchedJob) -> int:
    """Return how many failed, ended with unknown outcome or succeeded doubtfully."""
    ends = (task.end for task in job.tasks.values() if task.end)
    return sum(1 for end in ends if end.outcome in _BAD) + job.doubtful_tasks


def _rank(task: Task) -> tuple[bool, int, bool, int]:
    outcome = task.end.outcome if task.end else None
    return is_waiting(task), _TO_SHOW.index(outcome), not task.is_doubtful_success, task_index(task)
