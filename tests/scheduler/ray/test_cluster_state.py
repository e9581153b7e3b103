"""What proves that no process of a Ray job lives: its end alone does not."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import pytest

from jobmon_core.domain.node.health.pods import parse_node_gpus
from jobmon_core.scheduler.ray.api import RayApi
from jobmon_core.scheduler.ray.cluster_state import death_of
from jobmon_core.scheduler.ray.demands import demands_of, shortage, totals_of
from jobmon_core.scheduler.ray.ray_job import parse_job
from tests.support.fake_ray import FakeRay, ray_job, ray_node

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
    proof, doubt = death_of(RayApi(ray.service, os.environ), entry)
    assert bool(proof) is not bool(case.doubt)
    assert case.doubt in doubt


def test_a_cluster_that_does_not_answer_proves_nothing(ray: FakeRay) -> None:
    entry = parse_job(ray_job("j", "FAILED", driver_exit_code=3))
    assert entry is not None
    ray.refusals["/api/v0/actors"] = (500, "down")
    assert "not known whether its actors live" in death_of(RayApi(ray.service, os.environ), entry)[1]


NODES = totals_of([ray_node(CPU=4.0, **{"node:192.0.2.2": 1.0}), ray_node(CPU=2.0, GPU=2.0)])


def task(**resources: float) -> dict[str, object]:
    return {"job_id": "05000000", "name": "step", "type": "NORMAL_TASK", "required_resources": resources}


@pytest.mark.parametrize(
    ("actors", "tasks", "groups", "asked"),
    [
        ([], [task(GPU=8.0)], [], "the task step asks for GPU 8"),
        ([], [task(GPU=2.0, CPU=4.0)], [], "the task step asks for GPU 2 + CPU 4"),  # on no single node
        (
            [{"name": "_ray_internal_job_actor_a", "required_resources": {"GPU": 3.0}}],
            [],
            [],
            "the entrypoint asks for GPU 3",
        ),
        (
            [],
            [],
            [{"creator_job_id": "05000000", "bundles": [{"unit_resources": {"GPU": 4.0}}] * 2}],
            "a placement group asks for 2 x (GPU 4)",
        ),
    ],
)
def test_what_no_node_has_is_named_with_what_there_is(
    actors: list[dict[str, object]],
    tasks: list[dict[str, object]],
    groups: list[dict[str, object]],
    asked: str,
) -> None:
    text = shortage(demands_of(actors, tasks, groups), NODES)
    assert text == f"no node has what it asks for: {asked}. The cluster: its 2 nodes have CPU 6 + GPU 2"


def test_what_some_node_has_is_ordinary_waiting() -> None:
    assert shortage(demands_of([], [task(GPU=2.0), task(CPU=4.0)], []), NODES) == ""


def test_a_placement_group_that_ray_calls_infeasible_is_one() -> None:
    group = {"bundles": [{"unit_resources": {"CPU": 3.0}}], "stats": {"scheduling_state": "INFEASIBLE"}}
    assert "a placement group asks for CPU 3" in shortage(demands_of([], [], [group]), NODES)


@pytest.mark.parametrize("number", [pytest.param(10**400, id="400 digits"), float("inf"), float("nan")])
def test_an_amount_that_cannot_be_right_is_left_out(number: float) -> None:
    assert totals_of([{"state": "ALIVE", "resources_total": {"CPU": 4, "x": number}}]) == [{"CPU": 4.0}]
    uuid = {"uuid": "GPU-1"}
    assert parse_node_gpus([{**uuid, "index": number}]) == ((), ())
    assert parse_node_gpus([{**uuid, "index": 0, "memoryUsed": number}])[0][0].memory is None


def test_without_nodes_nothing_is_known() -> None:
    assert shortage(demands_of([], [task(GPU=8.0)], []), totals_of([{"state": "DEAD"}])) == ""


def test_many_demands_are_counted() -> None:
    tasks = [{**task(GPU=float(number)), "name": f"t{number}"} for number in range(5, 10)]
    assert "the task t7 asks for GPU 7; and 2 more." in shortage(demands_of([], tasks, []), NODES)
