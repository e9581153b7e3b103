"""What the dashboard's entry of a job proves: a table, and the recordings of Ray 2.60 where they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.ray.ray_job import EntryReading, parse_job, parse_jobs, read_job
from tests.support.fake_ray import ray_job

RECORDINGS = Path(__file__).parents[4] / "shared" / "data" / "ray"


def read(status: str, **changes: object) -> EntryReading:
    job = parse_job(ray_job("a", status, **changes))
    assert job is not None
    return read_job(job)


@pytest.mark.parametrize(
    ("status", "changes", "state", "exit_code", "signal"),
    [
        ("PENDING", {}, JobState.PENDING, None, None),
        ("RUNNING", {}, JobState.RUNNING, None, None),
        ("SUCCEEDED", {"driver_exit_code": 0}, JobState.COMPLETED, 0, None),
        ("FAILED", {"driver_exit_code": 3}, JobState.FAILED, 3, None),
        ("FAILED", {"driver_exit_code": 137}, JobState.FAILED, 137, None),
        ("FAILED", {"driver_exit_code": -15}, JobState.FAILED, 0, 15),
        ("SUCCEEDED", {"driver_exit_code": 1}, JobState.FAILED, 1, None),
        ("STOPPED", {}, JobState.CANCELLED, None, None),
        ("FAILED", {"error_type": "RUNTIME_ENV_SETUP_FAILURE"}, JobState.FAILED, None, None),
        ("FAILED", {"error_type": "JOB_SUPERVISOR_ACTOR_START_TIMEOUT"}, JobState.FAILED, None, None),
        # before 2.51 the type is null
        ("FAILED", {"message": "runtime_env setup failed: no such package"}, JobState.FAILED, None, None),
    ],
)
def test_a_status_with_a_witness_is_a_state(
    status: str, changes: dict[str, object], state: JobState, exit_code: int | None, signal: int | None
) -> None:
    found = read(status, **changes)
    assert (found.state, found.exit_code, found.signal) == (state, exit_code, signal)
    assert found.ended_unknown_why == ""
    assert not found.is_lost


@pytest.mark.parametrize(
    "kind",
    [
        "JOB_SUPERVISOR_ACTOR_DIED",
        "JOB_SUPERVISOR_ACTOR_START_FAILURE",
        "JOB_SUPERVISOR_ACTOR_UNKNOWN_FAILURE",
        "SOMETHING_NEW",
        None,
    ],
)
def test_a_failure_without_an_exit_code_is_only_that_ray_lost_sight_of_the_driver(kind: str | None) -> None:
    found = read("FAILED", error_type=kind, message="Job supervisor actor died: node is dead")
    assert found.is_lost
    assert found.state is JobState.UNKNOWN
    assert found.state.is_alive
    assert (kind or "Job supervisor actor died") in found.reason


def test_the_success_of_a_driver_that_ray_did_not_start_proves_nothing() -> None:
    found = read("SUCCEEDED", type="DRIVER", submission_id=None)
    assert found.state is JobState.UNKNOWN
    assert "killed shows SUCCEEDED" in found.ended_unknown_why


@pytest.mark.parametrize("number", [10**25, 2**63 - 1, -(2**63), pytest.param(10**400, id="400 digits")])
def test_a_number_that_cannot_be_right_is_not_known(number: int) -> None:
    job = parse_job(ray_job("a", start_time=number, end_time=number, driver_exit_code=number))
    assert job is not None
    assert (job.start_s, job.end_s, job.exit_code) == (None, None, None)


def test_a_success_without_an_exit_code_proves_nothing() -> None:
    assert "without an exit code" in read("SUCCEEDED").ended_unknown_why


def test_an_unknown_status_is_alive() -> None:
    assert read("RESTARTING").state is JobState.UNKNOWN
    assert "RESTARTING" in read("RESTARTING").reason


def test_a_job_is_called_by_its_submission_id_else_by_its_job_id() -> None:
    names = [
        job.name for job in parse_jobs([ray_job("a"), ray_job("", submission_id=None, type="DRIVER"), {}, 7])
    ]
    assert names == ["a", "05000000"]


@given(
    st.dictionaries(
        st.sampled_from(sorted(ray_job("a"))), st.none() | st.integers() | st.text() | st.lists(st.text())
    )
)
def test_no_entry_makes_the_reading_fail(changes: dict[str, object]) -> None:
    job = parse_job({**ray_job("a", "FAILED"), **changes})
    if job is not None:
        read_job(job)


@pytest.mark.parametrize(
    ("name", "state", "exit_code"),
    [
        ("success", JobState.COMPLETED, 0),
        ("exception", JobState.FAILED, 1),
        ("oom_raylet_kill", JobState.FAILED, 1),
        ("worker_killed", JobState.FAILED, 1),
        ("actor_init_error", JobState.FAILED, 1),
        ("driver_kill9", JobState.FAILED, 137),
        ("stopped", JobState.CANCELLED, None),
        ("pending_placement_group", JobState.CANCELLED, None),  # stopped
        ("pending_task", JobState.RUNNING, None),
        ("pending_task_then_stopped", JobState.CANCELLED, None),
        ("pending_entrypoint", JobState.PENDING, None),
        ("pending_entry_then_stopped", JobState.CANCELLED, None),
        ("pending_start_timeout", JobState.FAILED, None),
        ("badenv_early", JobState.FAILED, None),
        ("train_ok", JobState.COMPLETED, 0),
        ("train_once", JobState.COMPLETED, 0),
        ("train_exc", JobState.FAILED, 1),
        ("train_kill", JobState.FAILED, 1),
        ("tune1", JobState.COMPLETED, 0),
    ],
)
def test_a_recording_is_read_rightly(name: str, state: JobState, exit_code: int | None) -> None:
    path: Path = RECORDINGS / f"{name}.json"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    job = parse_job(json.loads(path.read_text(encoding="utf-8")))
    assert job is not None
    found = read_job(job)
    assert (found.state, found.exit_code) == (state, exit_code)
