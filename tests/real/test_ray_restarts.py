"""Jobs of a real Ray are restarted from complete checkpoints, or not at all.

The examples of the other monitor script run as they are, but for the import and where checkpoints are.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.fake_discord import FakeDiscord
from tests.support.real_ray import RealRay, install_ray
from tests.support.user import User
from tests.support.waiting import eventually

pytestmark = [pytest.mark.xdist_group("ray"), pytest.mark.timeout(3600)]  # all tests use one head

_ENVIRONMENT = {
    name: value for name, value in os.environ.items() if not name.startswith(("JOBMON_", "SLURM_", "RAY_"))
}
TRAINER = Path(__file__).with_name("programs") / "ray_trainer.py"
PATIENCE_S = 600.0  # Ray starts a process of its own for each job, and the machine may be busy
_CALL = """\
import json, logging
from jobmon.ray_compat import auto_restart
logging.basicConfig(level=logging.INFO)
print(json.dumps(auto_restart({arguments})))
"""
PIPELINE = """\
from jobmon.ray_compat import auto_restart
import logging

# Configure logging
logging.basicConfig(level=logging.INFO)

# Run training with auto-restart
result = auto_restart(
    head_pod='training-head-abc123',
    job_name='grpo-training',
    checkpoint_dir='/checkpoints/GRPO/grpo-training',
    max_retries=10,
    retry_delay=60,
    stagnation_threshold=600,  # 10 minutes
    check_interval=30
)

if result['success']:
    print(f"Training completed at step {result['final_step']}")
else:
    print(f"Training failed after {result['total_retries']} retries: {result['reason']}")
"""
BACKGROUND = """\
from jobmon.ray_compat import monitor_job
import threading

def monitor_in_background(head_pod, job_id):
    result = monitor_job(head_pod, job_id, check_interval=30)
    print(f"Job {job_id} finished with status: {result['status']}")

# Start monitoring in background
thread = threading.Thread(
    target=monitor_in_background,
    args=('training-head-abc123', 'raysubmit_xyz789')
)
thread.daemon = True
thread.start()
"""
CUSTOM = """\
from jobmon.ray_compat import check_job_status, find_latest_checkpoint, submit_job_with_resume
import time

head_pod = 'training-head-abc123'
job_id = 'raysubmit_initial123'
retry_count = 0
max_retries = 5

while retry_count < max_retries:
    status = check_job_status(head_pod, job_id)

    if status == 'SUCCEEDED':
        print("Training completed successfully!")
        break
    elif status == 'FAILED':
        print(f"Job failed, attempt {retry_count + 1}/{max_retries}")

        # Custom logic to find latest checkpoint
        checkpoint_path = find_latest_checkpoint('/checkpoints/my-job')

        # Submit new job
        job_id = submit_job_with_resume(
            head_pod=head_pod,
            checkpoint_path=checkpoint_path,
            config={'entrypoint': 'python train.py --resume'}
        )
        retry_count += 1
        time.sleep(60)
    else:
        time.sleep(30)
"""


class Caller:
    """A program that uses jobmon, with a home of its own."""

    def __init__(self, ray: RealRay, folder: Path, code: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "caller.log"
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "JOBMON_HOME": str(folder / "jobmon"),
            "RAY_API_SERVER_ADDRESS": f"http://{ray.service}",
        }
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=log, text=True, env=environment
            )

    def result(self) -> str:
        """Return what the program has printed when it has ended."""
        printed, _ = self.process.communicate(timeout=PATIENCE_S)
        assert self.process.returncode == 0, self.log.read_text("utf-8")
        return printed.strip()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def call(ray: RealRay, folder: Path, name: str, checkpoints: Path, **arguments: object) -> Caller:
    """Call `auto_restart` in a program of its own."""
    given = {
        "head_pod": "training-head-abc123",
        "job_name": name,
        "checkpoint_dir": str(checkpoints),
        "check_interval": 0.5,
        "retry_delay": 0,
        **arguments,
    }
    return Caller(ray, folder, _CALL.format(arguments=", ".join(f"{k}={v!r}" for k, v in given.items())))


def submit(ray: RealRay, name: str, command: str, **description: object) -> None:
    """Submit a job to Ray without jobmon."""
    ray.ask("/api/jobs/", {"submission_id": name, "entrypoint": command, **description})


def trainer(ray: RealRay, folder: Path, *options: str) -> str:
    return " ".join((ray.python, str(TRAINER), str(folder), *options))


def status(ray: RealRay, name: str) -> str:
    return str(ray.ask(f"/api/jobs/{name}")["status"])


def until(ray: RealRay, name: str, *statuses: str) -> None:
    eventually(lambda: status(ray, name) in statuses, PATIENCE_S)


def names(ray: RealRay) -> list[str]:
    """Return the submission ids of all jobs."""
    return [job["submission_id"] or "" for job in ray.ask("/api/jobs/")]


def starts(folder: Path) -> list[int]:
    """Return the first step of each start."""
    path = folder / "starts"
    return [int(line) for line in path.read_text("utf-8").split()] if path.exists() else []


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


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the checkpoints of all jobs, and the homes of all callers."""
    return tmp_path_factory.mktemp("shared")


