"""``jobmon watch`` of jobs submitted without jobmon, on the real Slurm."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from jobmon_core.domain.channels import Route
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.lifecycle.health import Health
from tests.support.messages import end_of, only, read, title
from tests.support.user import User
from tests.support.waiting import eventually


def _sbatch(user: User, *arguments: str) -> int:
    return int(user.slurm("sbatch", "--parsable", *arguments))


def _watch(user: User, *arguments: str) -> None:
    done = user.jobmon("watch", *arguments)
    assert (done.returncode, done.stdout) == (0, ""), done
    assert f"watching job {arguments[0]}" in done.stderr


def test_a_pending_job_is_watched_until_its_end(user: User) -> None:
    job_id = _sbatch(user, "--hold", "-J", "later", "--wrap", "exit 2")
    _watch(user, str(job_id))
    user.watched_as(job_id, "PENDING")
    user.slurm("scontrol", "release", str(job_id))
    assert end_of(user.told(job_id)).exit_code == 2
    assert title(only(user, Route.ERROR)) == f"❌ later ({job_id}) failed"


def test_a_running_job_is_watched_until_its_end(user: User) -> None:
    job_id = _sbatch(user, "--wrap", "until [ -e go ]; do sleep 0.5; done")
    user.in_state(job_id, "RUNNING")
    _watch(user, str(job_id))
    user.watched_as(job_id, "RUNNING")
    (user.work / "go").touch()
    assert user.told(job_id).outcome is Outcome.SUCCESS
    only(user, Route.SUCCESS)


def test_an_ended_job_is_explained_at_once(user: User) -> None:
    job_id = _sbatch(user, "--wrap", "exit 137")
    user.in_state(job_id, "FAILED")
    _watch(user, str(job_id))
    end = end_of(user.told(job_id))
    assert (end.outcome, end.exit_code, end.exit_code_exact) == (Outcome.FAILURE, 137, True)
    assert "Killed" in title(only(user, Route.ERROR))


def test_a_whole_array_gets_one_message(user: User) -> None:
    job_id = _sbatch(user, "--array=1-3", "--wrap", "exit $((SLURM_ARRAY_TASK_ID == 2))")
    _watch(user, str(job_id))
    job = user.told(job_id)
    assert sorted(job.tasks) == ["1", "2", "3"]
    assert "1 failed, 2 completed" in title(only(user, Route.ERROR))


@pytest.mark.parametrize("held", [(), ("--hold",)], ids=["running", "waiting"])
def test_one_task_of_an_array_is_watched_alone(user: User, held: tuple[str, ...]) -> None:
    job_id = _sbatch(user, *held, "--array=1-3", "-J", "sweep", "--wrap", "exit $SLURM_ARRAY_TASK_ID")
    _watch(user, f"{job_id}_2")
    if held:
        user.watched_as_waiting(f"{job_id}_2", "2")
        user.slurm("scontrol", "release", str(job_id))
    job = user.told(f"{job_id}_2")
    assert {key: end_of(job, key).exit_code for key in job.tasks} == {"2": 2}
    assert title(only(user, Route.ERROR)) == f"❌ sweep ({job_id}_2) failed"
    assert user.status(f"{job_id}_2")["outcome"] == "failure"


def test_an_array_task_given_by_its_raw_job_id_is_watched_as_that_task(user: User) -> None:
    job_id = _sbatch(user, "--hold", "--array=1-2", "--wrap", "exit 3")
    user.slurm("scontrol", "hold", f"{job_id}_1")  # splits the task from its array: it gets an id of its own
    raw_job_id = user.slurm("squeue", "-h", "-j", f"{job_id}_1", "-o", "%A").strip()
    assert raw_job_id != str(job_id)
    _watch(user, raw_job_id)
    again = user.jobmon("watch", raw_job_id)
    assert f"job {job_id}_1 is already watched" in again.stderr
    user.slurm("scontrol", "release", str(job_id), f"{job_id}_1")
    job = user.told(f"{job_id}_1")
    assert {key: end_of(job, key).exit_code for key in job.tasks} == {"1": 3}


def test_one_component_of_a_het_job_is_watched_alone(user: User) -> None:
    script = user.script("python3 -c 'import nowhere'; exit 6")
    job_id = _sbatch(user, "-J", "duo", "-o", "%j.log", "-n1", ":", "-n1", script)
    _watch(user, f"{job_id}+1")
    job = user.told(f"{job_id}+1")
    assert {key: end_of(job, key).exit_code for key in job.tasks} == {"+1": 6}
    payload = only(user, Route.ERROR)
    assert title(payload).startswith(f"❌ duo ({job_id}+1) failed: ")
    assert f"Log: {user.work}/{job_id}.log" in read(payload)


def test_a_second_monitor_for_the_same_job_is_refused(user: User) -> None:
    job_id = user.submit("--hold", "--array=1-2", "--wrap", "true")
    owner = user.monitor_pid(job_id)
    for ref in (str(job_id), f"{job_id}_1"):
        again = user.jobmon("watch", ref)
        assert again.returncode != 0
        assert f"job {job_id} is already watched by monitor {owner} on " in again.stderr
    assert len(list((user.home / "state").glob("*.json"))) == 1


def test_a_job_no_longer_watched_is_watched_again_with_its_history(user: User) -> None:
    job_id = user.submit("--hold", "--wrap", "exit 4")
    user.watched_as(job_id, "PENDING")
    assert user.jobmon("cancel", str(job_id)).returncode == 0
    eventually(lambda: user.snapshot(job_id).health is Health.DONE)
    _watch(user, str(job_id))
    user.slurm("scontrol", "release", str(job_id))
    job = user.told(job_id)
    assert end_of(job).exit_code == 4
    assert job.tasks[""].history[0].state == "PENDING"
    assert len(list((user.home / "state").glob("*.json"))) == 1


def test_an_unknown_job_is_refused(user: User) -> None:
    done = user.jobmon("watch", "999")
    assert done.returncode != 0
    assert "unknown job 999" in done.stderr
    assert not list((user.home / "state").glob("*.json"))


def test_the_log_named_by_the_user_is_read(user: User) -> None:
    failing = "python3 -c \"raise RuntimeError('named by the user')\" 2> mine.txt"
    job_id = _sbatch(user, "-o", "/dev/null", "--wrap", failing)
    _watch(user, str(job_id), "--error", "mine.txt")
    user.told(job_id)
    text = read(only(user, Route.ERROR))
    assert "RuntimeError: named by the user" in text
    assert f"Log: {user.work}/mine.txt" in text


def test_a_command_of_srun_is_not_told_to_change_its_script(user: User) -> None:
    waits = "until [ -e go ]; do sleep 0.5; done; exit 5"
    srun = (shutil.which("srun") or "srun", "-J", "bare", "-n1", "bash", "-c", waits)
    with subprocess.Popen(srun, env=user.environment, cwd=user.work):
        listed = ("squeue", "-h", "-n", "bare", "-t", "R", "-o", "%i")
        eventually(lambda: bool(user.slurm(*listed).strip()))
        job_id = int(user.slurm(*listed))
        _watch(user, str(job_id))
        user.watched_as(job_id, "RUNNING")
        (user.work / "go").touch()
        user.told(job_id)
    shown = user.jobmon("show", str(job_id)).stdout
    assert "exit code 5" in shown
    assert "#SBATCH" not in shown
    assert "srun --output=FILE" in shown
