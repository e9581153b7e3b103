"""The records of many jobs in accounting: one query for up to 500 jobs of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.backends import DEFAULT_BACKEND
from jobmon_core.domain.slurm.rows import AccountingRow, Disabled, Unreachable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobmon_core.app.efficiency.targets import Target
    from jobmon_core.context import Context
    from jobmon_core.domain.slurm.job_ids import JobRef

_MAX_JOBS_PER_QUERY = 500  # the ids are part of a command line
_DISABLED = "this cluster has no accounting: only what jobmon noted when watched jobs ended is known"
_UNREACHABLE = "accounting did not answer: only what jobmon noted when watched jobs ended is known"

Rows = dict[tuple[str, str], dict["JobRef", AccountingRow]]  # by `Target.id`; the last run of each part


def ask_accounting(ctx: Context, targets: Iterable[Target]) -> tuple[Rows, list[str]]:
    """Return the records of each target of Slurm, and why a cluster gave none."""
    by_cluster: dict[str, list[Target]] = {}
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


def _query(ctx: Context, cluster: str, job_ids: Sequence[int]) -> dict[int, tuple[AccountingRow, ...]] | str:
    """Return the rows of each job, or why there are none."""
    scheduler = ctx.scheduler(DEFAULT_BACKEND, cluster)
    answer = scheduler.ask_accounting(job_ids)
    if isinstance(answer, Disabled):
        return _DISABLED
    if isinstance(answer, Unreachable):
        return f"{_UNREACHABLE} ({answer.why})"
    return {job_id: scheduler.read_accounting(answer.text, job_id) for job_id in job_ids}


def _last_runs(target: Target, rows: Iterable[AccountingRow]) -> dict[JobRef, AccountingRow]:
    """Return the last run of each part of the target; ``rows`` are oldest first."""
    return {
        row.ref: row
        for row in rows
        if target.ref.key in ("", row.ref.key)
        and row.pending_indices is None
        and (target.job is None or target.job.is_own_run(row.submit_s))
    }