@pytest.fixture(scope="module")
def examples(ray: RealRay, shared: Path) -> Iterator[dict[str, Caller]]:
    """Run the examples, which wait for minutes, beside all tests of this module."""
    pipeline, custom = shared / "GRPO" / "grpo-training", shared / "my-job"
    (ray.folder / "train.py").write_text(
        f"import runpy, sys; sys.argv[1:1] = [{str(custom)!r}, '--fail-at=20', '--exit=3']; "
        f"runpy.run_path({str(TRAINER)!r}, run_name='__main__')",
        encoding="utf-8",
    )
    submit(ray, "grpo-training", trainer(ray, pipeline, "--fail-at=20", "--connect"))
    submit(ray, "raysubmit_initial123", "python train.py")
    submit(ray, "raysubmit_xyz789", trainer(ray, shared / "background"))
    until(ray, "grpo-training", "FAILED")
    until(ray, "raysubmit_initial123", "FAILED")
    codes = {"pipeline": PIPELINE, "background": f"{BACKGROUND}\nthread.join()", "custom": CUSTOM}
    callers = {
        name: Caller(ray, shared / "homes" / name, code.replace("/checkpoints", str(shared)))
        for name, code in codes.items()
    }
    yield callers
    for caller in callers.values():
        caller.kill()


@pytest.mark.usefixtures("examples")
def test_an_exit_code_that_asks_for_it_is_followed_by_an_attempt_that_resumes(
    ray: RealRay, shared: Path
) -> None:
    folder = shared / "again"
    environment = {"env_vars": {"KEY": "kept"}}
    command = f'[ "$KEY" = kept ] && exec {trainer(ray, folder, "--fail-at=20", "--connect")}'
    submit(ray, "again", command, runtime_env=environment, entrypoint_num_cpus=0.5)
    found = json.loads(call(ray, shared / "homes" / "again", "again", folder).result())
    assert found == {"success": True, "final_step": 30, "total_retries": 1, "reason": "It succeeded."}
    assert starts(folder) == [1, 11]  # step_20 is not complete
    (attempt,) = (ray.ask(f"/api/jobs/{each}") for each in names(ray) if each.startswith("again-"))
    assert attempt["metadata"]["jobmon_name"] == "again"
    actor = f"_ray_internal_job_actor_{attempt['submission_id']}"
    query = f"detail=1&filter_keys=name&filter_predicates==&filter_values={actor}"
    (supervisor,) = ray.ask(f"/api/v0/actors?{query}")["data"]["result"]["result"]
    assert supervisor["required_resources"] == {"CPU": 0.5}


@pytest.mark.usefixtures("examples")
def test_an_error_of_the_program_ends_it_at_once(ray: RealRay, shared: Path) -> None:
    folder = shared / "user-error"
    submit(ray, "user-error", trainer(ray, folder, "--fail-at=20", "--exit=1", "--connect"))
    found = json.loads(call(ray, shared / "homes" / "user-error", "user-error", folder).result())
    assert (found["success"], found["total_retries"], found["final_step"]) == (False, 0, 20)
    assert found["reason"].startswith("KeyError: 'lr'. The program failed with an error of its own")


@pytest.mark.usefixtures("examples")
def test_a_killed_caller_that_calls_again_goes_on_and_a_stopped_job_ends(ray: RealRay, shared: Path) -> None:
    folder, home = shared / "killed", shared / "homes" / "killed"
    submit(ray, "killed", trainer(ray, folder, "--fail-at=20", "--wait"))
    first = call(ray, home, "killed", folder)
    eventually(folder.exists, PATIENCE_S)
    (folder / "go").touch()
    eventually(lambda: len(starts(folder)) == 2, PATIENCE_S)
    first.kill()
    found = json.loads(call(ray, home, "killed", folder).result())
    assert (found["success"], found["total_retries"]) == (True, 1)
    assert starts(folder) == [1, 11]
    submit(ray, "stopped", trainer(ray, folder, "--wait"))
    (folder / "go").unlink()
    caller = call(ray, shared / "homes" / "stopped", "stopped", folder)
    until(ray, "stopped", "RUNNING")
    ray.ask("/api/jobs/stopped/stop", {})
    found = json.loads(caller.result())
    assert not found["success"]
    assert "jobmon never starts again what somebody cancelled" in found["reason"]


@pytest.mark.usefixtures("examples")
def test_a_monitor_submits_the_next_attempt_with_the_folder_of_the_first(
    ray: RealRay, shared: Path, user: User
) -> None:
    folder, code = shared / "watched", user.work / "code"
    code.mkdir()
    (code / "train.py").write_bytes(TRAINER.read_bytes())
    (user.work / "jobmon.yaml").write_text(
        "restart: {delay: [1, 2]}\npatterns: {checkpoints: 'step_*'}\n", encoding="utf-8"
    )
    done = user.jobmon(
        *("submit", "--backend", "ray", "--job-config", "jobmon.yaml"),
        *("--restart", "--checkpoint-dir", str(folder)),
        *("--address", f"http://{ray.service}", "--working-dir", "code", "--"),
        *("python", "train.py", str(folder), "--fail-at=20", "--connect"),
    )
    assert done.returncode == 0, done
    name = done.stdout.strip()
    assert name.endswith("-a0")
    eventually(lambda: user.jobmon("wait", name, "--for", "60s").returncode != 3, PATIENCE_S)  # still running
    waited = user.jobmon("wait", name)
    assert waited.returncode == 0, waited
    assert starts(folder) == [1, 11]
    assert sorted(each for each in names(ray) if each.startswith(name[:-1])) == [name, f"{name[:-1]}1"]
    assert "2 attempts" in user.jobmon("restarts", name).stdout


