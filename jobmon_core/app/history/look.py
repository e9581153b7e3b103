"""Look at ended runs: one by one, in totals, on one page, or one among those like it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.analysis.usual import run_so_far, with_wait
from jobmon_core.app.jobs.find import find_job
from jobmon_core.domain.errors import StateUnreadable, UnknownJob
from jobmon_core.domain.finding import Finding, Severity
from jobmon_core.domain.job.history.baseline import unusual
from jobmon_core.domain.job.history.lineage_cost import lineage_cost
from jobmon_core.domain.job.history.nodes import WINDOW_S, blamed_node, slow_nodes, suspect_nodes
from jobmon_core.domain.job.history.record import NAMES_OF_SBATCH
from jobmon_core.domain.job.history.totals import SORTS, TIMES, RunTotals, Wanted
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.states import Outcome, Phase
from jobmon_core.store.history.index import open_history

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.job.history.budgets import BudgetState
    from jobmon_core.domain.job.history.lineage_cost import LineageCost
    from jobmon_core.domain.job.history.nodes import SuspectNode
    from jobmon_core.domain.job.history.record import HistoryRecord
    from jobmon_core.store.history.index import History

MAX_RUNS = 10_000  # the latest, which charts of single runs are about
MAX_LISTED = 1_000  # runs on the page
_MAX_WEEKS = 60  # of more, months are shown
MAX_ALIKE = 10  # earlier runs that one is compared with
_MAX_LIKE = 500  # that a submission is compared with: arrays have many


class Past(NamedTuple):
    """Runs, the last ended first, and what all that were wanted took."""

    runs: list[HistoryRecord]
    totals: list[RunTotals]  # by currency
    damaged: int  # lines that cannot be read


class Among(NamedTuple):
    """A run, and earlier runs like it, the last ended first."""

    run: HistoryRecord
    alike: list[HistoryRecord]
    unusual: list[Finding]  # in what it stands out among them
    cost: LineageCost | None = None  # of all its attempts and requeued runs, if there are several


class Nodes(NamedTuple):
    """The nodes on which the user's runs of the last days ran."""

    totals: list[RunTotals]  # by node
    suspects: list[SuspectNode]
    slow: list[SuspectNode]


class Overview(NamedTuple):
    """What the page of the history shows; making it reads nothing else."""

    now_s: float
    wanted: Wanted
    past: Past  # the runs that are listed, and what all took
    runs: Sequence[HistoryRecord]  # the latest, the last ended first
    period: str  # one of `TIMES`
    over_time: dict[str, list[RunTotals]]  # by period, for each `Outcome`
    causes: dict[str, list[RunTotals]]  # by cause, likewise
    by: str = ""  # one of `BY`
    rows: Sequence[RunTotals] = ()  # by that
    this: HistoryRecord | None = None  # marked among the others
    unusual: Sequence[Finding] = ()  # in what it stands out


def past_runs(ctx: Context, wanted: Wanted, sort: str, limit: int) -> Past:
    """Return the wanted runs, at most ``limit`` unless negative, the highest by one of `SORTS` first.

    Raises:
        StorageFailed: the history cannot be read.
    """
    with open_history(ctx.home.history) as history:
        return Past(history.records(wanted, limit, SORTS[sort]), history.totals(wanted), history.damaged)


def past_totals(ctx: Context, wanted: Wanted, by: str, sort: str) -> list[RunTotals]:
    """Return what the wanted runs took by one of `BY`: times in their order, else the highest first.

    Raises:
        StorageFailed: the history cannot be read.
    """
    with open_history(ctx.home.history) as history:
        return sorted_totals(history.totals(wanted, by), by, sort)


def sorted_totals(rows: Iterable[RunTotals], by: str, sort: str) -> list[RunTotals]:
    """Return times in their order, else the highest first."""
    if by in TIMES:
        return sorted(rows, key=lambda row: row.label)
    return sorted(rows, key=lambda row: row.sort_key(sort), reverse=True)


def overview(ctx: Context, wanted: Wanted, by: str, sort: str, limit: int) -> Overview:
    """Return the totals of the wanted runs, also by one of `BY`, and the first ``limit`` by one of `SORTS`.

    Raises:
        StorageFailed: the history cannot be read.
    """
    listed = min(limit, MAX_LISTED) if limit >= 0 else MAX_LISTED
    with open_history(ctx.home.history) as history:
        past = Past(history.records(wanted, listed, SORTS[sort]), history.totals(wanted), history.damaged)
        period, over_time = _over_time(history, wanted, by)
        return Overview(
            ctx.clock.now(),
            wanted,
            past,
            history.records(wanted, MAX_RUNS),
            period,
            over_time,
            _by_outcome(history, wanted, "cause"),
            by,
            sorted_totals(history.totals(wanted, by), by, sort) if by else (),
        )


