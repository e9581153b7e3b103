"""A Job is created once, as the user's file says, or as an attempt of a lineage that jobmon restarts."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jobmon_core.domain.job.job_settings import AttemptPlace
from jobmon_core.domain.job.restart.kubernetes_attempts import as_attempt, fault_of, named
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import Unreachable
from jobmon_core.scheduler.base import Fate
from jobmon_core.scheduler.kubernetes import submission as module
from jobmon_core.scheduler.kubernetes.client import KubeScheduler
from jobmon_core.scheduler.kubernetes.control import KubeControl, processes_left
from jobmon_core.scheduler.kubernetes.submission import KubeSubmission
from tests.support.fake_kubectl import SERVICE, FakeKubectl, Json, job, kube_resources, pod

Submit = Callable[..., KubeSubmission]
MANIFEST: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "train"},
    "spec": {
        "backoffLimit": 4,
        "template": {
            "spec": {
                "restartPolicy": "OnFailure",
                "containers": [{"name": "main", "command": ["python", "train.py"], "env": [{"name": "A"}]}],
            }
        },
    },
}


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKubectl:
    fake = FakeKubectl(tmp_path / "kubectl")
    monkeypatch.setenv("PATH", f"{fake.bin}:{os.environ['PATH']}")
    monkeypatch.setattr(module, "_WAIT_S", 0.0)
    return fake


@pytest.fixture
def records(tmp_path: Path) -> Path:
    (tmp_path / "records").mkdir()
    return tmp_path / "records"


def new(records: Path, manifest: Json = MANIFEST) -> KubeSubmission:
    submission = KubeSubmission(kube_resources(records), SERVICE, named(manifest, "0123456789ab"))
    submission.record()
    return submission


def created(kubectl: FakeKubectl) -> list[Json]:
    return [each for each in kubectl.reload()["objects"] if each["kind"] == "Job"]


def test_only_the_name_and_an_annotation_are_jobmons(kubectl: FakeKubectl, records: Path) -> None:
    assert new(records).submit().fate is Fate.ACCEPTED
    (made,) = created(kubectl)
    assert made["metadata"]["name"] == "train-01234567"
    assert list(made["metadata"]["annotations"]) == ["jobmon/submission"]
    assert made["spec"] == MANIFEST["spec"]
    (create,) = [call for call in kubectl.calls if "create" in call]
    assert "python" not in " ".join(create)  # the manifest goes to stdin: other users see arguments


def test_a_lost_answer_makes_no_second_job(kubectl: FakeKubectl, records: Path) -> None:
    kubectl.set(lose_answers=True)
    submission = new(records)
    assert submission.submit().fate is Fate.ACCEPTED
    assert len(created(kubectl)) == 1
    assert submission.submit().fate is Fate.ACCEPTED  # one that was cut off is continued
    assert len(created(kubectl)) == 1


def test_a_job_of_another_with_this_name_is_not_adopted(kubectl: FakeKubectl, records: Path) -> None:
    kubectl.show(job("train-01234567", "u9"))
    result = new(records).submit()
    assert (result.fate, result.why) == (Fate.REFUSED, "the namespace has a Job of this name already")


@pytest.mark.parametrize(
    ("said", "fate"),
    [
        ("Error from server (Forbidden): jobs.batch is forbidden", Fate.REFUSED),
        ('The Job "x" is invalid: (Invalid)', Fate.REFUSED),
        ("The connection to the server 127.0.0.1:1 was refused", Fate.REFUSED),
        ("Unable to connect to the server: context deadline exceeded", Fate.UNKNOWN),
    ],
)
def test_only_a_refusal_proves_that_there_is_no_job(
    kubectl: FakeKubectl, records: Path, said: str, fate: Fate
) -> None:
    kubectl.fail(said)
    submission = new(records)
    assert submission.submit().fate is fate
    kubectl.heal()
    scheduler = KubeScheduler(kube_resources(records), SERVICE)
    assert isinstance(scheduler.ask_queue("me"), str)
    (row,) = scheduler.ask_record(1)  # type: ignore[misc] # a row
    assert (row.state, row.reason) == ("PENDING", "Kubernetes has not shown it yet")


def test_a_job_whose_creation_was_not_confirmed_is_found_by_its_token(
    kubectl: FakeKubectl, records: Path
) -> None:
    kubectl.set(lose_answers=True)
    submission = new(records)
    kubectl.fail("context deadline exceeded", "get")
    assert submission.submit().fate is Fate.UNKNOWN
    kubectl.reload()
    kubectl.heal()
    scheduler = KubeScheduler(kube_resources(records), SERVICE)
    assert isinstance(scheduler.ask_queue("me"), str)
    (row,) = scheduler.ask_record(1)  # type: ignore[misc] # a row
    assert (row.state, row.reason) == ("PENDING", "it has no pod yet")


def test_an_attempt_has_no_retries_of_the_cluster_and_its_variables() -> None:
    place = AttemptPlace("0123456789abcdef", 2, "/nfs/saved/step 9", 9)
    made = as_attempt(
        named(MANIFEST, place.lineage, 2), place, ("--resume", "/nfs/saved/step 9"), "node_fail"
    )
    assert made["metadata"]["name"] == "train-01234567-a2"
    spec = made["spec"]
    assert (spec["backoffLimit"], spec["podReplacementPolicy"]) == (0, "Failed")
    template = spec["template"]["spec"]
    assert template["restartPolicy"] == "Never"
    (container,) = template["containers"]
    variables = {each["name"]: each.get("value") for each in container["env"]}
    assert variables["A"] is None
    assert variables["JOBMON_ATTEMPT"] == "2"
    assert variables["JOBMON_RESUME_FROM"] == "/nfs/saved/step 9"
    assert container["args"] == ["--resume", "/nfs/saved/step 9"]
    assert MANIFEST["spec"]["backoffLimit"] == 4


def test_the_words_of_an_attempt_are_quoted_for_a_shell() -> None:
    manifest = as_attempt(MANIFEST, AttemptPlace("x", 0))
    manifest["spec"]["template"]["spec"]["containers"] = [
        {"command": ["/bin/sh", "-c"], "args": ["./run.sh"]}
    ]
    made = as_attempt(manifest, AttemptPlace("x", 1), ("--resume", "a b"))
    (container,) = made["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["/bin/sh", "-c", "./run.sh --resume 'a b'"]
    assert container["args"] == []


def test_a_cluster_that_does_not_know_the_replacement_policy_gets_none(
    kubectl: FakeKubectl, records: Path
) -> None:
    attempt = as_attempt(MANIFEST, AttemptPlace("0123456789abcdef", 0))
    kubectl.fail('strict decoding error: unknown field "spec.podReplacementPolicy"', "create")
    submission = new(records, attempt)
    assert submission.submit().fate is Fate.REFUSED
    kubectl.heal()
    assert submission.submit().fate is Fate.ACCEPTED


@pytest.mark.parametrize(
    ("manifest", "fault"),
    [
        ([], "it is no object of Kubernetes"),
        ({"apiVersion": "v1", "kind": "Pod"}, "it is a v1 Pod"),
        ({"apiVersion": "batch/v1", "kind": "Job"}, "it has no spec.template.spec.containers"),
        (MANIFEST, ""),
    ],
)
def test_a_file_that_is_no_job_is_refused(manifest: object, fault: str) -> None:
    assert fault_of(manifest).startswith(fault)


def node(name: str = "gpu-node-1", ready: str = "True") -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": name},
        "status": {"conditions": [{"type": "Ready", "status": ready}]},
    }


def left(kubectl: FakeKubectl, records: Path, *objects: Json) -> str:
    """Return why something of the job may still run; empty if nothing does."""
    kubectl.show(*objects)
    found = processes_left(kube_resources(records), SERVICE, 1, "")
    return found.why if isinstance(found, Unreachable) else str(found.pids or "")


def test_a_job_is_dead_when_each_pod_has_ended_or_is_gone_from_a_node_that_is_ready(
    kubectl: FakeKubectl, records: Path
) -> None:
    kubectl.show(job(), pod())
    scheduler = KubeScheduler(kube_resources(records), SERVICE)
    scheduler.register("train")
    scheduler.ask_queue("me")
    assert left(kubectl, records, pod()) == "pod train-a on node gpu-node-1 has not ended"
    deleted = pod(metadata={"deletionTimestamp": "2026-11-28T15:00:00Z"})
    assert "has not ended" in left(kubectl, records, deleted)
    # the node itself reported the exit code
    assert left(kubectl, records, pod(phase="Failed", exit_code=1)) == ""
    lost = pod(phase="Failed")  # a controller says so: the container was never seen to end
    assert "does not hear of node gpu-node-1" in left(kubectl, records, lost, node(ready="Unknown"))
    assert "does not hear of node gpu-node-1" in left(kubectl, records, node(ready="Unknown"))
    assert "cannot be asked" in left(kubectl, records)  # no pod, and no such node
    assert left(kubectl, records, node()) == ""
    assert left(kubectl, records, pod("x", "u2"), node()) == ""  # a pod of another Job
    kubectl.fail("Error from server (Forbidden)", stdout='{"kind": "List", "items": []}')
    assert "gave no answer" in str(processes_left(kube_resources(records), SERVICE, 1, ""))


def test_what_the_user_cancels_is_deleted_and_counts_as_cancelled(
    kubectl: FakeKubectl, records: Path
) -> None:
    kubectl.show(job(), pod())
    resources = kube_resources(records)
    scheduler = KubeScheduler(resources, SERVICE)
    scheduler.register("train")
    scheduler.ask_queue("me")
    control = KubeControl(resources, SERVICE)
    assert control.queued_jobs("me") == {JobRef(1): "job/train"}
    kubectl.fail("Error from server (Forbidden): jobs.batch is forbidden", "delete")
    assert "Forbidden" in control.cancel([JobRef(1)])
    kubectl.heal()
    assert control.cancel([JobRef(1)]) == ""
    scheduler.ask_queue("me")
    (row,) = scheduler.ask_record(1)  # type: ignore[misc] # a row
    assert (row.state, row.reason) == ("CANCELLED", "deleted by jobmon's user")
    assert control.queued_jobs("me") == {}
