"""What messages have in common: the start of the title, where the job runs, and lines about several jobs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from jobmon_core.domain.delivery.outbox import Field
from jobmon_core.domain.redaction import redacted
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.domain.tracking.model import WatchedJob

_MAX_NAME_CHARS = 80  # leaves room in the title for what happened
_MAX_CHARS = 2000  # of all lines of a list
_MAX_LINE_CHARS = 200


def job_title(job: WatchedJob, key: str) -> str:
    """Return the start of the title of a message about a task, e.g. ``train (12_3)``."""
    name = job.name if len(job.name) <= _MAX_NAME_CHARS else f"{job.name[: _MAX_NAME_CHARS - 1]}…"
    return f"{name or 'job'} ({ref_of(job.job_id, key)})"


def where_fields(job: WatchedJob, nodes: str = "") -> Iterator[Field]:
    """Yield one field with the nodes, the partition and the cluster, as far as they are known."""
    parts = (nodes, job.partition and f"partition {job.partition}", job.cluster and f"cluster {job.cluster}")
    if where := ", ".join(filter(None, parts)):
        yield Field("Where", where)


def listed(texts: Iterable[str], command: str) -> tuple[str, ...]:
    """Return a line for each text, as many as fit, then how many more the ``command`` shows."""
    lines = [_line(text) for text in texts]
    shown: list[str] = []
    room = _MAX_CHARS
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            return (*shown, f"and {len(lines) - len(shown)} more: {command}")
        shown.append(line)
    return tuple(shown)


def _line(text: str) -> str:
    line = " ".join(redacted(text).split())  # secrets are hidden first: half of one would not be recognised
    return line if len(line) <= _MAX_LINE_CHARS else f"{line[: _MAX_LINE_CHARS - 1]}…"
