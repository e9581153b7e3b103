"""The limits of the partition that a job asks for, or of the default one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobmon_core.domain.checks.facts import Partition
from jobmon_core.scheduler.slurm import values
from jobmon_core.system.runner import succeeded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.system.runner import Runner

_TIMEOUT_S = 20.0
_NAME = re.compile(r"PartitionName=(\S+)")


def partition_of(runner: Runner, names: str, cluster: str) -> Partition | None:
    """Return the limits of these partitions (``a,b``), or of the default one; None if not known."""
    where = ["-M", cluster] if cluster else ["--local"]
    answer = runner.capture(["scontrol", *where, "-o", "show", "partition"], _TIMEOUT_S)
    return read_partition(answer.stdout, names) if succeeded(answer) else None


def read_partition(text: str, names: str) -> Partition | None:
    """Return the limits from the output of scontrol; of several partitions, the widest. Pure."""
    wanted = names.split(",") if names else []
    found = [
        _partition(line)
        for line in text.splitlines()
        if (name := _NAME.match(line)) and (name[1] in wanted if wanted else "Default=YES" in line.split())
    ]
    if not found:
        return None
    up = [each for each in found if each.state == "UP"] or found
    return up[0]._replace(name=",".join(each.name for each in found), max_time_s=_widest(up))


def _widest(partitions: Sequence[Partition]) -> int | None:
    limits = [each.max_time_s for each in partitions]
    return None if None in limits else max(each for each in limits if each is not None)


def _partition(line: str) -> Partition:
    pairs = dict(word.partition("=")[::2] for word in line.split() if "=" in word)
    return Partition(
        pairs.get("PartitionName", ""),
        values.limit_s(pairs.get("MaxTime", "")),
        values.limit_s(pairs.get("DefaultTime", "")),
        pairs.get("State", ""),
    )