def _over_time(history: History, wanted: Wanted, by: str) -> tuple[str, dict[str, list[RunTotals]]]:
    period = by if by in TIMES else "week"
    found = _by_outcome(history, wanted, period)
    if period != by and len({row.label for rows in found.values() for row in rows}) > _MAX_WEEKS:
        return "month", _by_outcome(history, wanted, "month")
    return period, found


def _by_outcome(history: History, wanted: Wanted, by: str) -> dict[str, list[RunTotals]]:
    return {str(each): history.totals(wanted._replace(outcome=str(each)), by) for each in Outcome}


def run_among(ctx: Context, argument: str) -> Among:
    """Return the latest run of a job, as far as it has come, and the earlier runs of its name.

    Raises:
        UnknownJob: the history has no such run.
        StorageFailed: the history cannot be read.
    """
    with open_history(ctx.home.history) as history:
        run = _running(ctx, argument) or _run(ctx, history, argument)
        alike = history.records(Wanted(until_s=run.ended_s, name=literal(run.label)), MAX_ALIKE)
        parts = _runs_of_work(history, run)
        around = history.records(Wanted(since_s=(run.ended_s or 0) - WINDOW_S, until_s=run.ended_s))
    earlier = [each for each in alike if each.key != run.key]
    found: list[Finding] = []
    if run.ended_s is not None:  # until then, its monitor judges what can be judged
        found = [*unusual(run, earlier, argument), *map(_blamed, blamed_node(run, around))]
    return Among(run, earlier, found, lineage_cost(parts))


def _runs_of_work(history: History, run: HistoryRecord) -> list[HistoryRecord]:
    """Return the attempts of its lineage, else its runs before requeues and itself, the earliest first."""
    if run.lineage:
        found = history.records(Wanted(lineage=run.lineage))
    else:
        found = [each for each in history.of_job(run.job_id, run.task) if each.state_id == run.state_id]
    return sorted(found, key=lambda each: (each.attempt, each.submit_s))


def _blamed(suspect: SuspectNode) -> Finding:
    advice = f"Avoid it with `{suspect.option}`, and tell your administrators."
    name = "slow_node" if suspect.slowdown else "suspect_node"
    return Finding(Severity.WARNING, suspect.sentence, advice, id=name)


def history_budgets(ctx: Context) -> list[BudgetState]:
    """Return how much of each budget is spent; accounting is asked about the running jobs.

    Raises:
        ConfigInvalid: the configuration is not valid.
        StorageFailed: the history cannot be read.
    """
    from jobmon_core.monitor.budgets import budget_states  # few users have budgets

    config = ctx.configuration()
    return budget_states(ctx, config.budgets, config.prices)


def nodes_seen(ctx: Context, period_s: float) -> Nodes:
    """Return what runs of the last ``period_s`` seconds took on each node, and which nodes kill runs.

    Raises:
        StorageFailed: the history cannot be read.
    """
    now_s = ctx.clock.now()
    with open_history(ctx.home.history) as history:
        rows = history.totals(Wanted(since_s=now_s - period_s), "node")
        recent = history.records(Wanted(since_s=now_s - WINDOW_S))
    known = sorted((row for row in rows if row.label), key=lambda row: row.runs, reverse=True)
    return Nodes(known, suspect_nodes(recent, now_s), slow_nodes(recent, now_s))


class Experience(NamedTuple):
    """What the history says about a submission."""

    alike: list[HistoryRecord]  # runs of the same name or script, the last ended first
    suspects: list[SuspectNode]  # nodes that kill runs or slow them down


def experience(ctx: Context, name: str, script: str) -> Experience:
    """Return the runs of a name, or of a script with this digest, and the nodes that are suspect now.

    Raises:
        StorageFailed: the history cannot be read.
    """
    now_s = ctx.clock.now()
    with open_history(ctx.home.history) as history:
        found = history.records(Wanted(script=script), _MAX_LIKE) if script else []
        if name not in NAMES_OF_SBATCH:
            found += history.records(Wanted(name=literal(name)), _MAX_LIKE)
        recent = history.records(Wanted(since_s=now_s - WINDOW_S))
    alike = sorted({run.key: run for run in found}.values(), key=lambda run: -(run.ended_s or 0))
    return Experience(alike, [*suspect_nodes(recent, now_s), *slow_nodes(recent, now_s)])


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
        found = history.records(Wanted(name=argument), 1)
        if not found:
            _, ref = find_job(ctx, argument)
            found = history.of_job(ref.job_id, ref.key)
    else:
        found = history.of_job(ref.job_id, ref.key)
    if not found:
        raise UnknownJob(
            f"the history has no run of {argument}: a watched job adds one when it has ended; "
            "`jobmon history backfill` adds those in accounting"
        )
    return found[0]
