"""Find out why a job is pending, by queries of the scheduler; it need not be watched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.app.jobs.find import find_by_name, find_ref
from jobmon_core.app.jobs.overview import is_waiting, worst_task
from jobmon_core.domain.backends import BY_TEXT, DEFAULT_BACKEND
from jobmon_core.domain.before.pending.model import PendingFacts, PendingJob
from jobmon_core.domain.errors import SchedulerUnavailable, UnknownJob
from jobmon_core.domain.job.history.nodes import suspect_nodes
from jobmon_core.domain.job.tracking.reopen import without_duplicates
from jobmon_core.domain.slurm.job_ids import IndexSet, ref_of
from jobmon_core.domain.slurm.rows import NotListed, Unreachable, node_names
from jobmon_core.domain.slurm.states import JobState, Phase
from jobmon_core.lifecycle.health import find_watched
from jobmon_core.scheduler.backends import display_name, find_backend
from jobmon_core.store.history.lines import recent
from jobmon_core.system.runner import Runner

if TYPE_CHECKING:
    from jobmon_core.context import Context
    from jobmon_core.domain.job.history.nodes import SuspectNode
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.domain.slurm.job_ids import JobRef


@dataclass(frozen=True, slots=True)
class PendingAnswer:
    """What is known about a job that may be pending."""

    ref: JobRef
    facts: PendingFacts
    backend: str = DEFAULT_BACKEND
    is_watched: bool = False
    seen_s: float | None = None  # of what jobmon remembers: when the scheduler last said so
    unreachable: str = ""  # why the scheduler did not answer now
    never_pending: bool = False  # of a backend that starts its jobs at once
    suspects: tuple[SuspectNode, ...] = ()  # of the nodes on which Slurm expects it to start

    @property
    def is_pending(self) -> bool:
        """Whether the job waits for its start."""
        return self.facts.job.state.phase is Phase.WAITING and not self.never_pending


def why_pending(ctx: Context, argument: str) -> PendingAnswer:
    """Return what the scheduler says about a job that ``argument`` names; a job id need not be watched.

    If it does not answer or no longer lists the job, the answer is what jobmon remembers of it. For an
    unlisted job that jobmon does not watch, accounting is asked, before UnknownJob is raised.
    """
    ref = find_ref(ctx, argument)
    job = _newest(ctx, ref, argument)
    backend = job.backend if job else DEFAULT_BACKEND
    ask = find_backend(backend).pending_facts
    if ask is None and job:
        facts, at_once = _remembered(job, ref), backend not in BY_TEXT
        return PendingAnswer(ref, facts, backend, is_watched=True, never_pending=at_once)
    cluster = job.cluster if job and job.remote else ""
    answer = ask(Runner(), ref, cluster) if ask else NotListed()
    if isinstance(answer, PendingFacts):
        suspects = _suspects(ctx, answer.job.expected_nodes)
        return PendingAnswer(ref, answer, backend, is_watched=job is not None, suspects=suspects)
    why = answer.why if isinstance(answer, Unreachable) else ""
    if job is not None:
        remembered = _remembered(job, ref)
        return PendingAnswer(
            ref, remembered, backend, is_watched=True, seen_s=job.answered_s, unreachable=why
        )
    if not why and (ended := _ended(ctx, ref)):
        return PendingAnswer(ref, PendingFacts(ended), backend)
    if why:
        raise SchedulerUnavailable(
            f"{display_name(backend)} is not responding, so job {ref} is not known: {why}"
        )
    raise UnknownJob(f"unknown job {ref}: {display_name(backend)} does not know it (any more)")


def _newest(ctx: Context, ref: JobRef, argument: str) -> WatchedJob | None:
    watched = without_duplicates(find_watched(ctx, ref))
    # by name first: another backend may have counted as far
    return find_by_name(watched, argument) or next(reversed(watched), None)


def _suspects(ctx: Context, nodes: str) -> tuple[SuspectNode, ...]:
    found = suspect_nodes(recent(ctx.home.history, ctx.clock.now()), ctx.clock.now()) if nodes else []
    return tuple(each for each in found if each.node in node_names(nodes))


def _ended(ctx: Context, ref: JobRef) -> PendingJob | None:
    scheduler = ctx.scheduler(DEFAULT_BACKEND)
    answer = scheduler.ask_accounting([ref.job_id])
    rows = scheduler.read_accounting(answer, ref.job_id) if isinstance(answer, str) else ()
    row = next((row for row in reversed(rows) if ref.key in ("", row.ref.key)), None)
    return PendingJob(ref=ref, state=row.state, raw_state=row.raw_state, name=row.name) if row else None


def _remembered(job: WatchedJob, ref: JobRef) -> PendingFacts:
    tasks = [task for task in job.tasks.values() if ref.key in ("", task.key)]
    waiting = next((task for task in tasks if is_waiting(task)), None)
    if job.pending_indices and not waiting and not job.closed:
        waiting_tasks = IndexSet.parse(job.pending_indices)
        state = JobState.PENDING
        pending = PendingJob(
            ref=job.ref,
            state=state,
            raw_state=state,
            reason=job.pending_reason,
            pending_indices=waiting_tasks,
            name=job.name,
            partitions=tuple(filter(None, job.partition.split(","))),
        )
        return PendingFacts(pending)
    return PendingFacts(_pending_job(job, ref, waiting or worst_task(tasks)))


def _pending_job(job: WatchedJob, ref: JobRef, task: Task | None) -> PendingJob:
    state = (task.end.state if task.end else task.state) if task else JobState.UNKNOWN
    raw_state = (task.end.raw_state if task.end else task.raw_state) if task else ""
    return PendingJob(
        ref=ref_of(job.job_id, task.key) if task else ref,
        state=state,
        raw_state=raw_state or state,
        reason=task.reason if task else "",
        name=job.name,
        user=job.user,
        partitions=tuple(filter(None, job.partition.split(","))),
        submit_s=task.submit_s if task else None,
        limit_s=task.limit_s if task else None,
    )
