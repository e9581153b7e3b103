"""What a look showed beside the states of jobs: what is used of the host, and the files of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.errors import StateUnreadable
from jobmon_core.domain.node.telemetry.model import Disk, Memory, Node, Sample, Worker
from jobmon_core.scheduler.ssh.records import HostRecords

if TYPE_CHECKING:
    from jobmon_core.domain.artifacts.model import Listing
    from jobmon_core.domain.node.hosts.model import HostJob, HostUsage
    from jobmon_core.scheduler.base import BackendResources

_MAX_NAME = 60  # characters of a command line


def latest_sample(resources: BackendResources, host: str, number: int) -> Sample | None:
    """Return what the latest look showed of a host; None if there was none."""
    try:
        records = HostRecords(resources.folder())
        usage, job = records.usage(host), records.of(number).load()
    except (OSError, StateUnreadable):
        return None
    if usage.at_s:
        return sample_of(usage, job)
    return None


def latest_files(resources: BackendResources, number: int) -> tuple[Listing, ...]:
    """Return what the folder of a job's outputs held at the latest look; nothing if no look showed one."""
    try:
        return (HostRecords(resources.folder()).of(number).files(),)
    except (OSError, StateUnreadable):
        return ()


def latest_markers(resources: BackendResources, number: int) -> dict[str, bool]:
    """Return whether the marker of a job was there at the latest look; nothing if the user named none."""
    try:
        job = HostRecords(resources.folder()).of(number).load()
    except (OSError, StateUnreadable):
        return {}
    if job.target.marker:
        return {f"marker {job.target.marker} on {job.host}": job.has_marker}
    return {}


def sample_of(usage: HostUsage, job: HostJob) -> Sample:
    """Return the figures of the host of a job, without GPUs: which of them the job uses is not known."""
    host = job.host
    available = None
    if usage.memory_used is not None and usage.memory_limit is not None:
        available = max(0, usage.memory_limit - usage.memory_used)
    disks: tuple[Disk, ...] = ()
    if usage.disk_size and usage.disk_used is not None:
        disks = (
            Disk(
                f"{host}:{usage.folder}",
                usage.disk_size,
                max(0, usage.disk_size - usage.disk_used),
                usage.inodes or 0,
                max(0, (usage.inodes or 0) - (usage.inodes_used or 0)),
            ),
        )
    return Sample(
        at_s=usage.at_s,
        node=Node(name=host, memory_total=usage.memory_limit, memory_available=available),
        workers=(Worker(job.process.pid if job.process else 0, job.command[:_MAX_NAME] or job.name),),
        memory=_memory(usage),
        disks=disks,
    )


def _memory(usage: HostUsage) -> Memory | None:
    """Return the memory of the cgroup, if that has a limit: beyond it, the kernel kills a process."""
    if not usage.is_limited or usage.memory_used is None:
        return None
    return Memory(usage.memory_used, usage.memory_limit, source="cgroup of the host")
