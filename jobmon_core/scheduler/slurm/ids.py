"""Job ids in Slurm's answers. Pure and total."""

from __future__ import annotations

import re

from jobmon_core.domain.jobref import IndexSet, JobRef, parse_listed

_ABSURD = re.compile(r"\d{11}")  # no id and no index has so many digits
_MOST_TASKS = 4_000_001  # the highest MaxArraySize: whoever counts through more of them never comes back


def listed(text: str) -> tuple[JobRef, IndexSet | None] | None:
    """Read the id of a row, which may stand for many waiting tasks; None if it is no id."""
    if _ABSURD.search(text):
        return None
    try:
        ref, waiting = parse_listed(text)
    except ValueError:
        return None
    too_many = waiting is not None and (len(waiting) > _MOST_TASKS or _last(waiting) >= _MOST_TASKS)
    return None if too_many else (ref, waiting)


def _last(indices: IndexSet) -> int:
    return max((span[-1] for span in indices.spans), default=0)


def of_array(job_id: int, task: str) -> tuple[JobRef, IndexSet | None]:
    """Read which tasks of the array ``job_id`` a record is about: an index, or an expression of many."""
    found = listed(f"{job_id}_{task}") or listed(f"{job_id}_[{task}]")
    return found or (JobRef(job_id), None)
