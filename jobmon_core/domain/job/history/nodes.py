"""Which nodes kill runs: each against the user's other nodes, and only by causes that a node can have.

The chance that a good node shows its record is that of so many failures among its runs, at the rate of all
other nodes, times the number of nodes. Errors of the user's own program do not count: they would be a fifth
of all runs, and three of three on one node nothing special.
"""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.job.history.totals import names_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobmon_core.domain.job.history.record import HistoryRecord

DAY_S = 86_400.0
WINDOW_S = 14 * DAY_S  # older runs say nothing about a node today
_FORGIVEN_AFTER = 2  # good runs on a node since its last failure
_LEAST_FAILURES = 2
# of a good node; 0.002 accused one in 0.7 % of months with a look each day, this one in none of 1,000
_MAX_CHANCE = 0.0003
_MAX_SHARE = 0.1  # of the nodes seen that may be suspect at once
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
    """A node on which runs die for which other nodes are not known."""

    node: str
    failures: int
    runs: int
    failures_elsewhere: int
    runs_elsewhere: int
    chance: float  # that a good node among those seen shows this

    @property
    def sentence(self) -> str:
        """What is known about it."""
        here = f"{self.failures} of {self.runs} runs died on {self.node}"
        elsewhere = f"{self.failures_elsewhere} of {self.runs_elsewhere} elsewhere"
        return f"{here}, {elsewhere} (chance {_percent(self.chance)})"

    @property
    def option(self) -> str:
        """The option of sbatch that avoids it."""
        return f"--exclude={self.node}"


def _percent(chance: float) -> str:
    return "below 0.01%" if chance < 1e-4 else f"{100 * chance:.2g}%"  # noqa: PLR2004 - it would read 0.00..1


def is_node_failure(run: HistoryRecord) -> bool:
    """Whether a run ended by a cause that a node can have."""
    return run.state in _NODE_STATES or (run.outcome != "success" and run.cause.startswith(NODE_CAUSES))


def suspect_nodes(runs: Iterable[HistoryRecord], now_s: float) -> list[SuspectNode]:
    """Return the nodes that are probably broken, the most certain first.

    A run on several nodes blames none of them: which one failed is not known. It counts as a good run of each
    if it succeeded.
    """
    by_node: dict[str, list[bool]] = {}  # whether each run died, the latest last
    for run in sorted(runs, key=lambda each: each.ended_s or 0):
        names = names_of(run.nodes)
        has_died = is_node_failure(run)
        if run.ended_s is not None and run.ended_s >= now_s - WINDOW_S and (len(names) == 1 or not has_died):
            for name in names:
                by_node.setdefault(name, []).append(has_died)
    total, bad = sum(map(len, by_node.values())), sum(map(sum, by_node.values()))
    found = [_suspect(name, died, total, bad, len(by_node)) for name, died in by_node.items()]
    suspects = sorted((each for each in found if each.chance < _MAX_CHANCE), key=lambda each: each.chance)
    return suspects[: max(1, int(len(by_node) * _MAX_SHARE))]


def _suspect(node: str, died: Sequence[bool], runs: int, all_failures: int, nodes: int) -> SuspectNode:
    failures = sum(died)
    runs_elsewhere, failures_elsewhere = runs - len(died), all_failures - failures
    is_forgiven = len(died) >= _FORGIVEN_AFTER and not any(died[-_FORGIVEN_AFTER:])
    # one failure more than was seen elsewhere: that none was seen does not mean that none occurs
    rate = (failures_elsewhere + 1) / (runs_elsewhere + 2)
    chance = 1.0
    if failures >= _LEAST_FAILURES and not is_forgiven:
        chance = min(1.0, nodes * at_least(failures, len(died), rate))
    return SuspectNode(node, failures, len(died), failures_elsewhere, runs_elsewhere, chance)


def at_least(failures: int, runs: int, rate: float) -> float:
    """Return the chance of so many failures or more among runs that each fail at a rate."""
    terms = (comb(runs, k) * rate**k * (1 - rate) ** (runs - k) for k in range(failures, runs + 1))
    return min(1.0, sum(terms))
