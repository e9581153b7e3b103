"""The limits of the partition that a job asks for, or of the default one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.checks.facts import Partition
from jobmon_core.scheduler.slurm import commands, values
from jobmon_core.scheduler.slurm.site.key_values import records, value
from jobmon_core.system.runner import succeeded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.system.runner import Runner

_TIMEOUT_S = 20.0
_KEY = "PartitionName"


def partition_of(runner: Runner, names: str, cluster: str) -> Partition | None:
    """Return the limits of these partitions (``a,b``), or of the default one; None if not known."""
    answer = runner.capture(
        ["scontrol", *commands.cluster_args(cluster), "-o", "show", "partition"], _TIMEOUT_S
    )
    return read_partition(answer.stdout, names) if succeeded(answer) else None


def read_partition(text: str, names: str) -> Partition | None:
    """Return the limits from the output of scontrol; of several partitions, the widest. Pure."""
    wanted = names.split(",") if names else []
    found = [
        _partition(record)
        for record in records(text, _KEY)
        if (value(record, _KEY) in wanted if wanted else value(record, "Default") == "YES")
    ]
    if not found:
        return None
    up = [each for each in found if each.state == "UP"] or found
    return up[0]._replace(
        name=",".join(each.name for each in found),
        max_time_s=_widest([each.max_time_s for each in up]),
        default_time_s=_widest([each.default_time_s or each.max_time_s for each in up]),
    )


def _widest(limits: Sequence[int | None]) -> int | None:
    return None if None in limits else max(each for each in limits if each is not None)


def _partition(record: str) -> Partition:
    return Partition(
        value(record, _KEY),
        values.limit_s(value(record, "MaxTime")),
        values.limit_s(value(record, "DefaultTime")),
        value(record, "State"),
    )
