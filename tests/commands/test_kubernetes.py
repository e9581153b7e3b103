"""Jobs on Kubernetes in a shell: watched, submitted, restarted, explained and deleted through `kubectl`."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fake_discord import FakeDiscord
from tests.support.fake_kubectl import BACKOFF, COMPLETE, FakeKubectl, Json, job, pod
from tests.support.messages import read, title
from tests.support.user import User
from tests.support.waiting import eventually

MANIFEST = """\
apiVersion: batch/v1
kind: Job
metadata: {name: train}
spec:
  backoffLimit: 4
  template:
    spec:
      restartPolicy: OnFailure
      containers:
      - {name: main, image: "train:1", command: [python, train.py]}
"""


@pytest.fixture
def kubectl(tmp_path: Path) -> FakeKubectl:
    return FakeKubectl(tmp_path / "kubectl")


@pytest.fixture
def user(kubectl: FakeKubectl, tmp_path: Path) -> Iterator[User]:
    """A user without Slurm who has kubectl."""
    names = ("JOBMON_", "SLURM_", "RAY_", "KUBE")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(names)}
    environment["PATH"] = f"{kubectl.bin}:{environment['PATH']}"
    with FakeDiscord() as discord:
        somebody = User(tmp_path, discord, {**environment, "HOME": str(tmp_path)})
        yield somebody
        somebody.leave()


def error_of(user: User, *arguments: str) -> str:
    done = user.jobmon(*arguments)
    assert done.returncode != 0, done
    return done.stderr.removeprefix("jobmon: ").rstrip()


def test_a_job_is_watched_to_its_message_under_the_names_that_users_know(
    kubectl: FakeKubectl, user: User
) -> None:
    kubectl.show(job(), pod())
    watched = user.jobmon("watch", "kubernetes:job/train")
    assert "watching job/train of Kubernetes lab/ml as job 1" in watched.stderr, watched
    user.watched_as("1", "RUNNING")
    assert "train is already watched" in error_of(user, "watch", "--backend", "kubernetes", "train")
    assert "kubectl --context lab -n ml delete job/train" in user.jobmon("handover", "1").stdout
    kubectl.log("train-a", "2026-11-28T15:00:01.000000001Z CUDA out of memory. Tried to allocate 20 GiB\n")
    kubectl.show(job(conditions=(BACKOFF,)), pod(phase="Failed", exit_code=1))
    user.told("1")
    (message,) = user.discord.received()
    assert "job/train (1)" in title(message)
    assert "CUDA out of memory" in user.jobmon("logs", "1").stdout


def test_what_kubectl_says_reaches_the_user(kubectl: FakeKubectl, user: User) -> None:
    watch = ("watch", "--backend", "kubernetes")
    assert error_of(user, *watch, "job/nosuch") == "Kubernetes (lab/ml) has no job/nosuch"
    assert "is not the name of a job on Kubernetes; write one of job/NAME" in error_of(user, *watch, "x/y")
    assert "required: either the names of jobs, or --all, or --selector" in error_of(user, *watch)
    assert "--address is for jobs of Ray" in error_of(user, *watch, "--address", "http://x", "train")
    assert "--selector are for jobs on Kubernetes" in error_of(user, "watch", "--selector", "a=b", "1")
    assert "--all is for jobs of Ray or Kubernetes; add --backend ray" in error_of(user, "watch", "--all")
    nothing = user.jobmon(*watch, "--selector", "app=x").stderr
    assert "no pod of Kubernetes (lab/ml) has the labels app=x" in nothing
    kubectl.fail('Error from server (Forbidden): jobs.batch "train" is forbidden', "get")
    said = error_of(user, *watch, "train")
    assert "Forbidden" in said
    assert "kubectl auth can-i --list -n ml --context lab" in said


def test_the_jobs_of_a_selector_are_watched_in_the_configured_namespace(
    kubectl: FakeKubectl, user: User
) -> None:
    user.configure(backend="kubernetes", kubernetes={"context": "lab2", "namespace": "big"})
    alone = pod("notebook-0", owner="", metadata={"labels": {"app": "x"}})
    kubectl.show(job(), pod(metadata={"labels": {"app": "x"}}), alone, job("other", "u9"))
    watched = user.jobmon("watch", "--selector", "app=x")
    assert "watching job/train of Kubernetes lab2/big as job 1" in watched.stderr
    assert "watching pod/notebook-0 of Kubernetes lab2/big as job 2" in watched.stderr
    assert kubectl.calls[0][:4] == ["--context", "lab2", "-n", "big"]


def test_a_pending_job_says_why(kubectl: FakeKubectl, user: User) -> None:
    words = "0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
    unplaced: Json = {
        "phase": "Pending",
        "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": words}
        ],
        "containerStatuses": [],
    }
    kubectl.show(job(), pod(status=unplaced))
    assert user.jobmon("watch", "--backend", "kubernetes", "train").returncode == 0
    user.watched_as("1", "PENDING")
    assert f"It waits: Unschedulable: {words}" in " ".join(user.jobmon("why", "1").stdout.split())


def test_a_job_without_a_pod_shows_the_warning_that_says_why(kubectl: FakeKubectl, user: User) -> None:
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "train.1", "uid": "e1"},
        "involvedObject": {"name": "train"},
        "type": "Warning",
        "reason": "FailedCreate",
        "message": "exceeded quota: gpus, requested: 8, limited: 4",
        "lastTimestamp": "2026-11-28T15:00:00Z",
    }
    kubectl.show(job(), event)
    assert user.jobmon("watch", "--backend", "kubernetes", "train").returncode == 0
    user.watched_as("1", "PENDING")
    why = " ".join(user.jobmon("why", "1").stdout.split())
    assert "it has no pod yet; FailedCreate: exceeded quota: gpus, requested: 8, limited: 4" in why


def test_a_job_is_submitted_as_its_file_says_and_deleted_with_its_group(
    kubectl: FakeKubectl, user: User
) -> None:
    (user.work / "train.yaml").write_text(MANIFEST, encoding="utf-8")
    done = user.jobmon("submit", "--backend", "kubernetes", "--group", "sweep", "train.yaml")
    assert done.returncode == 0, done
    name = done.stdout.strip()
    assert name.startswith("job/train-")
    (made,) = kubectl.reload()["objects"]
    assert made["spec"]["backoffLimit"] == 4
    assert user.jobmon("group", "add", "sweep", "1", "--interval", "5s").returncode == 0
    user.watched_as("1", "PENDING")
    assert "is no" not in error_of(user, "submit", "--backend", "kubernetes", "nosuch.yaml")
    (user.work / "pod.yaml").write_text("apiVersion: v1\nkind: Pod\n", encoding="utf-8")
    assert "it is a v1 Pod; jobmon submits a batch/v1 Job" in error_of(
        user, "submit", "--backend", "kubernetes", "pod.yaml"
    )
    assert user.jobmon("group", "cancel", "--yes", "sweep").returncode == 0
    assert kubectl.reload()["objects"] == []
    user.told("1")
    assert user.status("1")["state"] == "CANCELLED"


def test_a_job_that_fails_by_no_fault_of_its_own_goes_on_as_another_when_its_pod_is_dead(
    kubectl: FakeKubectl, user: User, tmp_path: Path
) -> None:
    (user.work / "train.yaml").write_text(MANIFEST, encoding="utf-8")
    (user.work / "again.yaml").write_text("restart: {delay: [1, 1]}\n", encoding="utf-8")
    options = ("--restart", "--checkpoint-dir", str(tmp_path), "--job-config", "again.yaml")
    done = user.jobmon("submit", "--backend", "kubernetes", *options, "train.yaml")
    assert done.returncode == 0, done
    (first,) = kubectl.reload()["objects"]
    name, uid = first["metadata"]["name"], first["metadata"]["uid"]
    assert name.endswith("-a0")
    assert first["spec"]["backoffLimit"] == 0
    running = pod("train-a", uid)
    kubectl.show(first, running)
    user.watched_as("1", "RUNNING")
    first["status"] = {"conditions": [BACKOFF]}
    # exit code 75 asks for another attempt; a pod of it still runs
    kubectl.show(first, pod("train-a", uid, phase="Failed", exit_code=75), pod("train-b", uid))
    eventually(lambda: "has not ended" in user.jobmon("restarts", "1").stdout, step_s=2.0)
    assert len([each for each in kubectl.reload()["objects"] if each["kind"] == "Job"]) == 1
    kubectl.show(first, pod("train-a", uid, phase="Failed", exit_code=75))
    eventually(lambda: len([each for each in kubectl.reload()["objects"] if each["kind"] == "Job"]) == 2)
    (second,) = [each for each in kubectl.world["objects"] if each["metadata"]["name"].endswith("-a1")]
    assert second["metadata"]["annotations"]["jobmon/attempt"] == "1"
    second["status"] = {"conditions": [COMPLETE]}
    kubectl.show(first, second)
    user.told("2")
    assert user.status("2")["state"] == "COMPLETED"
    for job_id in ("1", "2"):  # both attempts lead to their lineage
        shown = user.jobmon("restarts", job_id).stdout
        assert "2 attempts; ended: It succeeded" in shown
    eventually(lambda: len(user.discord.received()) == 2)
    failed, done_text = map(read, user.discord.received())
    assert re.search("Restart: attempt 1 starts in [01]s", failed)  # the decision may be a second old
    assert "Finished with attempt 1." in done_text


def test_a_process_in_a_pod_is_watched_and_its_gpus_are_looked_at(
    kubectl: FakeKubectl, user: User, tmp_path: Path
) -> None:
    # the pod is this machine: kubectl exec runs its command here
    smi = kubectl.bin / "nvidia-smi"
    smi.write_text("#!/bin/sh\ncase $* in *query-gpu*) echo 0, GPU-1, H200, 93, 1000, 80000;; esac\n")
    smi.chmod(0o755)
    log = tmp_path / "train.log"
    wait = f"while [ ! -e {tmp_path}/go ]; do sleep 0.2; done"
    script = f"echo step 1/9 > {log}; {wait}; echo step 9/9 >> {log}"
    process = subprocess.Popen(["/bin/sh", "-c", f"{script}; touch {tmp_path}/DONE"], start_new_session=True)
    try:
        words = (f"pid:{process.pid}", f"log:{log}", f"marker:{tmp_path}/DONE")
        watched = user.jobmon("watch", "--pod", "head-0", "--context", "lab", "--namespace", "ml", *words)
        assert watched.returncode == 0, watched
        assert "GPUs of pod head-0 in use: 1 of 1 (0: 93 %)" in watched.stderr
        user.watched_as("1", "RUNNING")
        assert user.status("1")["cluster"] == "pod/lab/ml/head-0"
        assert "kubectl --context lab -n ml exec -i head-0 -- sh -c" in user.jobmon("handover", "1").stdout
        (tmp_path / "go").touch()
        process.wait(30)
        user.told("1")
    finally:
        process.kill()
        process.wait()
    assert user.status("1")["state"] == "COMPLETED"
    assert "step 9/9" in user.jobmon("logs", "1").stdout
    assert "--pod and --host name two places" in error_of(
        user, "watch", "--pod", "a", "--host", "b", "pid:99"
    )


def test_a_pod_that_cannot_be_asked_says_why(kubectl: FakeKubectl, user: User) -> None:
    kubectl.fail('Error from server (NotFound): pods "head-0" not found', "exec")
    said = error_of(user, "watch", "--pod", "head-0", "pid:99")
    assert 'kubectl: Error from server (NotFound): pods "head-0" not found' in said
