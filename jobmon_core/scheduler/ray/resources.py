"""What a Ray cluster has, and what its tasks and actors hold. It loads HTTP: only commands ask."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from jobmon_core.domain.health.pods import read_ray_status
from jobmon_core.domain.slurm.rows import Unreachable
from jobmon_core.scheduler.ray.api import Failed, RayApi

if TYPE_CHECKING:
    from jobmon_core.domain.health.cluster_resources import ClusterResources


def cluster_resources(service: str) -> ClusterResources | Unreachable:
    """Query the resources of a cluster, which its dashboard shows as ``ray status`` does."""
    text = RayApi(service, os.environ).cluster_status()
    if isinstance(text, Failed):
        return Unreachable(text.why)
    return read_ray_status(text) or Unreachable("the dashboard shows no resources of the cluster")
