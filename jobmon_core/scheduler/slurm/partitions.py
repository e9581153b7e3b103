"""Ask Slurm once what the nodes of all partitions have, and read the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.before.pending.partitions import EqualNodes, PartitionUse, partition_uses
from jobmon_core.domain.slurm.rows import Unreachable
from jobmon_core.scheduler.slurm import commands, values
from jobmon_core.scheduler.slurm.commands import SEP, SINFO_FIELDS
from jobmon_core.scheduler.slurm.site_records import gpus_of
from jobmon_core.system.runner import succeeded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.system.runner import Runner

_TIMEOUT_S = 10.0  # a page waits for it
_CPU_COUNTS = 4  # allocated, idle, other, total


def ask_partitions(runner: Runner) -> tuple[PartitionUse, ...] | Unreachable:
    """What the partitions of this cluster that the user may see have, and have free."""
    answer = runner.capture(commands.partitions(""), _TIMEOUT_S)
    if succeeded(answer):
        return partition_uses(read_equal_nodes(answer.stdout))
    return Unreachable(answer.error_text)


def read_equal_nodes(text: str) -> Iterator[EqualNodes]:
    """Parse rows of sinfo; invalid ones are skipped."""
    for line in text.split("\n"):
        cells = line.split(SEP)
        if len(cells) < len(SINFO_FIELDS):
            continue
        given = dict(zip(SINFO_FIELDS, map(str.strip, cells), strict=False))
        counts = [values.number(each) for each in given["CPUsState"].split("/")]
        nodes = values.number(given["Nodes"])
        if nodes is None or len(counts) != _CPU_COUNTS:
            continue
        name = given["Partition"]
        yield EqualNodes(
            name.removesuffix("*"),
            name.endswith("*"),
            given["Available"],
            given["StateLong"],
            nodes,
            counts[3] or 0,
            counts[1] or 0,
            gpus_of(given["Gres"]),
            gpus_of(given["GresUsed"]),
        )
