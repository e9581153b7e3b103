"""`ray_compat.auto_restart` and `submit_job_with_resume`: what they submit, and when they do not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from jobmon.ray_compat import RestartResult, auto_restart, find_latest_checkpoint, submit_job_with_resume
from jobmon_core.app.from_python import open_context
from jobmon_core.app.ray_job import restarts
from jobmon_core.app.restarts.lineages import end as end_lineage
from jobmon_core.app.restarts.submit_attempt import ALL_SUBMISSIONS
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.job.restart.model import Attempt, Lineage
from tests.support.fake_ray import FakeRay, ray_job
from tests.support.waiting import eventually

NAME = "grpo-training"
AGAIN = {"driver_exit_code": 75}


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeRay]:
    for name in ("RAY_ADDRESS", "RAY_API_SERVER_ADDRESS", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(restarts, "_PROOF_S", 0.2)
    with FakeRay() as server:
        yield server


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A folder with the checkpoint of step 100, and one of step 200 that is not complete."""
    folder = tmp_path / "saved"
    for step, text in ((100, '{"step": 100}'), (200, '{"step": 2')):
        (folder / f"step_{step}").mkdir(parents=True)
        (folder / f"step_{step}" / "state.json").write_text(text, encoding="utf-8")
    return folder


def entry(ray: FakeRay, name: str) -> dict[str, Any]:
    return next(each for each in ray.jobs if each["submission_id"] == name)


def ends(ray: FakeRay, *ends_of_attempts: dict[str, Any]) -> None:
    """End each further attempt as soon as it was submitted."""

    def run() -> None:
        for number, end in enumerate(ends_of_attempts):
            eventually(lambda number=number: len(ray.started) > number)  # type: ignore[misc]
            entry(ray, ray.started[number]).update(end)

    Thread(target=run, daemon=True).start()


def restarted(ray: FakeRay, saved: Path, **arguments: float) -> RestartResult:
    return auto_restart(
        ray.url,
        NAME,
        str(saved),
        **{"retry_delay": 0, "check_interval": 0.02, **arguments},  # type: ignore[arg-type]
    )


def test_a_failed_job_goes_on_from_its_newest_complete_checkpoint(ray: FakeRay, saved: Path) -> None:
    environment = {"env_vars": {"KEY": "x", "JOBMON_RESUME_FROM": "old"}, "working_dir": "s3://a.zip"}
    ray.jobs = [ray_job(NAME, "FAILED", runtime_env=environment, metadata={"team": "a"}, **AGAIN)]
    ray.state["actors"] = [
        {"name": f"_ray_internal_job_actor_{NAME}", "state": "DEAD", "required_resources": {"GPU": 2.0}}
    ]
    ends(ray, {"status": "SUCCEEDED", "driver_exit_code": 0})
    result = restarted(ray, saved)
    assert ray.started, result
    (name,) = ray.started
    again = entry(ray, name)
    assert name == f"{again['metadata']['jobmon_lineage']}-a1"
    assert again["entrypoint"] == "python train.py"
    variables = again["runtime_env"]["env_vars"]
    assert variables.pop("JOBMON_RESTART_REASON")
    assert variables == {
        "KEY": "x",
        "JOBMON_LINEAGE": name.removesuffix("-a1"),
        "JOBMON_ATTEMPT": "1",
        "JOBMON_RESUME_FROM": f"{saved}/step_100",
        "JOBMON_RESUME_STEP": "100",
    }
    assert again["runtime_env"]["working_dir"] == "s3://a.zip"
    assert again["entrypoint_num_gpus"] == 2
    assert (result["success"], result["total_retries"]) == (result.success, result.total_retries) == (True, 1)
    assert restarted(ray, saved) == result  # it has ended, and nothing is submitted again
    assert len(ray.started) == 1


@pytest.mark.parametrize(
    ("end", "log", "reason"),
    [
        (
            {"driver_exit_code": 1},
            "Traceback (most recent call last):\n  x\nKeyError: 'lr'\n",
            "KeyError: 'lr'",
        ),
        ({"status": "STOPPED"}, "step 1/9\n", "somebody cancelled"),
        ({"driver_exit_code": 1}, "bye\n", "Nothing shows that another attempt would end better"),
        (
            {"error_type": "JOB_SUPERVISOR_ACTOR_DIED"},
            "step 1/9\n",
            "nothing proves that its processes have ended",
        ),
        ({"status": "SUCCEEDED", "type": "DRIVER"}, "", "it did not start this driver itself"),
    ],
)
def test_nothing_is_submitted_after_an_end_that_is_no_reason_or_not_proved(
    ray: FakeRay, saved: Path, end: dict[str, Any], log: str, reason: str
) -> None:
    ray.jobs = [ray_job(NAME, **{"status": "FAILED", **end})]
    ray.logs[NAME] = log.encode()
    ray.state["workers"] = [{"worker_id": f"05000000{'f' * 48}", "is_alive": "error_type" in end}]
    result = restarted(ray, saved)
    assert (result.success, result.total_retries) == (False, 0)
    assert reason in result.reason
    assert ray.started == []


