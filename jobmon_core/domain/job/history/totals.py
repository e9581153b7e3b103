"""Which ended runs a question is about, and what they took or cost together."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from jobmon_core.domain.job.history.record import cost_per_unit
from jobmon_core.domain.slurm.rows import node_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from jobmon_core.domain.job.history.record import HistoryRecord

TIMES = ("day", "week", "month")
_FILTERS = ("name", "group", "state", "cause", "node")  # fields of `Wanted` that users choose
BY = ("name", *TIMES, "cause", "node", "group", "state")
# by which runs and totals can be sorted, and the column of the index
SORTS = {
    "ended": "ended_s",
    "wait": "wait_s",
    "time": "run_s",
    "gpu-hours": "gpu_hours",
    "cpu-hours": "cpu_hours",
    "cost": "currency DESC, cost",
}
_HOURS = ("gpu_hours", "cpu_hours", "lost_gpu_hours", "lost_cpu_hours", "idle_gpu_hours")
_COUNTS = ("runs", "successes", "failures", "priced")


class Wanted(NamedTuple):
    """Which runs: those to which all of this applies. Names may hold ``*`` and ``?``."""

    since_s: float | None = None  # ended at or after this (Unix seconds)
    until_s: float | None = None  # ended before this
    name: str = ""  # of the job, or of its run in a group
    group: str = ""
    state: str = ""  # a `JobState`, an `Outcome`, or "doubtful"
    cause: str = ""
    node: str = ""
    script: str = ""  # the digest of its text
    outcome: str = ""  # see `Outcome`
    lineage: str = ""  # its id
    job_id: int | None = None
    task: str = ""  # see `JobRef.key`; empty: any

    @classmethod
    def chosen(cls, since_s: float | None, filters: Mapping[str, Any]) -> Wanted:
        """Return the runs that a user's filters leave."""
        return cls(since_s, **{name: filters[name] for name in _FILTERS if filters.get(name)})


class RunTotals(NamedTuple):
    """What some runs took together. Hours are those for which resources were allocated.

    Costs are those of the priced runs, and in one currency. A run without a price counts with the others.
    """

    label: str
    runs: int
    successes: int
    failures: int
    gpu_hours: float
    cpu_hours: float
    lost_gpu_hours: float  # of runs that did not succeed
    lost_cpu_hours: float
    idle_gpu_hours: float  # as agents measured it
    wait_s: float | None  # mean
    run_s: float | None  # mean
    last_s: float | None  # when the last of them ended
    cost: float | None
    currency: str
    priced: int = 0  # runs with a price

    def sort_key(self, sort: str) -> float:
        """Return the figure for one of `SORTS`."""
        figures = {**self._asdict(), "ended_s": self.last_s}
        return float(figures[SORTS[sort].rpartition(" ")[2]] or 0.0)


def by_node(rows: Iterable[RunTotals]) -> list[RunTotals]:
    """Return totals by node, given those by list of nodes: a run counts on each, its hours in equal parts."""
    found: dict[tuple[str, str], list[RunTotals]] = {}
    for row in rows:
        names = node_names(row.label) or ("",)
        hours: dict[str, Any] = {each: getattr(row, each) / len(names) for each in _HOURS}
        for name in names:
            cost = None if row.cost is None else row.cost / len(names)
            found.setdefault((name, row.currency), []).append(row._replace(label=name, cost=cost, **hours))
    return [together(each) for each in found.values()]


def together(rows: Sequence[RunTotals]) -> RunTotals:
    """Return what all these runs took, with the label and the currency of the first row."""
    runs = sum(row.runs for row in rows)
    sums: dict[str, Any] = {name: sum(getattr(row, name) for row in rows) for name in (*_COUNTS, *_HOURS)}
    means: dict[str, Any] = {
        name: sum((getattr(row, name) or 0.0) * row.runs for row in rows) / runs
        for name in ("wait_s", "run_s")
    }
    costs = [row.cost for row in rows if row.cost is not None]
    last_s = max(row.last_s or 0 for row in rows)
    return rows[0]._replace(**sums, **means, last_s=last_s, cost=sum(costs) if costs else None)


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
