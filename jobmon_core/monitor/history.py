"""Add the ended runs of a job to the history; only in a child, since a monitor must stay small."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from jobmon_core.domain.job.history.record import Surroundings, record_of, record_of_row
from jobmon_core.domain.job.tracking.apply_accounting import is_row_of
from jobmon_core.store.history.lines import append

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jobmon_core.context import Context
    from jobmon_core.domain.job.history.prices import Prices
    from jobmon_core.domain.job.history.record import HistoryRecord
    from jobmon_core.domain.job.report.usage import NodeHistory
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.domain.slurm.rows import JobRow
    from jobmon_core.polling.accounting import SharedAccounting
    from jobmon_core.store.telemetry import TaskTelemetry


def write_records(
    ctx: Context, job: WatchedJob, accounting: SharedAccounting, prices: Prices | None = None
) -> bool:
    """Add a line for each ended task, and one for each of its earlier runs that accounting has shown.

    Return whether a budget includes the job.

    Raises:
        ConfigInvalid: it became so just now; the runs were added.
        StorageFailed: nothing was added.
    """
    records = [*_records(ctx, job, prices)]
    if any(task.restarts for task in job.tasks.values()):
        answer = accounting.known(job.job_id, 0.0)
        records += _earlier_runs(ctx, job, answer if isinstance(answer, tuple) else (), prices)
    append(ctx.home.history, records, os.uname().nodename, ctx.clock.now())
    budgets = ctx.configuration().budgets if prices else ()
    return any(budget.is_of(job.name, job.own_settings.run) for budget in budgets)


def _records(ctx: Context, job: WatchedJob, prices: Prices | None) -> Iterator[HistoryRecord]:
    taken = ctx.run_record(job.id).taken()
    around = Surroundings(
        group=job.own_settings.run.partition("/")[0],
        script=taken.script.digest if taken and taken.script else "",
        commit=taken.git.commit if taken and taken.git else "",
        prices=prices,
    )
    progress = ctx.progress_file(job.id).read()
    for key, task in job.tasks.items():
        if task.end is not None:
            nodes = _nodes(ctx.telemetry(job.id, key), task.end.started_s)
            of_task = around._replace(progress=progress.tasks.get(key), nodes=nodes)
            yield record_of(job, task, task.end, of_task, ctx.clock.now())


def _nodes(telemetry: TaskTelemetry, start_s: float | None) -> tuple[NodeHistory, ...]:
    if start_s is None or not telemetry.nodes():
        return ()
    from jobmon_core.analysis.ending.measured_use import node_histories  # slow to load, only after an agent

    return node_histories(telemetry, start_s)


def _earlier_runs(
    ctx: Context, job: WatchedJob, rows: Iterable[JobRow], prices: Prices | None
) -> Iterator[HistoryRecord]:
    """Yield the runs before a requeue, which jobmon saw only in passing."""
    for row in rows:
        task = job.tasks.get(row.ref.key)
        if task and is_row_of(job, row, float("inf")) and _is_earlier(row, task):
            record = record_of_row(row, ctx.clock.now(), prices)
            if record:
                yield record._replace(state_id=job.id, cluster=job.cluster)


def _is_earlier(row: JobRow, task: Task) -> bool:
    return bool(row.submit_s and task.submit_s and row.submit_s < task.submit_s)
