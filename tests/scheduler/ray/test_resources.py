"""What a Ray cluster has, and what its tasks and actors hold."""

from __future__ import annotations

from pathlib import Path

from jobmon_core.domain.node.health.model import ClusterResources
from jobmon_core.domain.slurm.rows import Unreachable
from jobmon_core.scheduler.ray.client import cluster_resources
from tests.support.fake_ray import FakeRay, ray_resources

_STATUS = "Pending:\n (no pending nodes)\nTotal Usage:\n 2.0/16.0 CPU\n 0.0/8.0 GPU\n"


def test_the_resources_are_those_of_ray_status(ray: FakeRay, folder: Path) -> None:
    ray.cluster_status = _STATUS
    assert cluster_resources(ray_resources(folder), ray.service) == ClusterResources(8.0, 0.0, 16.0, 2.0)


def test_a_cluster_that_does_not_answer_or_shows_none_is_unreachable(ray: FakeRay, folder: Path) -> None:
    resources = ray_resources(folder)
    assert cluster_resources(resources, ray.service) == Unreachable(
        "the dashboard shows no resources of the cluster"
    )
    ray.refusals["/api/cluster_status"] = (503, "down")
    found = cluster_resources(resources, ray.service)
    assert isinstance(found, Unreachable)
    assert "503" in found.why
