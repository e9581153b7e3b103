"""The Ray backend: creates its adapters. Imports are deferred because the user waits for `submit`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.backends import OutageWords
from jobmon_core.scheduler.base import Backend

if TYPE_CHECKING:
    from jobmon_core.domain.health.cluster_resources import ClusterResources
    from jobmon_core.domain.slurm.rows import Unreachable
    from jobmon_core.scheduler.base import BackendResources, RemoteJobs, Scheduler


def _scheduler(resources: BackendResources, service: str = "") -> Scheduler:
    from jobmon_core.scheduler.ray.client import RayScheduler

    return RayScheduler(resources, service)


def _remote_jobs(resources: BackendResources, service: str) -> RemoteJobs:
    from jobmon_core.scheduler.ray.remote_jobs import RayRemoteJobs

    return RayRemoteJobs(resources, service)


def _cluster_resources(_resources: BackendResources, service: str) -> ClusterResources | Unreachable:
    from jobmon_core.scheduler.ray.client import cluster_resources

    return cluster_resources(service)


_OUTAGE = OutageWords(
    name="The Ray cluster {cluster}",
    summary="The dashboard of the Ray cluster {cluster} has not answered for {lasted}, so jobmon has no news "
    "of your jobs there. It considers none finished and keeps asking. You will be notified once it answers.",
    advice="Look at the head node of {cluster}: whether the dashboard and the GCS run (`ray status`). "
    "Without its dashboard a cluster may go on; do not start the jobs again before you know.",
)

RAY = Backend(
    name="ray",
    display_name="Ray",
    submitter=None,  # `jobmon_core.app.remote.submit_ray` submits: the options are not those of sbatch
    scheduler=_scheduler,
    cancel_command="ray job stop --address {url} {name}",
    remote_jobs=_remote_jobs,
    cluster_resources=_cluster_resources,
    outage_words=_OUTAGE,
)
