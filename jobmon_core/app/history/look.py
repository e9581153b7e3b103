"""Look at ended runs: one by one, in totals, on one page, or one among those like it.

All that reads the history raises StorageFailed if that is not possible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.analysis.usual import run_so_far, with_wait
from jobmon_core.app.jobs.find import find_job
from jobmon_core.domain.errors import StateUnreadable, UnknownJob
from jobmon_core.domain.finding import Finding, Severity
from jobmon_core.domain.job.history.baseline import unusual
from jobmon_core.domain.job.history.nodes import WINDOW_S, blamed_node, nodes_to_avoid
from jobmon_core.domain.job.history.record import NAMES_OF_SBATCH
from jobmon_core.domain.job.history.totals import SORTS, TIMES, RunTotals, Wanted, lineage_cost
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.states import Outcome, Phase
from jobmon_core.store.history.index import open_history

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.job.history.nodes import SuspectNode
    from jobmon_core.domain.job.history.prices import BudgetState
    from jobmon_core.domain.job.history.record import HistoryRecord
    from jobmon_core.domain.job.history.totals import LineageCost
    from jobmon_core.store.history.index import History

MAX_RUNS = 10_000  # the latest, which charts of single runs are about
MAX_LISTED = 1_000  # runs on the page
_MAX_WEEKS = 60  # of more, months are shown
_MAX_ALIKE = 10  # earlier runs that one is compared with
_MAX_LIKE = 500  # that a submission is compared with: arrays have many


class Past(NamedTuple):
    """Some of the runs that were wanted, and what all of them took."""

    runs: list[HistoryRecord]  # the highest by one of `SORTS` first
    totals: list[RunTotals]  # by currency
    damaged: int  # lines that cannot be read
    by: str = ""  # one of `BY`
    rows: list[RunTotals] = []  # noqa: RUF012 - by that; of a named tuple, never changed


class Among(NamedTuple):
    """A run, and earlier runs like it, the last ended first."""

    run: HistoryRecord
    alike: list[HistoryRecord]
    unusual: list[Finding]  # in what it stands out among them
    cost: LineageCost | None = None  # of all its attempts and requeued runs, if there are several


class Overview(NamedTuple):
    """What the page of the history shows; making it reads nothing else."""

    now_s: float
    wanted: Wanted
    past: Past  # the runs that are listed, and what all took
    runs: Sequence[HistoryRecord]  # the latest, the last ended first
    period: str  # one of `TIMES`
    over_time: dict[str, list[RunTotals]]  # by period, for each `Outcome`
    causes: dict[str, list[RunTotals]]  # by cause, likewise


def past_runs(ctx: Context, wanted: Wanted, sort: str, limit: int, by: str = "") -> Past:
    """Return the wanted runs, at most ``limit`` unless negative, and what they took, also by one of `BY`.

    The highest by one of `SORTS` are the first, but for times, which are in their order.
    """
    with open_history(ctx.home.history) as history:
        return _past(history, wanted, sort, limit, by)


def _past(history: History, wanted: Wanted, sort: str, limit: int, by: str) -> Past:
    rows = history.totals(wanted, by) if by else []
    rows.sort(key=lambda row: row.sort_key(sort), reverse=True)
    if by in TIMES:
        rows.sort(key=lambda row: row.label)
    runs = history.records(wanted, limit, SORTS[sort])
    return Past(runs, history.totals(wanted), history.damaged, by, rows)


def overview(ctx: Context, wanted: Wanted, by: str, sort: str, limit: int) -> Overview:
    """Return what the page of the history shows of the wanted runs; see `past_runs`."""
    listed = min(limit, MAX_LISTED) if limit >= 0 else MAX_LISTED
    with open_history(ctx.home.history) as history:
        past = _past(history, wanted, sort, listed, by)
        period, over_time = _over_time(history, wanted, by)
        causes = _by_outcome(history, wanted, "cause")
        runs = history.records(wanted, MAX_RUNS)
        return Overview(ctx.clock.now(), wanted, past, runs, period, over_time, causes)


def _over_time(history: History, wanted: Wanted, by: str) -> tuple[str, dict[str, list[RunTotals]]]:
    period = by if by in TIMES else "week"
    found = _by_outcome(history, wanted, period)
    if period != by and len({row.label for rows in found.values() for row in rows}) > _MAX_WEEKS:
        return "month", _by_outcome(history, wanted, "month")
    return period, found


def _by_outcome(history: History, wanted: Wanted, by: str) -> dict[str, list[RunTotals]]:
    return {str(each): history.totals(wanted._replace(outcome=str(each)), by) for each in Outcome}


def run_among(ctx: Context, argument: str) -> Among:
    """Return the latest run of a job, as far as it has come, and earlier runs of its name or script.

    Raises:
        UnknownJob: the history has no such run.
    """
    with open_history(ctx.home.history) as history:
        run = _running(ctx, argument) or _run(ctx, history, argument)
        earlier = runs_like(history, run.label, run.script, run.ended_s)
        parts = _runs_of_work(history, run)
        around = history.records(Wanted(since_s=(run.ended_s or 0) - WINDOW_S, until_s=run.ended_s))
    found: list[Finding] = []
    if run.ended_s is not None:  # until then, its monitor judges what can be judged
        of_name = [each for each in earlier if each.label == run.label]
        found = [*unusual(run, of_name, argument), *map(_blamed, blamed_node(run, around))]
    return Among(run, earlier, found, lineage_cost(parts))


def runs_like(
    history: History, name: str, script: str, until_s: float | None, limit: int = _MAX_ALIKE
) -> list[HistoryRecord]:
    """Return runs of a name, or of a script with this digest, that ended before then, the last first.

    The names that sbatch gives to commands say nothing.
    """
    before = Wanted(until_s=until_s)
    found = []
    if name not in NAMES_OF_SBATCH:
        found = history.records(before._replace(name=literal(name)), limit)
    if script and len(found) < limit:
        found += history.records(before._replace(script=script), limit)
    return sorted({run.key: run for run in found}.values(), key=lambda run: -(run.ended_s or 0))[:limit]


def _runs_of_work(history: History, run: HistoryRecord) -> list[HistoryRecord]:
    """Return the attempts of its lineage, else its runs before requeues and itself, the earliest first."""
    if run.lineage:
        found = history.records(Wanted(lineage=run.lineage))
    else:
        found = history.records(Wanted(job_id=run.job_id, task=run.task))
        found = [each for each in found if each.state_id == run.state_id]
    return sorted(found, key=lambda each: (each.attempt, each.submit_s))


def _blamed(suspect: SuspectNode) -> Finding:
    name = "slow_node" if suspect.slowdown else "suspect_node"
    return Finding(Severity.WARNING, suspect.sentence, suspect.advice, id=name)


def history_budgets(ctx: Context) -> list[BudgetState]:
    """Return how much of each budget is spent; accounting is asked about the running jobs.

    Raises:
        ConfigInvalid: the configuration is not valid.
    """
    from jobmon_core.monitor.budgets import budget_states  # few users have budgets

    config = ctx.configuration()
    return budget_states(ctx, config.budgets, config.prices)


def nodes_seen(ctx: Context, period_s: float) -> tuple[list[RunTotals], list[SuspectNode]]:
    """Return what runs of the last ``period_s`` seconds took on each node, and the nodes to avoid."""
    now_s = ctx.clock.now()
    with open_history(ctx.home.history) as history:
        rows = history.totals(Wanted(since_s=now_s - period_s), "node")
        recent = history.records(Wanted(since_s=now_s - WINDOW_S))
    known = sorted((row for row in rows if row.label), key=lambda row: row.runs, reverse=True)
    return known, nodes_to_avoid(recent, now_s)


def experience(ctx: Context, name: str, script: str) -> tuple[list[HistoryRecord], list[SuspectNode]]:
    """Return the runs of a name, or of a script with this digest, and the nodes that are suspect now."""
    now_s = ctx.clock.now()
    with open_history(ctx.home.history) as history:
        alike = runs_like(history, name, script, None, _MAX_LIKE)
        recent = history.records(Wanted(since_s=now_s - WINDOW_S))
    return alike, nodes_to_avoid(recent, now_s)


def _running(ctx: Context, argument: str) -> HistoryRecord | None:
    try:
        job, ref = find_job(ctx, argument)
    except (UnknownJob, StateUnreadable):
        return None
    tasks = [
        task
        for task in job.tasks.values()
        if task.state.phase is Phase.ACTIVE and not task.end and ref.key in ("", task.key)
    ]
    if len(tasks) != 1:
        return None
    followed = ctx.progress_file(job.id).read().tasks.get(tasks[0].key)
    return with_wait(run_so_far(job, tasks[0], followed, ctx.clock.now()), tasks[0])


def literal(name: str) -> str:
    """Return a GLOB for exactly this name."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in name)


def _run(ctx: Context, history: History, argument: str) -> HistoryRecord:
    try:
        ref = JobRef.parse(argument)
    except ValueError:
        if found := history.records(Wanted(name=argument), 1):
            return found[0]
        _, ref = find_job(ctx, argument)
    found = history.records(Wanted(job_id=ref.job_id, task=ref.key), 1)
    if not found:
        raise UnknownJob(
            f"the history has no run of {argument}: a watched job adds one when it has ended; "
            "`jobmon history backfill` adds those in accounting"
        )
    return found[0]
