"""Collect what ended jobs used: from accounting and from jobmon's own files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.analysis.ending.measured_use import node_histories
from jobmon_core.app.jobs.find import all_jobs, find_job, last_change_s
from jobmon_core.app.jobs.overview import in_order, lineages_of
from jobmon_core.domain.backends import DEFAULT_BACKEND
from jobmon_core.domain.job.efficiency.model import Efficiency, efficiency_of_end
from jobmon_core.domain.job.history.record import gpu_busy_s
from jobmon_core.domain.job.history.totals import Wanted
from jobmon_core.domain.job.report.usage import measured_use
from jobmon_core.domain.job.tracking.apply_accounting import is_row_of
from jobmon_core.domain.slurm.job_ids import JobRef, ref_of
from jobmon_core.domain.slurm.rows import Disabled, JobRow, Unreachable
from jobmon_core.domain.slurm.states import Phase
from jobmon_core.lifecycle.health import find_watched
from jobmon_core.store.history.index import open_history
from jobmon_core.store.jobs import Unreadable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.job.tracking.model import End, WatchedJob

_MAX_JOBS_PER_QUERY = 500  # the ids are part of a command line
_DISABLED = "this cluster has no accounting: only what jobmon noted when watched jobs ended is known"
_UNREACHABLE = "accounting did not answer: only what jobmon noted when watched jobs ended is known"

Rows = dict[tuple[str, str], dict["JobRef", JobRow]]  # by `Target.id`; the last run of each part

_MAX_LAG_S = 120.0  # an end that is younger may be missing in accounting
_MAX_WAIT_S = 30.0  # for such an end
_RETRY_S = 5.0


@dataclass(frozen=True, slots=True)
class RunEfficiency:
    """What one job, task or component used in its last run."""

    ref: JobRef
    name: str
    found: Efficiency | None  # None: see `note`
    started_s: int | None = None
    ended_s: int | None = None
    note: str = ""  # why figures are missing


def collect(ctx: Context, arguments: Sequence[str], since_s: float) -> tuple[list[RunEfficiency], list[str]]:
    """Return what the named jobs used, but for those that ended before ``since_s``, and what went wrong.

    This waits up to half a minute while accounting lacks a recent end that jobmon knows.
    """
    targets = find_targets(ctx, arguments, since_s)
    rows, problems = ask_accounting(ctx, targets)
    give_up_s = ctx.clock.now() + _MAX_WAIT_S
    while (late := [each for each in targets if _is_late(ctx, each, rows)]) and ctx.clock.now() < give_up_s:
        ctx.clock.wait(_RETRY_S)
        rows |= ask_accounting(ctx, late)[0]
    has_answers = not problems
    runs: list[RunEfficiency] = []
    for target in targets:
        of_target = [*_runs(ctx, target, rows)]
        if not of_target and has_answers:
            hint = "an array task is named 12_3, not by its $SLURM_JOB_ID"
            problems.append(f"accounting has no job {target.ref}; {hint}")
        runs += [run for run in of_target if run.ended_s is None or run.ended_s >= since_s]
    return runs, problems


def costs_of(ctx: Context, runs: Iterable[RunEfficiency]) -> dict[str, float]:
    """Return what runs cost by currency, as far as the history knows; empty without prices.

    Raises:
        StorageFailed: the history cannot be read.
    """
    costs: dict[str, float] = {}
    if ctx.prices() is None:
        return costs
    with open_history(ctx.home.history) as history:
        for run in runs:
            for record in history.records(Wanted(job_id=run.ref.job_id, task=run.ref.key)):
                if record.ref == run.ref and record.started_s == run.started_s and record.cost is not None:
                    costs[record.currency] = costs.get(record.currency, 0.0) + record.cost
    return costs


def _is_late(ctx: Context, target: EfficiencyTarget, rows: Rows) -> bool:
    missing = target.ends.keys() - _ended(rows.get(target.id, {})) if target.id in rows else set()
    return any(_is_new(ctx, target.ends[key].ended_s) for key in missing if target.ends[key].started_s)


def _is_new(ctx: Context, ended_s: int | None) -> bool:
    return ctx.clock.now() - (ended_s or 0) < _MAX_LAG_S


def _ended(rows: Mapping[JobRef, JobRow]) -> set[str]:
    return {ref.key for ref, row in rows.items() if row.state.phase is Phase.ENDED}


def _runs(ctx: Context, target: EfficiencyTarget, rows: Rows) -> Iterator[RunEfficiency]:
    of_target, ends = rows.get(target.id, {}), target.ends
    name = target.job.name if target.job else ""
    for ref, row in of_target.items():
        if row.state.phase is Phase.ENDED:
            recorded = Efficiency(row.state, row.elapsed_s, row.limit_s, row.usage)
            found = _with_measured(ctx, target, ref.key, recorded, row.start_s)
            yield RunEfficiency(ref, row.name, found, row.start_s, row.end_s)
        elif ref.key not in ends:
            yield RunEfficiency(ref, row.name, None, row.start_s, note=f"not ended ({row.raw_state})")
    for key in [key for key in ends if key not in _ended(of_target)]:
        end = ends[key]
        found = _with_measured(ctx, target, key, efficiency_of_end(end), end.started_s)
        note = "not recorded yet" if target.id in rows and _is_new(ctx, end.ended_s) else ""
        yield RunEfficiency(ref_of(target.ref.job_id, key), name, found, end.started_s, end.ended_s, note)
    if target.job and not of_target and not ends:
        yield RunEfficiency(target.ref, name, None, note="not ended")


def _with_measured(
    ctx: Context, target: EfficiencyTarget, key: str, found: Efficiency, started_s: int | None
) -> Efficiency:
    if target.job is None or started_s is None:
        return found
    nodes = node_histories(ctx.telemetry(target.job.id, key), started_s)
    busy_s, idle_s = gpu_busy_s(nodes)
    return replace(found.with_measured(measured_use(nodes)), gpu_busy_s=busy_s, gpu_idle_s=idle_s)


def ask_accounting(ctx: Context, targets: Iterable[EfficiencyTarget]) -> tuple[Rows, list[str]]:
    """Return the records of each target, and why a cluster gave none."""
    by_cluster: dict[str, list[EfficiencyTarget]] = {}
    for target in targets:
        if target.job is None or target.job.backend == DEFAULT_BACKEND:
            by_cluster.setdefault(target.cluster, []).append(target)
    rows: Rows = {}
    problems = []
    for cluster, of_cluster in by_cluster.items():
        ids = sorted({target.ref.job_id for target in of_cluster})
        for first in range(0, len(ids), _MAX_JOBS_PER_QUERY):
            part = ids[first : first + _MAX_JOBS_PER_QUERY]
            answer = _query(ctx, cluster, part)
            if isinstance(answer, str):
                problems.append(answer)
                break
            asked = [target for target in of_cluster if target.ref.job_id in answer]
            rows |= {target.id: _last_runs(target, answer[target.ref.job_id]) for target in asked}
    return rows, problems


def _query(ctx: Context, cluster: str, job_ids: Sequence[int]) -> dict[int, tuple[JobRow, ...]] | str:
    scheduler = ctx.scheduler(DEFAULT_BACKEND, cluster)
    answer = scheduler.ask_accounting(job_ids)
    if isinstance(answer, Disabled):
        return _DISABLED
    if isinstance(answer, Unreachable):
        return f"{_UNREACHABLE} ({answer.why})"
    return {job_id: scheduler.read_accounting(answer, job_id) for job_id in job_ids}


def _last_runs(target: EfficiencyTarget, rows: Iterable[JobRow]) -> dict[JobRef, JobRow]:
    return {
        row.ref: row
        for row in rows
        if target.ref.key in ("", row.ref.key)
        and row.pending_indices is None
        and (target.job is None or is_row_of(target.job, row, float("inf")))
    }


class EfficiencyTarget(NamedTuple):
    """A job, or a part of it."""

    ref: JobRef
    job: WatchedJob | None  # None if jobmon has no record of it

    @property
    def id(self) -> tuple[str, str]:
        """Tell it from others: Slurm may use a job id again."""
        return self.job.id if self.job else "", str(self.ref)

    @property
    def cluster(self) -> str:
        """The cluster to name in a query; empty for the local one."""
        return self.job.cluster if self.job and self.job.remote else ""

    @property
    def ends(self) -> dict[str, End]:
        """Those that jobmon noted, by task key."""
        tasks = in_order(list(self.job.tasks.values())) if self.job else []
        return {task.key: task.end for task in tasks if task.end and self.ref.key in ("", task.key)}


def find_targets(ctx: Context, arguments: Sequence[str], since_s: float) -> list[EfficiencyTarget]:
    """Return what the arguments name, each once; without any, the jobs that ended since ``since_s``.

    A group stands for those of its jobs whose state files can be read, an attempt for its whole lineage.
    """
    if not arguments:
        ended = (job for job in all_jobs(ctx) if job.ended and last_change_s(job) >= since_s)
        return [EfficiencyTarget(job.ref, job) for job in ended]
    found = (target for argument in arguments for target in _named(ctx, argument))
    return [*{target.id: target for target in found}.values()]


def _named(ctx: Context, argument: str) -> Iterator[EfficiencyTarget]:
    try:
        ref = JobRef.parse(argument)
    except ValueError:
        if argument in ctx.groups.names():
            yield from _members(ctx, argument)
            return
        job, ref = find_job(ctx, argument)
        yield from _attempts(ctx, job, ref)
        return
    if not find_watched(ctx, ref):
        yield EfficiencyTarget(ref, None)
        return
    job, ref = find_job(ctx, argument)
    yield from _attempts(ctx, job, ref)


def _attempts(ctx: Context, job: WatchedJob, ref: JobRef) -> Iterator[EfficiencyTarget]:
    lineage = lineages_of(ctx, [job]).get(job.id)
    for attempt in lineage.attempts if lineage else ():
        found = job if attempt.state_id == job.id else ctx.store.read(ctx.store.path(attempt.state_id))
        if not isinstance(found, Unreadable):  # one may be forgotten
            yield EfficiencyTarget(found.ref, found)
    if lineage is None:
        yield EfficiencyTarget(ref, job)


def _members(ctx: Context, group: str) -> Iterator[EfficiencyTarget]:
    for member in ctx.groups.load(group).members.values():
        job = ctx.store.read(ctx.store.path(member.state_id)) if member.state_id else None
        if job is not None and not isinstance(job, Unreadable):
            yield from _attempts(ctx, job, job.ref)
