"""A monitor of a job of a Ray cluster: one message each, and none that is false."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import requests  # noqa: F401 - a helper, which is a fork, then need not load it

from jobmon_core.domain.delivery.outbox import Message
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.monitor.job_monitor import JobMonitor
from jobmon_core.scheduler.ray.client import RayScheduler
from tests.support.clock import FakeClock
from tests.support.fake_ray import FakeRay, ray_job, ray_resources
from tests.support.monitor_deps import monitor_deps

Show = Callable[..., WatchedJob]


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_JOB_HEADERS"):
        monkeypatch.delenv(name, raising=False)
    return FakeRay()


@pytest.fixture
def show(ray: FakeRay, tmp_path: Path) -> Show:
    """Return what lets the monitor see one state of the cluster after the other; it returns the job."""
    folder, clock = tmp_path / "ray", FakeClock()
    folder.mkdir()
    monitors: list[JobMonitor] = []

    def start() -> JobMonitor:
        ray.jobs = [ray_job("run-1")]
        remote = RayScheduler(ray_resources(folder), ray.service).register("run-1")
        job = WatchedJob(
            id="ray-1-x",
            job_id=remote.ref.job_id,
            registered_s=clock.now(),
            backend="ray",
            cluster=remote.cluster,
            remote=True,
            user="me",
            name=remote.name,
            logs=remote.logs,
        )
        scheduler = RayScheduler(ray_resources(folder), ray.service)
        return JobMonitor(job, monitor_deps(tmp_path, scheduler, clock))

    def poll(*entries: dict[str, object], times: int = 3) -> WatchedJob:
        monitors[:] = monitors or [start()]
        ray.jobs = list(entries)
        for _ in range(times):
            clock.now_s += 60.0
            monitors[0].poll_once()
        return monitors[0].job

    return poll


def messages(job: WatchedJob) -> list[Message]:
    return [entry.message for entry in job.outbox]


def test_a_job_that_ends_has_one_message_with_its_exit_code(ray: FakeRay, show: Show) -> None:
    with ray:
        assert messages(show(ray_job("run-1"), times=1)) == []
        job = show(ray_job("run-1", "FAILED", driver_exit_code=3))
    (message,) = messages(job)
    assert job.outcome is Outcome.FAILURE
    assert "run-1 (1) failed" in message.title
    assert job.tasks[""].end is not None
    assert job.source_phrase(job.tasks[""].end.source) == "as reported by Ray"


def test_the_users_stop_is_a_cancellation(ray: FakeRay, show: Show) -> None:
    with ray:
        job = show(ray_job("run-1", "STOPPED"))
    assert job.outcome is Outcome.CANCELLED
    assert job.tasks[""].raw_state == "CANCELLED (STOPPED)"
    assert len(messages(job)) == 1


def test_lost_sight_is_one_warning_and_no_end(ray: FakeRay, show: Show) -> None:
    with ray:
        job = show(ray_job("run-1", "FAILED", error_type="JOB_SUPERVISOR_ACTOR_DIED"), times=5)
    (message,) = messages(job)
    assert not job.ended
    assert message.title == "run-1 (1) is out of sight of Ray"
    assert "`jobmon cancel 1` stops watching the job" in message.advice


def test_a_head_that_was_started_anew_leaves_an_unknown_outcome_and_says_why(
    ray: FakeRay, show: Show
) -> None:
    with ray:
        show(ray_job("run-1"), times=1)
        ray.version["session_name"] = "session_2"
        job = show(times=4)
    assert job.tasks[""].state is JobState.UNKNOWN
    assert job.outcome is Outcome.UNKNOWN
    (message,) = messages(job)
    assert "The head of the Ray cluster was restarted" in message.summary


def test_while_the_gcs_is_down_nothing_ends(ray: FakeRay, show: Show) -> None:
    with ray:
        show(ray_job("run-1"), times=1)
        ray.refusals = {"/api/jobs/": (500, ""), "/api/gcs_healthz": (503, "")}
        job = show(times=2)
    assert not job.ended
    assert "the GCS of the Ray cluster" in job.stale_why
    assert messages(job) == []