@pytest.mark.usefixtures("examples")
def test_a_job_out_of_sight_of_ray_is_not_started_twice(ray: RealRay, shared: Path) -> None:
    folder = shared / "lost"
    ray.add_node("second")
    submit(ray, "lost", trainer(ray, folder, "--wait", "--connect"), entrypoint_resources={"second": 1})
    caller = call(ray, shared / "homes" / "lost", "lost", folder)
    eventually((folder / "alive").exists, PATIENCE_S)
    ray.kill_raylet("second")
    until(ray, "lost", "FAILED")
    lost_s = time.time()
    found = json.loads(caller.result())
    assert (found["success"], found["total_retries"]) == (False, 0)
    assert "nothing proves that its processes have ended" in found["reason"]
    eventually(lambda: (folder / "alive").stat().st_mtime > lost_s, PATIENCE_S)  # it runs on
    assert starts(folder) == [1]


@pytest.mark.usefixtures("examples")
def test_a_worker_that_ray_kills_for_lack_of_memory_is_named_and_the_user_decides(
    ray: RealRay, shared: Path
) -> None:
    folder = shared / "starved"
    ray.add_full_node()
    submit(ray, "starved", trainer(ray, folder, "--fail-at=20", "--starve", "--connect"))
    found = json.loads(call(ray, shared / "homes" / "starved", "starved", folder).result())
    assert (found["success"], found["total_retries"], found["final_step"]) == (False, 0, 20)
    assert "It ran out of memory (RAM): request more" in found["reason"]
    assert starts(folder) == [1]


@pytest.mark.usefixtures("examples")
def test_while_the_cluster_is_away_nothing_is_decided_and_afterwards_once(ray: RealRay, shared: Path) -> None:
    folder, home = shared / "away", shared / "homes" / "away"
    submit(ray, "away", trainer(ray, folder, "--fail-at=20", "--wait", "--connect"))
    caller = call(ray, home, "away", folder)
    eventually(lambda: "RUNNING" in caller.log.read_text("utf-8"), PATIENCE_S)
    eventually((folder / "alive").exists, PATIENCE_S)
    ray.kill_dashboard()
    eventually(lambda: "WARNING" in caller.log.read_text("utf-8"), PATIENCE_S)
    (folder / "go").touch()  # it ends while nobody can see it
    eventually((folder / "step_20").exists, PATIENCE_S)
    seen = caller.log.read_text("utf-8").count("WARNING")
    eventually(lambda: caller.log.read_text("utf-8").count("WARNING") > seen + 3, PATIENCE_S)
    files = [each for each in home.rglob("lineages/away-*.json") if ".private" not in each.name]
    (lineage,) = (json.loads(each.read_text("utf-8")) for each in files)
    assert [attempt.get("decision") for attempt in lineage["attempts"]] == [None]
    ray.start_dashboard()
    found = json.loads(caller.result())
    assert (found["success"], found["total_retries"]) == (True, 1)
    assert starts(folder) == [1, 11]
    assert sum(each.startswith("away") for each in names(ray)) == 2


def test_the_examples_of_the_other_script_run_as_they_are(shared: Path, examples: dict[str, Caller]) -> None:
    assert examples["background"].result() == "Job raysubmit_xyz789 finished with status: SUCCEEDED"
    assert examples["custom"].result().splitlines() == [
        "Job failed, attempt 1/5",
        "Training completed successfully!",
    ]
    assert starts(shared / "my-job") == [1, 11]
    assert examples["pipeline"].result() == "Training completed at step 30"
    assert starts(shared / "GRPO" / "grpo-training") == [1, 11]


def test_a_job_that_a_new_head_has_forgotten_is_not_submitted_again(ray: RealRay, shared: Path) -> None:
    folder = shared / "forgotten"
    submit(ray, "forgotten", trainer(ray, folder, "--wait"))
    caller = call(ray, shared / "homes" / "forgotten", "forgotten", folder)
    eventually(lambda: "RUNNING" in caller.log.read_text("utf-8"), PATIENCE_S)
    ray.kill()
    eventually(lambda: "WARNING" in caller.log.read_text("utf-8"), PATIENCE_S)  # which ends nothing
    assert caller.process.poll() is None
    ray.start()
    found: dict[str, Any] = json.loads(caller.result())
    assert (found["success"], found["total_retries"]) == (False, 0)
    assert "was restarted and has forgotten the job" in found["reason"]
    assert ray.ask("/api/jobs/") == []
