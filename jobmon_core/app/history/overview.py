"""Collect what the page of the history shows: totals over time and by cause, and the latest runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.app.history.look import Past, sorted_totals
from jobmon_core.domain.job.history.totals import SORTS, TIMES
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.store.history.index import open_history

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.finding import Finding
    from jobmon_core.domain.job.history.record import HistoryRecord
    from jobmon_core.domain.job.history.totals import RunTotals, Wanted
    from jobmon_core.store.history.index import History

MAX_RUNS = 10_000  # that charts of single runs are about: the latest
MAX_LISTED = 1_000  # runs
_MAX_WEEKS = 60  # of more, months are shown


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
