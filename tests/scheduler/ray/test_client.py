"""A Ray cluster as a scheduler: what is an end there, what is none, and what it costs."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from jobmon_core.domain.backends import url_of
from jobmon_core.domain.errors import SchedulerRejected, SchedulerUnavailable, UnknownJob
from jobmon_core.domain.node.health.model import ClusterResources
from jobmon_core.domain.slurm.rows import JobRow, NotListed, Unreachable
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.ray.client import RayScheduler, cluster_resources, find_service
from tests.support.fake_ray import NODE, FakeRay, ray_job, ray_node, ray_resources


def look(scheduler: RayScheduler, *job_ids: int) -> tuple[JobRow, ...]:
    answer = scheduler.ask_queue("me")
    assert isinstance(answer, str), answer
    return scheduler.read_queue(answer, job_ids or (1,))


def problem(scheduler: RayScheduler) -> str:
    answer = scheduler.ask_queue("me")
    assert isinstance(answer, Unreachable)
    return answer.why


def gone(scheduler: RayScheduler) -> str:
    """Return why the job has no outcome; the queue must not list it."""
    assert look(scheduler) == ()
    record = scheduler.ask_record(1)
    assert isinstance(record, NotListed)
    return record.why


def test_a_job_gets_the_next_number_and_keeps_it(ray: FakeRay, remote: RayScheduler) -> None:
    ray.jobs = [ray_job("a"), ray_job("b", "PENDING")]
    first, second, again = (remote.register(name) for name in ("a", "b", "a"))
    assert [each.ref.job_id for each in (first, second, again)] == [1, 2, 1]
    assert (first.name, first.cluster, first.command) == ("a", ray.service, "python train.py")
    assert remote.register("05000000").name == "a"


def test_an_unknown_job_is_refused_with_those_that_run(ray: FakeRay, remote: RayScheduler) -> None:
    ray.jobs = [ray_job("a"), ray_job("b", "STOPPED")]
    with pytest.raises(UnknownJob, match=r"has no job c; it runs a; `ray job list --address http://127"):
        remote.register("c")
    assert remote.names() == ("a",)


def test_a_cluster_that_is_down_has_no_names(ray: FakeRay, remote: RayScheduler) -> None:
    ray.refusals["/api/version"] = (503, "down")
    with pytest.raises(SchedulerUnavailable, match="HTTP 503: down"):
        remote.names()


def test_a_job_is_followed_from_its_start_to_its_exit_code(
    ray: FakeRay, scheduler: RayScheduler, remote: RayScheduler
) -> None:
    ray.jobs = [ray_job("a", "PENDING")]
    log = Path(remote.register("a").logs.stdout)
    assert look(scheduler)[0].state is JobState.PENDING
    ray.jobs, ray.logs = [ray_job("a")], {"a": b"step 1\n"}
    assert look(scheduler)[0].state is JobState.RUNNING
    ray.jobs = [ray_job("a", "FAILED", driver_exit_code=3)]
    ray.logs["a"] += b"boom\n"
    (row,) = look(scheduler)
    assert (row.state, row.raw_state, row.end_s) == (JobState.FAILED, "FAILED", 1795330649)
    record = scheduler.ask_record(1)
    assert isinstance(record, tuple)
    assert isinstance(record[0], JobRow)
    assert (record[0].exit_code, record[0].name, record[0].command) == (3, "a", "python train.py")
    assert log.read_bytes() == b"step 1\nboom\n"


def test_the_words_of_ray_are_kept(ray: FakeRay, scheduler: RayScheduler, remote: RayScheduler) -> None:
    ray.jobs = [ray_job("a", "STOPPED"), ray_job("b", "SUCCEEDED", driver_exit_code=0, job_id="06000000")]
    remote.register("a")
    remote.register("b")
    words = [row.raw_state for row in look(scheduler, 1, 2)]
    assert sorted(words) == ["CANCELLED (STOPPED)", "COMPLETED (SUCCEEDED)"]


@pytest.mark.parametrize(
    ("version", "why"),
    [("session_2", "the head of the Ray cluster was restarted"), (None, "it was deleted")],
)
def test_a_job_that_ray_does_not_know_any_more_has_no_outcome(
    ray: FakeRay, scheduler: RayScheduler, remote: RayScheduler, version: str | None, why: str
) -> None:
    ray.jobs = [ray_job("a")]
    remote.register("a")
    look(scheduler)
    ray.jobs = []
    ray.version["session_name"] = version or ray.version["session_name"]
    assert why in gone(scheduler)


def test_an_end_that_was_seen_outlasts_the_list_of_ray(
    ray: FakeRay, scheduler: RayScheduler, remote: RayScheduler
) -> None:
    ray.jobs = [ray_job("a", "SUCCEEDED", driver_exit_code=0)]
    remote.register("a")
    look(scheduler)
    ray.jobs, ray.version["session_name"] = [], "session_2"
    assert look(scheduler)[0].state is JobState.COMPLETED


@pytest.mark.parametrize(
    ("listed", "entry", "session", "why"),
    [
        (True, {"job_id": "01000000", "start_time": 1795330638725}, "session_2", "was restarted"),
        (True, {"job_id": "01000000", "start_time": 1795339999000}, "", "another job with this id"),
        (False, {"job_id": "01000000", "start_time": 1795339999000}, "", "another job with this id"),
        (True, {"job_id": "01000000", "submission_id": "b", "type": "SUBMISSION"}, "", "was deleted"),
        (False, {"job_id": "01000000", "submission_id": "b", "type": "SUBMISSION"}, "", "another job"),
    ],
)
def test_another_job_with_the_id_of_the_watched_one_is_not_taken_for_it(
    ray: FakeRay,
    scheduler: RayScheduler,
    remote: RayScheduler,
    *,
    listed: bool,
    entry: dict[str, object],
    session: str,
    why: str,
) -> None:
    driver = {"type": "DRIVER", "job_id": "01000000"}
    ray.jobs = [ray_job("", submission_id=None, **driver)]
    assert remote.register("01000000").name == "01000000"
    assert look(scheduler)[0].state is JobState.RUNNING
    ray.version["session_name"] = session or ray.version["session_name"]
    ray.jobs = [ray_job("", "SUCCEEDED", driver_exit_code=0, **{"submission_id": None, **driver, **entry})]
    ray.is_listing = listed
    assert why in gone(scheduler)


@pytest.mark.parametrize("session", ["", "session_2"])
def test_a_new_job_under_an_old_id_is_a_job_of_its_own(
    ray: FakeRay, scheduler: RayScheduler, remote: RayScheduler, session: str
) -> None:
    ray.jobs = [ray_job("a", "SUCCEEDED", driver_exit_code=0)]
    assert remote.register("a").ref.job_id == 1
    look(scheduler)
    ray.version["session_name"] = session or ray.version["session_name"]
    ray.jobs = [ray_job("a", start_time=1795339999000)]
    assert [remote.register("a").ref.job_id for _ in range(2)] == [2, 2]
    states = {row.ref.job_id: row.state for row in look(scheduler, 1, 2)}
    assert states == {1: JobState.COMPLETED, 2: JobState.RUNNING}


def test_a_start_that_is_late_is_an_end_only_once_nothing_can_start_the_job(
    ray: FakeRay, scheduler: RayScheduler, remote: RayScheduler
) -> None:
    ray.jobs = [ray_job("a", "PENDING")]
    remote.register("a")
    ray.jobs = [ray_job("a", "FAILED", error_type="JOB_SUPERVISOR_ACTOR_START_TIMEOUT", job_id=None)]
    supervisor = {"name": "_ray_internal_job_actor_a", "state": "PENDING_CREATION"}
    for state in ("PENDING_CREATION", "ALIVE"):
        ray.state = {"actors": [{**supervisor, "state": state}]}
        (row,) = look(scheduler)
        assert row.state.is_alive
        assert "may start it later" in row.reason
    ray.refusals["/api/v0/actors"] = (500, "no answer")
    assert look(scheduler)[0].state.is_alive
    ray.refusals = {}
    ray.state = {"actors": [{**supervisor, "state": "DEAD"}, {**supervisor, "name": "another"}]}
    assert look(scheduler)[0].state is JobState.FAILED


def test_a_proxy_that_finds_nothing_proves_nothing(
    ray: FakeRay, scheduler: RayScheduler, remote: RayScheduler
) -> None:
    ray.jobs = [ray_job("a")]
    remote.register("a")
    look(scheduler)
    ray.jobs, ray.refusals["/api/jobs/a"] = [], (404, "no such page")
    assert look(scheduler)[0].state is JobState.RUNNING


def test_lost_sight_is_an_end_only_once_the_process_has_ended(
    ray: FakeRay, scheduler: RayScheduler, remote: RayScheduler
) -> None:
    ray.jobs = [ray_job("a")]
    remote.register("a")
    ray.jobs = [ray_job("a", "FAILED", error_type="JOB_SUPERVISOR_ACTOR_DIED")]
    worker = {"worker_id": "05000000" + "f" * 48, "is_alive": True}
    ray.state = {"workers": [worker], "actors": [{"job_id": "05000000", "state": "ALIVE"}]}
    for workers in ([worker], [], [{**worker, "is_alive": False}]):  # an actor lives in the last case
        ray.state["workers"] = workers
        (row,) = look(scheduler)
        assert row.state.is_alive
        assert row.reason == "Ray lost sight of the driver (JOB_SUPERVISOR_ACTOR_DIED)"
    ray.state["actors"][0]["state"] = "DEAD"
    assert "its process has ended since; nothing shows its exit code" in gone(scheduler)


def test_a_driver_that_ray_did_not_start_ends_without_an_outcome(
    ray: FakeRay, scheduler: RayScheduler, remote: RayScheduler
) -> None:
    ray.jobs = [ray_job("", type="DRIVER", submission_id=None)]
    remote.register("05000000")
    assert look(scheduler)[0].state is JobState.RUNNING
    ray.jobs[0]["status"] = "SUCCEEDED"
    assert "killed shows SUCCEEDED" in gone(scheduler)


def test_nothing_is_learned_while_the_cluster_does_not_answer(
    ray: FakeRay, scheduler: RayScheduler, remote: RayScheduler
) -> None:
    ray.jobs = [ray_job("a")]
    remote.register("a")
    ray.refusals = {"/api/jobs/": (500, "Timed out"), "/api/gcs_healthz": (503, "")}
    assert "the GCS of the Ray cluster" in problem(scheduler)
    ray.refusals = {"/api/jobs/": (500, "KeyError")}
    assert problem(scheduler).endswith("answered HTTP 500: KeyError")
    ray.refusals = {}
    ray.version = {"hello": "world"}
    assert "is not a Ray dashboard" in problem(scheduler)
    service = RayScheduler(scheduler.resources, "127.0.0.1:1")
    assert "could not reach the Ray dashboard 127.0.0.1:1: Connection refused" in problem(service)


def test_a_token_is_sent_and_never_stored(
    ray: FakeRay,
    scheduler: RayScheduler,
    remote: RayScheduler,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ray.jobs, ray.token = [ray_job("a")], "s3cret-t0ken"
    assert "got no token (HTTP 401); set RAY_AUTH_TOKEN" in problem(scheduler)
    monkeypatch.setenv("RAY_AUTH_TOKEN", "other")
    assert "got a wrong token (HTTP 403)" in problem(scheduler)
    monkeypatch.delenv("RAY_AUTH_TOKEN")
    home = Path(os.environ["HOME"]) / ".ray"
    home.mkdir()
    (home / "auth_token").write_text("s3cret-t0ken\n")
    remote.register("a")
    assert look(scheduler)[0].state is JobState.RUNNING
    stored = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    assert not any(b"s3cret" in each for each in stored)


def test_ray_2_9_is_understood(ray: FakeRay, scheduler: RayScheduler, remote: RayScheduler) -> None:
    ray.version = {"version": "4", "ray_version": "2.9.3"}
    ray.jobs, ray.logs = [ray_job("a")], {"a": b"1 of 3\n"}
    log = Path(remote.register("a").logs.stdout)
    look(scheduler)
    assert log.read_bytes() == b"1 of 3\n"
    ray.jobs = []
    assert "it was deleted" in gone(scheduler)


def test_no_request_looks_like_a_browser(ray: FakeRay, scheduler: RayScheduler, remote: RayScheduler) -> None:
    ray.jobs = [ray_job("a")]
    remote.register("a")
    look(scheduler)
    assert all(each["user-agent"].startswith("jobmon/") for each in ray.headers)
    assert not any({"origin", "referer"} & set(each) for each in ray.headers)


def test_what_no_node_has_is_the_reason_of_a_job_that_waits(
    ray: FakeRay,
    scheduler: RayScheduler,
    remote: RayScheduler,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("jobmon_core.scheduler.ray.poll._DEMAND_AFTER_S", 0.0)
    ray.jobs = [ray_job("a", "PENDING")]
    remote.register("a")
    ray.state = {
        "nodes": [ray_node(CPU=4.0)],
        "actors": [
            {
                "name": "_ray_internal_job_actor_a",
                "state": "PENDING_CREATION",
                "required_resources": {"GPU": 2.0},
            }
        ],
    }
    (row,) = look(scheduler)
    assert row.reason == (
        "no node has what it asks for: the entrypoint asks for GPU 2. The cluster: its node has CPU 4"
    )
    count = ray.count("GET /api/v0/nodes")
    look(scheduler)
    assert ray.count("GET /api/v0/nodes") == count == 1  # asked at most once a minute
    os.utime(next(folder.glob("demands-*")), (0, 0))
    ray.cluster_status = "Pending:\n gpu-node: launching\n"  # the autoscaler adds one
    assert look(scheduler)[0].reason == ""


def test_twenty_jobs_cost_one_list_request_and_a_bounded_tail_each(
    ray: FakeRay, scheduler: RayScheduler, remote: RayScheduler
) -> None:
    names = [f"run-{number}" for number in range(20)]
    ray.jobs = [ray_job(name) for name in names]
    ray.logs = dict.fromkeys(names, b"x\n" * 5000)
    for name in names:
        remote.register(name)
    look(scheduler)  # it also asks for what waits
    ray.requests.clear()
    assert len(look(scheduler, *range(1, 21))) == 20
    assert ray.count("GET /api/jobs/") == 1
    tails = [each for each in ray.requests if each.startswith("GET /api/v0/logs/file?")]
    assert len(tails) == 20
    assert all("lines=1000" in each and NODE in each for each in tails)
    assert len(ray.requests) == 22  # and the version


def test_a_damaged_record_costs_one_job(
    ray: FakeRay, scheduler: RayScheduler, remote: RayScheduler, folder: Path
) -> None:
    ray.jobs = [ray_job("a"), ray_job("b")]
    remote.register("a")
    remote.register("b")
    (folder / "1" / "job.json").write_text(json.dumps({"name": 7}))
    assert [row.ref.job_id for row in look(scheduler, 1, 2)] == [2]


@pytest.mark.parametrize(
    ("address", "environment", "service", "url"),
    [
        ("", {}, "127.0.0.1:8265", "http://127.0.0.1:8265"),
        ("head:8265/", {"RAY_ADDRESS": "other:1"}, "head:8265", "http://head:8265"),
        (
            "",
            {"RAY_API_SERVER_ADDRESS": "https://ray.site.org"},
            "https://ray.site.org",
            "https://ray.site.org",
        ),
        ("", {"RAY_ADDRESS": "auto"}, "127.0.0.1:8265", "http://127.0.0.1:8265"),
    ],
)
def test_a_cluster_is_named_by_its_dashboard(
    address: str, environment: dict[str, str], service: str, url: str
) -> None:
    assert find_service(address, environment) == service
    assert url_of(service) == url


@pytest.mark.parametrize(
    "address", ["http://[::1", "ray://head:10001", "http://", "head:port", "head:0", "head:99999"]
)
def test_another_address_is_refused_in_one_line(address: str) -> None:
    with pytest.raises(SchedulerRejected, match="not the address of a Ray dashboard"):
        find_service(address, {})


@pytest.mark.parametrize(
    "address",
    [
        *("http://me:hunter2@head", "http://head/?token=hunter2", "head:1/#hunter2"),
        *("http://me:hunter2/x@head", "http://me:hunter2@[head", "ray://me:hunter2@head:10001", "hunter2@:1"),
    ],
)
def test_a_secret_in_an_address_is_refused_and_not_shown(address: str) -> None:
    with pytest.raises(SchedulerRejected, match="more than a host and a port") as refused:
        find_service(address, {})
    assert "hunter2" not in str(refused.value)


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
