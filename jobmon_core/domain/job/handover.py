"""For which other jobs a job waits, by the option ``--dependency``. Source: the man page of sbatch."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.domain.slurm.sbatch_options import read_with_unknown, script_directives

_ITEM = re.compile(r"(after[a-z]*):([0-9_*+:]+)", re.IGNORECASE | re.ASCII)
_CONDITIONS = {
    "after": "has started",
    "afterany": "has ended",
    "aftercorr": "has succeeded, task by task",
    "afternotok": "has failed",
    "afterok": "has succeeded",
}


class Dependency(NamedTuple):
    """One job that another one waits for."""

    job: str  # as in the option, e.g. ``8123`` or ``8123_4``
    condition: str  # what ``job`` must have done before the other one starts, e.g. "has succeeded"


def dependencies(arguments: Sequence[str], script_text: str) -> tuple[Dependency, ...]:
    """Return the jobs that a job waits for, by its command line, else by its ``#SBATCH`` lines."""
    try:
        options: Mapping[str, str] = dict(read_with_unknown(arguments)[0])
    except SchedulerRejected:  # sbatch can read them, jobmon cannot: see `read_with_unknown`
        options = {}
    text = options.get("dependency") or script_directives(script_text).get("dependency", "")
    return parse_dependency(text)


def parse_dependency(text: str) -> tuple[Dependency, ...]:
    """Return the jobs in the value of ``--dependency``; an unknown type counts with its own name."""
    found = []
    for kind, jobs in _ITEM.findall(text):
        condition = _CONDITIONS.get(kind.lower(), f"meets {kind}")
        # after:8123+5 waits five minutes more, while 8123+1 elsewhere is a component of a het job
        names = (job.partition("+")[0] if kind.lower() == "after" else job for job in jobs.split(":"))
        found += [Dependency(job, condition) for job in names if job]
    return tuple(found)