def test_an_actor_that_lives_on_keeps_the_next_attempt_from_starting(ray: FakeRay, saved: Path) -> None:
    ray.jobs = [ray_job(NAME, "FAILED", **AGAIN)]
    ray.state["workers"] = [{"worker_id": f"05000000{'f' * 48}", "is_alive": False}]
    ray.state["actors"] = [{"job_id": "05000000", "state": "ALIVE", "class_name": "Trainer", "name": ""}]
    assert "1 actor of it live: Trainer" in restarted(ray, saved).reason
    assert ray.started == []
    ray.state["actors"] = []  # now it is proved: the same call goes on
    ends(ray, {"status": "SUCCEEDED", "driver_exit_code": 0})
    assert restarted(ray, saved).success


def test_what_cannot_be_submitted_again_or_is_not_there_is_said(ray: FakeRay, saved: Path) -> None:
    assert "Ray has no job grpo-training" in restarted(ray, saved).reason
    package = {"working_dir": "gcs://_ray_pkg_0123456789abcdef.zip"}
    ray.jobs = [ray_job(NAME, "FAILED", runtime_env=package, **AGAIN)]
    assert "gcs://_ray_pkg_0123456789abcdef.zip, which Ray deletes" in restarted(ray, saved).reason
    ray.jobs = [ray_job("other", "FAILED", metadata={"name": NAME}, start_time=1795330650000, **AGAIN)]
    found = auto_restart(ray.url, NAME, "/no/such/folder", retry_delay=0)
    assert "this host cannot see the checkpoints: /no/such/folder" in found.reason
    assert ray.started == []
    assert restarted(ray, saved, max_retries=0).reason.endswith("You allow 0 restarts in all.")


def test_a_stalled_job_is_stopped_before_the_next_attempt(ray: FakeRay, saved: Path) -> None:
    ray.jobs, ray.logs[NAME] = [ray_job(NAME, job_id=None, driver_info=None)], b"step 101/900\n"
    ends(ray, {"status": "SUCCEEDED", "driver_exit_code": 0})
    result = restarted(ray, saved, stagnation_threshold=0.05)
    assert entry(ray, NAME)["status"] == "STOPPED"
    assert (result.success, result.total_retries, len(ray.started)) == (True, 1, 1)


def test_callers_and_monitors_share_the_limit_of_submissions_an_hour(ray: FakeRay, saved: Path) -> None:
    ray.jobs = [ray_job(NAME, "FAILED", **AGAIN)]
    ctx = open_context()
    lineages, results = ctx.lineages, list[RestartResult]()
    caller = Thread(target=lambda: results.append(restarted(ray, saved)), daemon=True)
    with lineages.locked(ALL_SUBMISSIONS):  # as a monitor that submits an attempt
        caller.start()
        eventually(lambda: ray.count(f"GET /api/jobs/{NAME}-") > 0)
        now_s = ctx.clock.now()
        others = tuple(Attempt(number, "", "8123", "slurm", "", now_s) for number in range(7))
        lineages.begin(Lineage("other", now_s, attempts=others), None)
    (own,) = (each for each in lineages.ids() if each != "other")
    end_lineage(ctx, own, "enough")
    eventually(lambda: bool(results or ray.started))
    assert ray.started == []
    assert results[0].reason == "enough"


def test_a_killed_caller_that_calls_again_goes_on(ray: FakeRay, saved: Path, tmp_path: Path) -> None:
    ray.jobs = [ray_job(NAME, "FAILED", **AGAIN)]
    ray.dropped_posts = 1  # it has arrived
    call = f"auto_restart({ray.url!r}, {NAME!r}, {str(saved)!r}, retry_delay=0)"
    code = f"from jobmon.ray_compat import auto_restart; {call}"
    caller = subprocess.Popen([sys.executable, "-c", code], env=os.environ)
    eventually(lambda: ray.started != [])
    caller.kill()
    caller.wait()
    ends(ray, {"status": "FAILED", **AGAIN}, {"status": "SUCCEEDED", "driver_exit_code": 0})
    result = restarted(ray, saved)
    assert (result.success, result.total_retries) == (True, 2)
    assert len(ray.started) == len(set(ray.started)) == 2
    assert not list(tmp_path.rglob("*.private.json"))  # it may hold secrets, and is not needed any more


