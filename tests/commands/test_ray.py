"""Jobs of a Ray cluster in a shell: Ray as the default backend, groups of such jobs, what they cannot do."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests  # noqa: F401 - a helper, which is a fork, then need not load it

from jobmon_core.domain.channels import Route
from tests.support.fake_discord import FakeDiscord
from tests.support.fake_ray import FakeRay, ray_job
from tests.support.messages import title
from tests.support.user import User
from tests.support.waiting import eventually


@pytest.fixture
def ray() -> Iterator[FakeRay]:
    with FakeRay() as server:
        yield server


@pytest.fixture
def user(ray: FakeRay, tmp_path: Path) -> Iterator[User]:
    """A user without Slurm, whose jobs are Ray's by default."""
    names = ("JOBMON_", "SLURM_", "RAY_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(names)}
    with FakeDiscord() as discord:
        somebody = User(tmp_path, discord, {**environment, "HOME": str(tmp_path), "RAY_ADDRESS": ray.url})
        somebody.configure(backend="ray")
        yield somebody
        somebody.leave()


def error_of(user: User, *arguments: str) -> str:
    """Return what a command says that fails."""
    done = user.jobmon(*arguments)
    assert done.returncode != 0, done
    return done.stderr.removeprefix("jobmon: ").rstrip()


def test_ray_may_be_the_default_backend(ray: FakeRay, user: User) -> None:
    ray.jobs = [ray_job("run-1")]
    submitted = user.jobmon("submit", "--", "python", "train.py", "--lr", "0.1")
    assert submitted.returncode == 0, submitted
    assert [submitted.stdout.strip()] == ray.started
    assert ray.jobs[-1]["entrypoint"] == "python train.py --lr 0.1"
    watched = user.jobmon("watch", "run-1")
    assert "watching run-1 of the Ray cluster" in watched.stderr
    assert "is already watched" in user.jobmon("watch", "--all").stderr
    assert "run-1 is already watched" in user.jobmon("watch", "ray:run-1").stderr


def test_a_working_folder_that_only_the_pods_have_is_entered_there(ray: FakeRay, user: User) -> None:
    submitted = user.jobmon("submit", "--working-dir", "/app/of-the-pod", "--", "python", "train.py")
    assert submitted.returncode == 0, submitted
    assert "this machine has no /app/of-the-pod" in submitted.stderr
    assert ray.jobs[-1]["entrypoint"] == "cd /app/of-the-pod || exit; python train.py"
    assert "working_dir" not in ray.jobs[-1].get("runtime_env", {})


def test_a_wrong_option_is_an_error_like_that_of_any_command(ray: FakeRay, user: User) -> None:
    submit = ("submit", "--backend", "ray")
    see = "see `jobmon submit --backend ray --help`"
    assert error_of(user, *submit, "--entrypoint-num-gpu", "1", "--", "true") == (
        "nothing was submitted: unknown option --entrypoint-num-gpu "
        f"(did you mean --entrypoint-num-gpus?); {see}"
    )
    assert error_of(user, *submit, "--entrypoint-num-gpus", "many", "--", "true") == (
        "nothing was submitted: argument --entrypoint-num-gpus: "
        f"'many' is not a number above 0 and below 1e9; {see}"
    )
    shown = user.jobmon(*submit, "--help", COLUMNS="200").stdout
    assert "  --working-dir DIR " in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert ray.requests == []


def test_all_monitors_of_a_cluster_share_one_list_request_an_interval(ray: FakeRay, user: User) -> None:
    names = [f"run-{number}" for number in range(1, 5)]
    ray.jobs = [ray_job(name) for name in names]
    assert user.jobmon("watch", *names).returncode == 0
    for number in range(1, 5):
        user.watched_as(number, "RUNNING")
    assert len({user.monitor_pid(number) for number in range(1, 5)}) == 4
    ray.requests.clear()
    since_s = time.monotonic()
    eventually(lambda: ray.requests.count("GET /api/jobs/") >= 4)
    assert time.monotonic() - since_s > 2 * 5  # three intervals of 5 s; with a request each, it would be one


def test_what_is_not_for_jobs_of_ray_says_what_to_do(ray: FakeRay, user: User) -> None:
    script, runs = user.script("true"), user.work / "runs.yaml"
    runs.write_text(f"a: {script}\n", encoding="ascii")
    takes_none = "the backend 'ray' takes no scripts; add --backend and one of slurm, local"
    assert takes_none in error_of(user, "chain", script, script)
    assert takes_none in error_of(user, "group", "submit", "sweep", str(runs))
    assert "a job of Ray is watched by its id: `jobmon watch ID`" in error_of(user, "diagnose", "77")
    assert ray.started == []


def test_a_job_of_ray_cannot_be_rerun_or_cancelled_by_jobmon_which_names_the_command(
    ray: FakeRay, user: User
) -> None:
    name = user.jobmon("submit", "--", "python", "train.py").stdout.strip()
    user.watched_as("1", "PENDING")
    assert error_of(user, "rerun", "--yes", "1") == (
        "job 1 ran on a Ray cluster, and jobmon does not record the options of such a job; submit it again "
        f"with them: `jobmon submit --backend ray --address {ray.url} [OPTIONS] -- 'python train.py'`"
    )
    assert user.jobmon("group", "add", "sweep", "1").stdout == f"1 {name}: added\n"
    assert error_of(user, "group", "cancel", "--yes", "sweep") == (
        "jobmon cannot list, cancel or hold jobs of the backend 'ray'; run "
        f"`ray job stop --address {ray.url} {name}`"
    )
    assert "It waits: Ray has not said for what." in user.jobmon("why", "1").stdout


def test_a_stalled_job_of_ray_that_is_to_be_stopped_is_refused_and_so_is_a_drill(
    ray: FakeRay, user: User, tmp_path: Path
) -> None:
    (user.work / "stall.yaml").write_text("restart: {stop_on_stall: 600}\n", encoding="utf-8")
    submit = ("submit", "--restart", "--checkpoint-dir", str(tmp_path))
    refusal = error_of(user, *submit, "--job-config", "stall.yaml", "--", "python", "train.py")
    assert "stop_on_stall is not usable" in refusal
    assert "jobmon cannot cancel jobs of the backend 'ray'" in refusal
    assert ray.started == []
    done = user.jobmon(*submit, "--", "python", "train.py")
    assert done.returncode == 0, done
    assert "cancel or hold jobs of the backend 'ray'" in error_of(
        user, "restart", "--drill", "--yes", done.stdout.strip()
    )


def test_a_group_of_jobs_of_ray_ends_with_one_digest(ray: FakeRay, user: User) -> None:
    submitted = user.jobmon("submit", "--group", "sweep", "--submission-id", "good", "--", "true")
    assert "job 1 is the run good of group sweep" in submitted.stderr
    ray.jobs.append(ray_job("bad"))
    assert user.jobmon("watch", "bad").returncode == 0
    assert user.jobmon("group", "add", "sweep", "2").stdout == "2 bad: added\n"
    ray.jobs = [
        ray_job("good", "SUCCEEDED", driver_exit_code=0),
        ray_job("bad", "FAILED", driver_exit_code=3),
    ]
    waited = user.jobmon("wait", "sweep")
    assert (waited.returncode, waited.stderr) == (1, ""), waited
    user.discord.wait_for(2)
    messages = [payload for route in Route for payload in user.discord.received(route)]
    (failed, digest) = sorted(messages, key=lambda each: "sweep" in title(each))
    assert "bad (2) failed" in title(failed)
    assert title(digest) == "❌ sweep is complete: 1 completed, 1 failed"


def test_a_job_with_restarts_goes_on_as_the_next_attempt_with_its_folder_sent_again(
    ray: FakeRay, user: User
) -> None:
    submit = ("submit", "--restart", "--resume-arg", "--resume {path}")
    assert error_of(user, *submit, "--", "true").endswith(
        "name where the job saves its checkpoints: --checkpoint-dir DIR"
    )
    code, saved = user.work / "code", user.work / "saved"
    code.mkdir()
    (code / "train.py").touch()
    (user.work / "short.yaml").write_text("restart: {delay: [1, 1]}\npatterns: {checkpoints: 'step_*'}\n")
    options = ("--job-config", "short.yaml", "--checkpoint-dir", "saved", "--working-dir", "code")
    done = user.jobmon(*submit, *options, "--", "python", "train.py")
    assert done.returncode == 0, done
    first = ray.jobs[0]
    lineage = first["submission_id"].removesuffix("-a0")
    assert "restarts: on; `jobmon restarts 1` shows the attempts" in done.stderr
    assert first["runtime_env"]["env_vars"] == {"JOBMON_LINEAGE": lineage, "JOBMON_ATTEMPT": "0"}
    (saved / "step_7").mkdir(parents=True)
    (saved / "step_7" / "state.json").write_text('{"step": 7}')
    ray.packages.clear()  # as Ray does at the end of the job
    start_ms = int(time.time() - 60) * 1000
    end = ray_job(first["submission_id"], "FAILED", driver_exit_code=75, start_time=start_ms)
    first.update(end, metadata=first["metadata"], end_time=int(time.time() + 1) * 1000)
    eventually(lambda: len(ray.started) > 1)
    second = ray.jobs[1]
    assert second["submission_id"] == f"{lineage}-a1"
    assert second["entrypoint"] == f"python train.py --resume {saved}/step_7"
    assert list(ray.packages) == [second["runtime_env"]["working_dir"].removeprefix("gcs://")]
    variables = second["runtime_env"]["env_vars"]
    assert (variables["JOBMON_ATTEMPT"], variables["JOBMON_RESUME_STEP"]) == ("1", "7")
    second.update(status="FAILED", driver_exit_code=1, end_time=int(time.time() + 1) * 1000)
    eventually(
        lambda: "Nothing shows that another attempt" in user.jobmon("restarts", f"{lineage}-a1").stdout
    )
    by_hand = user.jobmon("restart", f"{lineage}-a1", "--yes")
    assert by_hand.returncode == 0, by_hand
    assert "jobmon submit --backend ray -- " in by_hand.stdout + by_hand.stderr
    third = ray.jobs[2]
    assert third["submission_id"] == f"{lineage}-a2"
    third.update(status="SUCCEEDED", driver_exit_code=0)
    assert user.jobmon("wait", f"{lineage}-a0").returncode == 0
    shown = user.jobmon("restarts", f"{lineage}-a2").stdout
    assert "3 attempts; ended: It succeeded\n" in shown
