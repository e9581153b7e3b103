"""What one piece of work cost over all of its runs, and how much of that was of no use."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.job.history.record import cost_per_unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.domain.job.history.record import HistoryRecord


class LineageCost(NamedTuple):
    """The cost of all runs of one piece of work. What was lost may be in several of its figures."""

    runs: int
    currency: str
    cost: float
    unsuccessful: float  # of runs that did not succeed
    repeated: float  # for work that a later run did again
    idle: float  # of GPUs while they were idle
    unit: str
    per_unit: float | None  # by the units that all of them did together


def lineage_cost(runs: Sequence[HistoryRecord]) -> LineageCost | None:
    """Return what several runs cost, the earliest first; None if one has no price, or another currency."""
    costs = {run.key: run.cost for run in runs if run.cost is not None}
    if len(costs) < 2 or len(costs) < len(runs) or len({run.currency for run in runs}) > 1:  # noqa: PLR2004 - several
        return None
    unit, cost = max(run.unit for run in runs), sum(costs.values())
    return LineageCost(
        len(runs),
        runs[0].currency,
        cost,
        sum(costs[run.key] for run in runs if run.outcome != "success"),
        sum(costs[run.key] * _repeated_share(run, later) for run, later in pairwise(runs)),
        sum(costs[run.key] * run.idle_share for run in runs),
        unit,
        cost_per_unit(cost, _done(runs, unit), unit),
    )


def _repeated_share(run: HistoryRecord, later: HistoryRecord) -> float:
    """Return how much of its work the run after it did again, 0 to 1; 0 if that is not known."""
    if not run.own_done or run.done is None or later.began is None or run.unit != later.unit:
        return 0.0
    return min(1.0, max(0.0, run.done - later.began) / run.own_done)


def _done(runs: Sequence[HistoryRecord], unit: str) -> float | None:
    """Return the units that runs did, without those done again; None if that is not known."""
    counted = [run for run in runs if run.done is not None]
    if not counted or counted[0].began is None or any(run.unit != unit for run in counted):
        return None
    return max(run.done or 0.0 for run in counted) - counted[0].began
