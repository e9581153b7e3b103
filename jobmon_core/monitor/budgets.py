"""How much of the user's budgets is spent, and the messages about it; only in children and commands."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from jobmon_core.domain.backends import DEFAULT_BACKEND
from jobmon_core.domain.job.history.prices import BudgetState
from jobmon_core.domain.job.history.totals import Wanted
from jobmon_core.domain.messages.budget import budget_message
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.domain.slurm.states import Phase
from jobmon_core.store.history.index import open_history
from jobmon_core.store.jobs import Unreadable
from jobmon_core.store.json_file import JsonFile
from jobmon_core.system.lock import lock

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.job.history.prices import Budget, Prices
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.domain.slurm.rows import JobRow

_MAX_BYTES = 2**20  # of the file that says what was told
_HOUR_S, _DAY_S = 3600.0, 86_400.0
_PERIODS = {"month": ("%Y-%m", 32 * _DAY_S), "week": ("%G-W%V", 8 * _DAY_S)}  # labels as in the history


def tell_budgets(ctx: Context, names: Collection[str]) -> bool:
    """Create a message for each budget of a job that has reached another step; return whether one has.

    Raises:
        ConfigInvalid: the prices are not known.
        StorageFailed: the history cannot be read, or a message not be saved; the next run tells it.
    """
    config, now_s = ctx.configuration(), ctx.clock.now()
    budgets = [budget for budget in config.budgets if budget.is_of(*names)]
    if not budgets or config.prices is None:
        return False
    file = JsonFile(ctx.home.history / "budgets.json", dict[str, int], _MAX_BYTES)
    with lock(file.lock_path):
        told = file.read_to_change()
        spent = _spent(ctx, budgets, config.prices)
        new = [state for state in spent if state.step > told.get(state.key, 0)]
        for state in _with_running(ctx, new, config.prices):
            # First, under an id that follows from the step: it is there only once, too, if this process is
            # killed in between, or if the lock does not hold between hosts.
            ctx.messages.create(budget_message(state, now_s))
        if new:
            file.write({**told, **{state.key: state.step for state in new}})
    return bool(new)


def budget_states(ctx: Context, budgets: Sequence[Budget], prices: Prices | None) -> list[BudgetState]:
    """Return how much of each budget is spent in its current period, and what running jobs may add.

    Accounting is asked about the running jobs.

    Raises:
        StorageFailed: the history cannot be read.
    """
    if not budgets or prices is None:
        return []
    return _with_running(ctx, _spent(ctx, budgets, prices), prices)


def _spent(ctx: Context, budgets: Sequence[Budget], prices: Prices) -> list[BudgetState]:
    found, now_s = [], ctx.clock.now()
    with open_history(ctx.home.history) as history:
        for budget in budgets:
            label, length_s = _PERIODS.get(budget.per, ("", now_s))
            period = time.strftime(label, time.localtime(now_s))
            wanted = Wanted(since_s=now_s - length_s, name=budget.match)
            rows = history.totals(wanted, budget.per if label else "")
            own = [row for row in rows if (row.label, row.currency) == (period, prices.currency)]
            spent, runs = sum(row.cost or 0.0 for row in own), sum(row.priced for row in own)
            found.append(BudgetState(budget, period, prices.currency, spent, runs))
    return found


def _with_running(ctx: Context, states: Sequence[BudgetState], prices: Prices) -> list[BudgetState]:
    running, found = [*_running(ctx, prices)] if states else [], []
    for state in states:
        costs = [cost for job, cost in running if state.budget.is_of(job.name, job.own_settings.run)]
        known = [cost for cost in costs if cost is not None]
        found.append(state._replace(running=sum(known), unpriced=len(costs) - len(known)))
    return found


def _running(ctx: Context, prices: Prices) -> Iterator[tuple[WatchedJob, float | None]]:
    """Yield each running task with the cost of its whole time limit; None if that is not known."""
    jobs = [job for job in ctx.store.all() if not isinstance(job, Unreadable) and not job.closed]
    tasks = [(job, task) for job in jobs for task in job.tasks.values() if _runs(task)]
    by_cluster: dict[str, set[int]] = {}
    for job, _ in tasks:
        if job.backend == DEFAULT_BACKEND:
            by_cluster.setdefault(job.other_cluster, set()).add(job.job_id)
    known = {cluster: _rows(ctx, cluster, [*job_ids]) for cluster, job_ids in by_cluster.items()}
    for job, task in tasks:
        rows = known.get(job.other_cluster, {}) if job.backend == DEFAULT_BACKEND else {}
        yield job, _limit_cost(rows.get(ref_of(job.job_id, task.key)), prices)


def _rows(ctx: Context, cluster: str, job_ids: Sequence[int]) -> dict[JobRef, JobRow]:
    scheduler = ctx.scheduler(DEFAULT_BACKEND, cluster)
    answer = scheduler.ask_accounting(job_ids)
    if not isinstance(answer, str):  # without accounting, no limit is known
        return {}
    return {row.ref: row for job_id in job_ids for row in scheduler.read_accounting(answer, job_id)}


def _runs(task: Task) -> bool:
    return task.state.phase is Phase.ACTIVE and task.end is None


def _limit_cost(row: JobRow | None, prices: Prices) -> float | None:
    if row is None or row.limit_s is None:
        return None
    held = row.usage
    rate = prices.rate(held.gpus or 0, (held.gpu_types,), held.cpus or 0, held.billing)
    return None if rate is None else rate * row.limit_s / _HOUR_S
