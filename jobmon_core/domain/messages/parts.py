"""What messages about a job have in common: the start of the title, and where the job runs."""

from __future__ import annotations

from collections.abc import Iterator

from jobmon_core.domain.delivery.outbox import Field
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.domain.tracking.model import WatchedJob

_MAX_NAME_CHARS = 80  # leaves room in the title for what happened


def job_title(job: WatchedJob, key: str) -> str:
    """Return the start of the title of a message about a task, e.g. ``train (12_3)``."""
    name = job.name if len(job.name) <= _MAX_NAME_CHARS else f"{job.name[: _MAX_NAME_CHARS - 1]}…"
    return f"{name or 'job'} ({ref_of(job.job_id, key)})"


def where_fields(job: WatchedJob, nodes: str = "") -> Iterator[Field]:
    """Yield one field with nodes, partition and cluster, as far as they are known; nothing if none is."""
    parts = (nodes, job.partition and f"partition {job.partition}", job.cluster and f"cluster {job.cluster}")
    if where := ", ".join(filter(None, parts)):
        yield Field("Where", where)
