"""What the nodes of each partition have, and how much of it is free."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.before.pending.capacity import is_usable, state_text
from jobmon_core.domain.before.pending.model import Node

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_POWER_SIGNS = "~#!%$@^-+"  # which Slurm appends to a state; a star is read by `state_text`


class EqualNodes(NamedTuple):
    """Nodes of a partition that are alike and in one state; CPUs are of all, GPUs (by type) of each."""

    partition: str
    is_default: bool
    availability: str  # up, down, drain, inact
    state: str
    nodes: int
    cpus: int
    free_cpus: int
    gpus: Mapping[str, int]
    used_gpus: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PartitionUse:
    """A partition that the user may see. GPUs are by type, which may be empty."""

    name: str
    is_default: bool = False
    availability: str = "up"
    nodes: Counter[str] = field(default_factory=Counter)  # how many are in a state
    cpus: int = 0
    free_cpus: int = 0
    gpus: Counter[str] = field(default_factory=Counter)
    free_gpus: Counter[str] = field(default_factory=Counter)  # on nodes that take jobs

    @property
    def total_nodes(self) -> int:
        """All of its nodes."""
        return self.nodes.total()

    @property
    def idle_nodes(self) -> int:
        """Those on which no job runs, and which take jobs."""
        return self.nodes["idle"]


def partition_uses(rows: Iterable[EqualNodes]) -> tuple[PartitionUse, ...]:
    """Add up the nodes of each partition, in the order of their first rows."""
    found: dict[str, PartitionUse] = {}
    for row in rows:
        before = found.get(row.partition) or PartitionUse(row.partition, row.is_default, row.availability)
        free = Counter[str]()
        if is_usable(Node("", row.state.upper())):
            free.update({kind: row.nodes * (n - row.used_gpus.get(kind, 0)) for kind, n in row.gpus.items()})
        found[row.partition] = PartitionUse(
            row.partition,
            row.is_default,
            row.availability,
            before.nodes + Counter({_word(row.state): row.nodes}),
            before.cpus + row.cpus,
            before.free_cpus + row.free_cpus,
            before.gpus + Counter({kind: row.nodes * n for kind, n in row.gpus.items()}),
            before.free_gpus + free,
        )
    return tuple(found.values())


def _word(state: str) -> str:
    return state_text(state.upper().rstrip(_POWER_SIGNS))
