"""Which nodes kill runs or slow them down: each against the user's other nodes.

The chance that a good node shows its record is that of so many failures among its runs, at the rate of all
other nodes, times the number of nodes. Only causes count that a node can have: errors of the user's own
program would be a fifth of all runs, and three of three on one node nothing special.

A run is slow if it takes over 1.2 times the seconds per unit of the five runs of its name that ended nearest
to it on other nodes, if these agree. So a change of the program slows no node down, and neither does a day on
which the file system is slow: slow runs must be of three days.
"""

from __future__ import annotations

from math import comb
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.humanize import number
from jobmon_core.domain.job.history.baseline import agree
from jobmon_core.domain.slurm.rows import node_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from jobmon_core.domain.job.history.record import HistoryRecord

DAY_S = 86_400.0
WINDOW_S = 14 * DAY_S  # older runs say nothing about a node today
_FORGIVEN_AFTER = 2  # good runs on a node since its last failure
_LEAST_FAILURES = 2
# of a good node; 0.002 accused one in 0.7 % of months with a look each day, this one in none of 1,000
_MAX_CHANCE = 0.0003
_MAX_SHARE = 0.1  # of the nodes seen that may be suspect at once
SLOW = 1.2  # times the usual seconds per unit
_LEAST_SLOW, _LEAST_SLOW_DAYS = 4, 3  # slow runs on a node, and the days on which they ended
_COMPARED, _NEAR = 5, 25  # runs nearest in time, of so many before and after
_NODE_STATES = ("NODE_FAIL", "BOOT_FAIL", "LAUNCH_FAILED")
# ids of causes, or their beginnings
NODE_CAUSES = (
    "node_fail",
    "gpu_hardware",
    "cuda_driver_mismatch.not_ready",
    "network_error",
    "file_not_found.stale_handle",
    "permission_denied.read_only",
    "slurm_launch",
)


class SuspectNode(NamedTuple):
    """A node on which runs die, or are slow, for which other nodes are not known."""

    node: str
    failures: int  # runs that died, or were slow
    runs: int
    failures_elsewhere: int
    runs_elsewhere: int
    chance: float  # that a good node among those seen shows this
    slowdown: float = 0.0  # how many times the usual seconds per unit its runs take; 0: it kills them

    @property
    def sentence(self) -> str:
        """What is known about it."""
        here = f"{self.failures} of {self.runs} runs died on {self.node}"
        if self.slowdown:
            times = f"{number(self.slowdown)} times the usual time per unit"
            here = f"{self.failures} of {self.runs} runs were slow on {self.node} ({times})"
        elsewhere = f"{self.failures_elsewhere} of {self.runs_elsewhere} elsewhere"
        return f"{here}, {elsewhere} (chance {_percent(self.chance)})"

    @property
    def advice(self) -> str:
        """What to do about it."""
        return f"Avoid it with `{self.option}`, and tell your administrators."

    @property
    def option(self) -> str:
        """The option of sbatch that avoids it."""
        return f"--exclude={self.node}"


def _percent(chance: float) -> str:
    return "below 0.01%" if chance < 1e-4 else f"{100 * chance:.2g}%"  # noqa: PLR2004 - it would read 0.00..1


def is_node_failure(run: HistoryRecord) -> bool:
    """Whether a run ended by a cause that a node can have."""
    if run.cause.startswith("slurm_preempted"):  # e.g. by the cloud, which ends good nodes
        return False
    return run.state in _NODE_STATES or (run.outcome != "success" and run.cause.startswith(NODE_CAUSES))


def suspect_nodes(runs: Iterable[HistoryRecord], now_s: float) -> list[SuspectNode]:
    """Return the nodes that are probably broken, the most certain first.

    A run on several nodes blames none of them: which one failed is not known. It counts as a good run of each
    if it succeeded.
    """
    by_node: dict[str, list[bool]] = {}  # whether each run died, the latest last
    for run in sorted(runs, key=lambda each: each.ended_s or 0):
        names = node_names(run.nodes)
        has_died = is_node_failure(run)
        if run.ended_s is not None and run.ended_s >= now_s - WINDOW_S and (len(names) == 1 or not has_died):
            for name in names:
                by_node.setdefault(name, []).append(has_died)
    return _standing_out(by_node, _LEAST_FAILURES)


def nodes_to_avoid(runs: Sequence[HistoryRecord], now_s: float) -> list[SuspectNode]:
    """Return `suspect_nodes`, then `slow_nodes`."""
    return [*suspect_nodes(runs, now_s), *slow_nodes(runs, now_s)]


