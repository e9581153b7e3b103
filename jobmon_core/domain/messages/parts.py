"""What messages about a job share: how they are queued, the start of a title, and where the job runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from shlex import quote

from jobmon_core.domain.backends import PBS, is_ray, url_of, uses_slurm
from jobmon_core.domain.delivery.outbox import Field, Message, OutboxEntry
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.slurm.job_ids import pbs_id, ref_of

_OF_SLURM = "`scancel JOBID`"  # in an advice
_MAX_NAME_CHARS = 80  # leaves room in the title for what happened


def with_message(job: WatchedJob, message: Message, subject: str = "") -> WatchedJob:
    """Return the job with a message queued; a ``subject`` is noted, so that it is queued once."""
    alerted = job.alerted
    if subject:
        alerted = (*job.alerted, subject)
    return replace(job, alerted=alerted, outbox=(*job.outbox, OutboxEntry(message)))


def job_title(job: WatchedJob, key: str) -> str:
    """Return the start of the title of a message about a task, e.g. ``train (12_3)``."""
    name = job.label if len(job.label) <= _MAX_NAME_CHARS else f"{job.label[: _MAX_NAME_CHARS - 1]}…"
    return f"{name or 'job'} ({ref_of(job.job_id, key)})"


def where_fields(job: WatchedJob, nodes: str = "") -> Iterator[Field]:
    """Yield one field with nodes, partition and cluster, as far as they are known."""
    parts = (nodes, job.partition and f"partition {job.partition}", job.cluster and f"cluster {job.cluster}")
    if where := ", ".join(filter(None, parts)):
        yield Field("Where", where)


def with_own_cancel_command(advice: str, job: WatchedJob) -> str:
    """Return an advice that names Slurm's command to end a job, with the command that ends this one.

    With the local number of a job without Slurm, or on another cluster, Slurm's would end another job.
    """
    if uses_slurm(job.backend):
        own = _OF_SLURM
        if job.remote and job.cluster:
            own = f"`scancel -M {quote(job.cluster)} JOBID`"
    elif is_ray(job.backend):
        own = f"`ray job stop --address {url_of(job.cluster)} {quote(job.name)}`"
    elif job.backend == PBS:
        own = f"`qdel {quote(pbs_id(job.ref, job.other_cluster, is_array=bool(job.array_indices)))}`"
    else:
        own = "the command that `jobmon handover JOBID` names"
    return advice.replace(_OF_SLURM, own)
