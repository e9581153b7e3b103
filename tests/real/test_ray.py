"""Real drivers on a real Ray: each end is judged rightly and told once, and nothing else is called an end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from jobmon_core.domain.channels import Route
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.lifecycle.health import Health
from jobmon_core.store.jobs import JobStore
from tests.support.fake_discord import FakeDiscord
from tests.support.messages import end_of, read, title
from tests.support.real_ray import RealRay, install_ray
from tests.support.user import User
from tests.support.waiting import eventually

pytestmark = [pytest.mark.xdist_group("ray"), pytest.mark.timeout(3600)]  # all tests use one head

PROGRAM = Path(__file__).with_name("programs") / "ray_driver.py"
PATIENCE_S = 600.0  # Ray starts a process of its own for each job, and the machine may be busy
_ENVIRONMENT = {
    name: value for name, value in os.environ.items() if not name.startswith(("JOBMON_", "SLURM_", "RAY_"))
}


@pytest.fixture(scope="module")
def ray() -> Iterator[RealRay]:
    if why := install_ray():
        pytest.skip(f"there is no Ray to test with: {why}")
    with RealRay() as head:
        yield head


@pytest.fixture
def user(discord: FakeDiscord, tmp_path: Path) -> Iterator[User]:
    """A user without Slurm."""
    somebody = User(tmp_path, discord, _ENVIRONMENT)
    yield somebody
    somebody.leave()


class Ended(NamedTuple):
    """A job of Ray, and what its end must be taken for."""

    name: str
    command: str  # with which it is submitted to Ray; PYTHON stands for the driver with Ray
    outcome: Outcome
    exit_code: int | None
    title: str  # of the only message about it, after the job
    says: str  # part of the message
    runtime_env: str = ""


ENDED = (
    Ended("ok", "PYTHON ok", Outcome.SUCCESS, 0, "completed", "Work: 40 steps"),
    Ended("three", "echo bye; exit 3", Outcome.FAILURE, 3, "failed", "bye"),
    Ended("raises", "PYTHON raises", Outcome.FAILURE, 1, "failed: KeyError: 'lr'", 'return row["lr"]'),
    Ended(
        "killed",
        "kill -9 $$",
        Outcome.FAILURE,
        137,
        "failed: Killed (SIGKILL), usually out of memory",
        "137",
    ),
    Ended(
        "worker",
        "PYTHON worker-dies",
        Outcome.FAILURE,
        1,
        "failed: WorkerCrashedError: The worker died unexpectedly while executing this task",
        "A worker of Ray died.",
    ),
    Ended(
        "starved",
        "PYTHON out-of-memory",
        Outcome.FAILURE,
        1,
        "failed: Ray killed a task because memory ran out",
        "1 worker(s) were killed due to the node running low on memory",
    ),
    Ended(
        "no-env",
        "echo never",
        Outcome.FAILURE,
        None,
        "failed: runtime_env setup failed: Failed to set up runtime environment",
        "The program did not start.",
        runtime_env='{"working_dir": "gcs://_ray_pkg_0123456789abcdef.zip"}',
    ),
)


def command(ray: RealRay, text: str) -> str:
    return text.replace("PYTHON", f"{ray.python} {PROGRAM}")


def submit(ray: RealRay, name: str, entrypoint: str, **description: object) -> None:
    """Submit a job to Ray without jobmon."""
    ray.ask("/api/jobs/", {"submission_id": name, "entrypoint": entrypoint, **description})


def stop(ray: RealRay, name: str) -> None:
    assert ray.ask(f"/api/jobs/{name}/stop", {}) == {"stopped": True}


def is_running(ray: RealRay, name: str) -> bool:
    return bool(ray.ask(f"/api/jobs/{name}")["status"] == "RUNNING")


def until_file(path: Path) -> str:
    return f"while [ ! -e {path} ]; do sleep 0.5; done; echo ready"


def submit_with_jobmon(user: User, ray: RealRay, job: Ended) -> None:
    options = ["--runtime-env-json", job.runtime_env] if job.runtime_env else []
    done = user.jobmon(
        *("submit", "--backend", "ray", "--address", f"http://{ray.service}", "--submission-id", job.name),
        *options, "--", "sh", "-c", command(ray, job.command),
    )  # fmt: skip
    assert (done.returncode, done.stdout.strip()) == (0, job.name), done


def watch(user: User, ray: RealRay, *names: str) -> None:
    done = user.jobmon("watch", "--backend", "ray", "--address", f"http://{ray.service}", *names)
    assert done.returncode == 0, done


def watched(user: User, name: str) -> WatchedJob:
    found = JobStore(user.home / "state").all()
    return next(job for job in found if isinstance(job, WatchedJob) and job.name == name)


def told(user: User, name: str) -> WatchedJob:
    """Wait until the message about the end of a job is delivered; return the state of the job."""
    return user.told(watched(user, name).job_id, PATIENCE_S)


def about(user: User, name: str) -> list[tuple[str, str]]:
    """Return the titles, after the job, and the texts of the messages about a job."""
    found = [(title(payload), read(payload)) for route in Route for payload in user.discord.received(route)]
    starts = (f"{symbol} {name} (" for symbol in ("✅", "❌", "⏹", "⚠", "❔"))
    heads = tuple(starts)
    return [(each.partition(") ")[2], text) for each, text in found if each.startswith(heads)]


def has_message(user: User, name: str) -> bool:
    return about(user, name) != []


def test_each_end_of_a_driver_is_judged_rightly_and_told_once(ray: RealRay, user: User) -> None:
    ray.add_full_node()
    for job in ENDED:
        submit_with_jobmon(user, ray, job)
    submit(ray, "stopped", until_file(user.work / "never"))
    submit(ray, "queued", "echo never", entrypoint_num_cpus=99)
    submit(ray, "greedy", command(ray, "PYTHON infeasible"))
    watch(user, ray, "--all")  # those that jobmon has submitted are watched already
    eventually(lambda: is_running(ray, "stopped"), PATIENCE_S)
    stop(ray, "stopped")
    stop(ray, "queued")  # Ray says that it has, and keeps it waiting
    for job in ENDED:
        end = end_of(told(user, job.name))
        assert (end.outcome, end.exit_code) == (job.outcome, job.exit_code), job.name
        (message,) = about(user, job.name)
        assert message[0] == job.title
        assert job.says in message[1]
    assert end_of(told(user, "stopped")).outcome is Outcome.CANCELLED
    assert [head for head, _ in about(user, "stopped")] == ["was stopped"]
    for name, asked in (("queued", "CPU 99"), ("greedy", "GPU 8")):
        eventually(partial(has_message, user, name), PATIENCE_S)
        ((head, text),) = about(user, name)
        assert head == "waits for what no node of its Ray cluster has"
        assert asked in text
        assert user.snapshot(watched(user, name).job_id).health is Health.ALIVE
    stop(ray, "greedy")
    assert end_of(told(user, "greedy")).outcome is Outcome.CANCELLED
    assert [head for head, _ in about(user, "greedy")][1:] == ["was stopped"]


def test_a_cluster_that_is_silent_ends_no_job_and_a_new_head_leaves_the_outcome_unknown(
    ray: RealRay, user: User
) -> None:
    for name in ("first", "second"):
        submit(ray, name, until_file(user.work / f"{name}.go"))
    watch(user, ray, "first", "second")
    eventually(lambda: is_running(ray, "first") and is_running(ray, "second"), PATIENCE_S)
    user.watched_as(watched(user, "second").job_id, "RUNNING", PATIENCE_S)
    ray.kill_dashboard()
    eventually(lambda: "could not reach the Ray dashboard" in user.jobmon("status").stdout)
    (user.work / "first.go").touch()  # it ends while nobody can see it
    ray.start_dashboard()
    assert end_of(told(user, "first")).outcome is Outcome.SUCCESS
    ray.kill_gcs()
    eventually(lambda: "Ray has not responded since" in user.jobmon("status").stdout)
    assert about(user, "second") == []
    ray.kill()
    ray.start()
    end = end_of(told(user, "second"))
    assert end.outcome is Outcome.UNKNOWN
    assert [len(about(user, name)) for name in ("first", "second")] == [1, 1]
    assert (
        "The head of the Ray cluster was restarted and has forgotten the job" in about(user, "second")[0][1]
    )