def blamed_node(run: HistoryRecord, earlier: Iterable[HistoryRecord]) -> list[SuspectNode]:
    """Return what speaks against the only node of a run when it ended: it kills runs, or it is slow."""
    until_s = run.ended_s or 0
    runs = [each for each in earlier if each.key != run.key and (each.ended_s or 0) <= until_s] + [run]
    suspects = suspect_nodes(runs, until_s) if is_node_failure(run) else []
    return [each for each in (*suspects, *slow_nodes(runs, until_s)) if each.node == run.nodes]


def slow_nodes(runs: Iterable[HistoryRecord], now_s: float) -> list[SuspectNode]:
    """Return the nodes on which runs are probably slower, the most certain first, by runs on one node.

    Of the tasks of an array on a node, the last counts: they differ less than jobs do.
    """
    by_node: dict[str, list[tuple[HistoryRecord, float]]] = {}
    for alike in _by_name(runs, now_s - WINDOW_S):
        for run, slowdown in _slowdowns(alike):
            by_node.setdefault(run.nodes, []).append((run, slowdown))
    was_slow = {name: [each > SLOW for _, each in rows] for name, rows in by_node.items()}
    suspects = _standing_out(was_slow, _LEAST_SLOW)
    usual = {each.node: median(slowdown for _, slowdown in by_node[each.node]) for each in suspects}
    return [
        each._replace(slowdown=usual[each.node])
        for each in suspects
        if usual[each.node] > SLOW and _slow_days(by_node[each.node]) >= _LEAST_SLOW_DAYS
    ]


def _by_name(runs: Iterable[HistoryRecord], since_s: float) -> Iterator[list[HistoryRecord]]:
    """Yield the runs on one node that can be compared with each other, the latest last."""
    found: dict[tuple[object, ...], dict[tuple[str, int], HistoryRecord]] = {}
    for run in sorted(runs, key=lambda each: each.ended_s or 0):
        is_known = run.step_s and run.unit and len(node_names(run.nodes)) == 1
        if is_known and (run.ended_s or 0) >= since_s:
            like = found.setdefault((run.name, run.unit, run.gpu, run.gpus, run.cpus), {})
            like.pop((run.nodes, run.job_id), None)  # to the end
            like[run.nodes, run.job_id] = run
    yield from ([*each.values()] for each in found.values())


def _slow_days(runs: Iterable[tuple[HistoryRecord, float]]) -> int:
    return len({(run.ended_s or 0) // DAY_S for run, slowdown in runs if slowdown > SLOW})


def _slowdowns(alike: Sequence[HistoryRecord]) -> Iterator[tuple[HistoryRecord, float]]:
    """Yield how many times the seconds per unit of others, nearest in time, each run took."""
    for place, run in enumerate(alike):
        near = [each for each in alike[max(0, place - _NEAR) : place + _NEAR] if each.nodes != run.nodes]
        near.sort(key=lambda each: abs((each.ended_s or 0) - (run.ended_s or 0)))
        others = [each.step_s or 0.0 for each in near[:_COMPARED]]
        if len(others) == _COMPARED and agree(others):
            yield run, (run.step_s or 0.0) / median(others)


def _standing_out(by_node: Mapping[str, Sequence[bool]], least: int) -> list[SuspectNode]:
    """Return the nodes that stand out, the most certain first, given whether each run there failed."""
    total, bad = sum(map(len, by_node.values())), sum(map(sum, by_node.values()))
    found = [
        _suspect(name, failed, total, bad, len(by_node))
        for name, failed in by_node.items()
        if sum(failed) >= least and any(failed[-_FORGIVEN_AFTER:])
    ]
    suspects = sorted((each for each in found if each.chance < _MAX_CHANCE), key=lambda each: each.chance)
    return suspects[: max(1, int(len(by_node) * _MAX_SHARE))]


def _suspect(node: str, failed: Sequence[bool], runs: int, all_failures: int, nodes: int) -> SuspectNode:
    failures = sum(failed)
    runs_elsewhere, failures_elsewhere = runs - len(failed), all_failures - failures
    # one failure more than was seen elsewhere: that none was seen does not mean that none occurs
    rate = (failures_elsewhere + 1) / (runs_elsewhere + 2)
    chance = min(1.0, nodes * at_least(failures, len(failed), rate))
    return SuspectNode(node, failures, len(failed), failures_elsewhere, runs_elsewhere, chance)


def at_least(failures: int, runs: int, rate: float) -> float:
    """Return the chance of so many failures or more among runs that each fail at a rate."""
    terms = (comb(runs, k) * rate**k * (1 - rate) ** (runs - k) for k in range(failures, runs + 1))
    return min(1.0, sum(terms))