def test_a_job_that_resumes_is_submitted_with_the_checkpoint(
    ray: FakeRay, saved: Path, tmp_path: Path
) -> None:
    newest = find_latest_checkpoint(str(saved))
    assert newest == f"{saved}/step_100"
    config = {
        "entrypoint": "python train.py",
        "runtime_env": {"working_dir": "/app of the pod", "env_vars": {"KEY": "x"}},
        "resume_arg": "--resume {path}",
        "entrypoint_num_cpus": 1,
    }
    name = submit_job_with_resume(ray.url, newest, config)
    job = entry(ray, name)
    assert job["entrypoint"] == f"cd '/app of the pod' || exit; python train.py --resume {newest}"
    assert job["runtime_env"] == {
        "env_vars": {"KEY": "x", "JOBMON_RESUME_FROM": newest, "JOBMON_RESUME_STEP": "100"}
    }
    assert (job["metadata"], job["entrypoint_num_cpus"]) == (None, 1)
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "train.py").touch()
    sent = {"entrypoint": "python train.py", "runtime_env": {"working_dir": str(tmp_path / "here")}}
    job = entry(ray, submit_job_with_resume(ray.url, newest, sent))
    assert job["runtime_env"]["working_dir"].startswith("gcs://_ray_pkg_")
    assert len(ray.packages) == 1
    job.update(ray_job(job["submission_id"], "FAILED", runtime_env=job["runtime_env"], **AGAIN))
    job["metadata"] = {"jobmon_folder": f"{os.uname().nodename}:{tmp_path / 'here'}"}
    ray.packages = {}  # as Ray does at the end of the job
    ends(ray, {}, {}, {"status": "SUCCEEDED", "driver_exit_code": 0})
    result = auto_restart(ray.url, job["submission_id"], str(saved), retry_delay=0, check_interval=0.02)
    assert (result.success, len(ray.packages)) == (True, 1)


@pytest.mark.parametrize(
    ("config", "step", "why"),
    [
        ({"entrypoint": "x"}, 200, r'step_200 .*config\["force"\]'),
        ({"entrypoint": "x"}, 300, "there is none at .*step_300|this host cannot see"),
        ({"entrypoint": " "}, 100, "'entrypoint' is the command"),
        ({"entrypoint": "x", "runtime_env": {"env_vars": ["A"]}}, 100, "dictionaries"),
        ({"entrypoint": "x", "num_gpus": 1}, 100, "unknown key 'num_gpus'; known are entrypoint,"),
        ({"entrypoint": "x", "resume_arg": "'"}, 100, "resume_arg"),
    ],
)
def test_an_incomplete_checkpoint_or_a_wrong_configuration_is_refused(
    ray: FakeRay, saved: Path, config: dict[str, Any], step: int, why: str
) -> None:
    with pytest.raises(JobmonError, match=why):
        submit_job_with_resume(ray.url, f"{saved}/step_{step}", config)
    assert ray.started == []
    if step == 200:
        name = submit_job_with_resume(ray.url, f"{saved}/step_{step}", {**config, "force": True})
        assert entry(ray, name)["runtime_env"]["env_vars"]["JOBMON_RESUME_STEP"] == "200"


def test_a_job_is_submitted_and_restarted_through_its_head_pod(
    ray: FakeRay, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kubectl runs here what it would run in the pod, in which the checkpoints have another folder."""
    (tmp_path / "bin").mkdir()
    kubectl = tmp_path / "bin" / "kubectl"
    lines = (
        f'echo "$*" >> {tmp_path}/arguments; export RAY_API_SERVER_ADDRESS={ray.url}',
        'while [ "$1" != -- ]; do shift; done; shift',
        f'for last; do :; done; [ "$last" = /in-pod ] && exec "$1" "$2" "$3" "$4" "$5" {saved}',
        'exec "$@"',
    )
    kubectl.write_text("\n".join(("#!/bin/bash", *lines, "")), encoding="utf-8")
    kubectl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{kubectl.parent}:{os.environ['PATH']}")
    config = {"entrypoint": "x", "runtime_env": {"working_dir": "/tmp", "env_vars": {"KEY": "hidden"}}}
    with pytest.raises(JobmonError, match="the link 'latest' names no such checkpoint"):
        submit_job_with_resume("training-head", "/in-pod/step_100", config)
    (saved / "latest").symlink_to("step_100/")
    job = entry(ray, submit_job_with_resume("training-head", "/in-pod/step_100", config))
    assert job["entrypoint"] == "cd /tmp || exit; x"  # of the pod, although this host has one, too
    job.update(status="FAILED", **AGAIN)
    ends(ray, {}, {"status": "SUCCEEDED", "driver_exit_code": 0})
    result = auto_restart("training-head", job["submission_id"], "/in-pod", retry_delay=0, check_interval=0.1)
    assert (result.success, result.total_retries) == (True, 1)
    environment = entry(ray, ray.started[1])["runtime_env"]["env_vars"]
    assert environment["JOBMON_RESUME_FROM"] == "/in-pod/step_100"
    assert "hidden" not in (tmp_path / "arguments").read_text(encoding="utf-8")
