"""What proves that no process of a Ray job lives: its end alone does not."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import pytest

from jobmon_core.scheduler.ray.api import RayApi
from jobmon_core.scheduler.ray.cluster_state import death_of
from jobmon_core.scheduler.ray.ray_job import parse_job
from tests.support.fake_ray import FakeRay, ray_job

WORKER, ALIVE = f"05000000{'f' * 48}", {"job_id": "05000000", "state": "ALIVE", "class_name": "Trainer"}
SUPERVISOR = {"name": "_ray_internal_job_actor_j", "state": "PENDING_CREATION"}
UNCONNECTED = {"job_id": None, "driver_info": None}
LATE = {**UNCONNECTED, "error_type": "JOB_SUPERVISOR_ACTOR_START_TIMEOUT"}


class Case(NamedTuple):
    status: str
    changes: dict[str, Any]
    worker_is_alive: bool | None  # None: Ray has no row of it
    actors: list[Any]
    doubt: str  # part of why death is not proved; empty: it is


@pytest.mark.parametrize(
    "case",
    [
        Case("FAILED", {"driver_exit_code": 3}, False, [], ""),
        Case("FAILED", {"driver_exit_code": 3}, None, [], ""),  # its row is gone
        Case("FAILED", {"driver_exit_code": -15}, True, [], "its driver runs"),  # only the shell was killed
        Case("FAILED", {"driver_exit_code": 3}, False, [ALIVE], "1 actor of it live: Trainer"),
        Case("FAILED", {"driver_exit_code": 3, **UNCONNECTED}, None, [], ""),
        Case("STOPPED", {}, False, [], ""),
        Case("FAILED", {"error_type": "JOB_SUPERVISOR_ACTOR_DIED"}, False, [], ""),
        Case("FAILED", {"error_type": "JOB_SUPERVISOR_ACTOR_DIED"}, True, [], "its driver runs"),
        Case("FAILED", {"error_type": "JOB_SUPERVISOR_ACTOR_DIED"}, None, [], "nothing shows"),
        Case("FAILED", {"error_type": "JOB_SUPERVISOR_ACTOR_DIED", **UNCONNECTED}, None, [], "lost sight"),
        Case("FAILED", {**UNCONNECTED, "error_type": "RUNTIME_ENV_SETUP_FAILURE"}, None, [], ""),
        Case("FAILED", LATE, None, [SUPERVISOR], "may start it later"),
        Case("FAILED", LATE, None, [], ""),
        Case("RUNNING", {}, True, [], "Ray shows RUNNING"),
        Case("SUCCEEDED", {"type": "DRIVER"}, False, [], "did not start this driver"),
    ],
)
def test_only_the_end_of_all_processes_proves_death(ray: FakeRay, case: Case) -> None:
    if case.worker_is_alive is not None:
        ray.state["workers"] = [{"worker_id": WORKER, "is_alive": case.worker_is_alive}]
    ray.state["actors"] = case.actors
    entry = parse_job(ray_job("j", case.status, **case.changes))
    assert entry is not None
    death = death_of(RayApi(ray.service, os.environ), entry)
    assert bool(death.proof) is not bool(case.doubt)
    assert case.doubt in death.doubt


def test_a_cluster_that_does_not_answer_proves_nothing(ray: FakeRay) -> None:
    entry = parse_job(ray_job("j", "FAILED", driver_exit_code=3))
    assert entry is not None
    ray.refusals["/api/v0/actors"] = (500, "down")
    assert "not known whether its actors live" in death_of(RayApi(ray.service, os.environ), entry).doubt
