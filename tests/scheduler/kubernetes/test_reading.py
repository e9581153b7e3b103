"""What objects and pods mean. The kinds that no server here has: by their documentation.

The bodies are written by hand after the types of JobSet v1alpha2, training-operator 1.9, Trainer v1alpha1,
KubeRay (ray.io/v1) and Volcano v1alpha1; more of them lie beside some checkouts.
"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobmon_core.scheduler.kubernetes.objects import read_list
from jobmon_core.scheduler.kubernetes.pods import Reading, end_of, wait_of
from jobmon_core.scheduler.kubernetes.reading import KINDS, pods_of, read_pod
from tests.support.fake_kubectl import BACKOFF, COMPLETE, RECORDINGS, Json, condition, job, pod

NOW_S = 1_796_000_000.0
needs_recordings = pytest.mark.skipif(
    not RECORDINGS.is_dir(), reason="the answers by documentation do not lie beside the checkout"
)


def reading(word: str, *items: Json) -> Reading:
    """Return what a kind's object shows among these."""
    objects, pods = read_list({"kind": "List", "items": list(items)}) or ([], [])
    kind = KINDS[word]
    (found,) = [each for each in objects if (each.kind, each.group) == (kind.kind, kind.group)]
    own = pods_of(found, pods)
    return kind.read(found, own, [end for each in own if (end := end_of(each))], NOW_S)


def other(api: str, kind: str, status: Json, **spec: object) -> Json:
    metadata = {"name": "t", "uid": "u1", "creationTimestamp": "2026-11-28T14:56:30Z"}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec, "status": status}


JOBSET, PYTORCH = ("jobset.x-k8s.io/v1alpha2", "JobSet"), ("kubeflow.org/v1", "PyTorchJob")
TRAIN, RAYJOB = ("trainer.kubeflow.org/v1alpha1", "TrainJob"), ("ray.io/v1", "RayJob")
VOLCANO = ("batch.volcano.sh/v1alpha1", "Job")


def ray(deployment: str, status: str = "", **more: str) -> Json:
    return other(*RAYJOB, {"jobDeploymentStatus": deployment, "jobStatus": status, **more})


@pytest.mark.parametrize(
    ("word", "shown", "state"),
    [
        ("jobset", other(*JOBSET, {"conditions": [condition("Completed", "AllJobsCompleted")]}), "COMPLETED"),
        ("jobset", other(*JOBSET, {"conditions": [condition("Failed", "ReachedMaxRestarts")]}), "FAILED"),
        ("jobset", other(*JOBSET, {"conditions": [condition("Suspended")]}, suspend=True), "PENDING"),
        ("pytorchjob", other(*PYTORCH, {"conditions": [condition("Created")]}), "PENDING"),
        ("pytorchjob", other(*PYTORCH, {"conditions": [condition("Succeeded")]}), "COMPLETED"),
        ("pytorchjob", other(*PYTORCH, {"conditions": [condition("Failed")]}), "FAILED"),
        ("pytorchjob", other(*PYTORCH, {}, runPolicy={"suspend": True}), "PENDING"),
        ("trainjob", other(*TRAIN, {"conditions": [condition("Complete")]}), "COMPLETED"),
        ("trainjob", other(*TRAIN, {"conditions": [condition("Failed")]}), "FAILED"),
        ("rayjob", ray("Initializing"), "PENDING"),
        ("rayjob", ray("Running", "RUNNING"), "RUNNING"),
        ("rayjob", ray("Running", "PENDING"), "PENDING"),
        ("rayjob", ray("Running"), "PENDING"),
        ("rayjob", ray("Complete", "SUCCEEDED"), "COMPLETED"),
        ("rayjob", ray("Complete", "STOPPED"), "CANCELLED"),
        ("rayjob", ray("Complete", "FAILED"), "FAILED"),
        ("rayjob", ray("Failed", "FAILED", reason="AppFailed", message="exit 3"), "FAILED"),
        ("rayjob", ray("Failed", "RUNNING", reason="DeadlineExceeded"), "TIMEOUT"),
        ("rayjob", ray("Retrying", "FAILED"), "PENDING"),
        ("rayjob", ray("Suspended"), "PENDING"),
        ("rayjob", ray("NewWord", "SUCCEEDED"), "UNKNOWN"),
        ("vcjob", other(*VOLCANO, {"state": {"phase": "Running"}}), "RUNNING"),
        ("vcjob", other(*VOLCANO, {"state": {"phase": "Completed"}}), "COMPLETED"),
        ("vcjob", other(*VOLCANO, {"state": {"phase": "Failed"}}), "FAILED"),
        ("vcjob", other(*VOLCANO, {"state": {"phase": "Aborted"}}), "CANCELLED"),
        ("vcjob", other(*VOLCANO, {"state": {"phase": "Restarting"}}), "PENDING"),
        ("vcjob", other(*VOLCANO, {"state": {"phase": "NewWord"}}), "UNKNOWN"),
        ("job", job(conditions=(condition("Suspended"),), spec={"suspend": True}), "PENDING"),
        ("job", job(conditions=(condition("SuccessCriteriaMet"),)), "COMPLETING"),
        ("job", job(conditions=(condition("FailureTarget"), BACKOFF)), "FAILED"),
        ("job", job(conditions=({**condition("Suspended"), "status": "False"}, COMPLETE)), "COMPLETED"),
    ],
)
def test_each_kind_ends_only_with_the_words_that_its_documentation_calls_final(
    word: str, shown: Json, state: str
) -> None:
    assert reading(word, shown).state == state


def test_a_suspended_job_names_its_queue_of_kueue() -> None:
    labels = {"kueue.x-k8s.io/queue-name": "gpu-queue"}
    shown = reading("job", job(spec={"suspend": True}, metadata={"labels": labels}))
    assert shown.reason == "Suspended: it waits in the queue gpu-queue of Kueue"


# file, kind, state; None: not ended
BY_DOCUMENTATION = [
    ("batch/01_suspended_at_creation", "job", "PENDING"),
    ("batch/02_suspended_while_running", "job", None),
    ("batch/03_resumed", "job", "RUNNING"),
    ("batch/04_running", "job", "RUNNING"),
    ("batch/05_success_criteria_met_not_complete", "job", "COMPLETING"),
    ("batch/06_complete", "job", "COMPLETED"),
    ("batch/07_success_policy", "job", "COMPLETED"),
    ("batch/08_failure_target_not_failed", "job", "COMPLETING"),
    ("batch/09_failed", "job", "FAILED"),
    ("batch/10_deadline", "job", "TIMEOUT"),
    ("batch/11_pod_failure_policy_failjob", "job", "FAILED"),
    ("batch/12_pod_failure_policy_ignore", "job", "RUNNING"),
    ("batch/13_replacement_policy_failed", "job", "RUNNING"),
    ("batch/15_uncounted", "job", None),
    ("batch/16_indexed_running", "job", "RUNNING"),
    ("batch/17_indexed_failed_indexes", "job", "FAILED"),
    ("batch/20_native_sidecar_done", "job", "COMPLETED"),
    ("batch/21_scheduling_gated", "job", "PENDING"),
    ("batch/22_disruption_DeletionByTaintManager", "job", None),
    ("batch/22_disruption_PreemptionByScheduler", "job", None),
    ("kueue/01_pending", "job", "PENDING"),
    ("kueue/04_admitted", "job", None),
    ("kueue/05_evicted_preempted", "job", "PENDING"),
    ("kueue/08_finished_ok", "job", "COMPLETED"),
    ("kueue/09_finished_failed", "job", "FAILED"),
    ("jobset/01_running", "jobset", None),
    ("jobset/02_restarting", "jobset", None),
    ("jobset/03_completed", "jobset", "COMPLETED"),
    ("jobset/04_failed", "jobset", "FAILED"),
    ("jobset/06_suspended", "jobset", "PENDING"),
    ("pytorchjob/02_running", "pytorchjob", "RUNNING"),
    ("pytorchjob/03_restarting", "pytorchjob", None),
    ("pytorchjob/04_succeeded", "pytorchjob", "COMPLETED"),
    ("pytorchjob/05_failed", "pytorchjob", "FAILED"),
    ("pytorchjob/06_suspended", "pytorchjob", "PENDING"),
    ("pytorchjob/07_trainjob_complete", "trainjob", "COMPLETED"),
    ("pytorchjob/08_trainjob_failed", "trainjob", "FAILED"),
    ("kuberay/01_rayjob_initializing", "rayjob", None),
    ("kuberay/02_rayjob_running", "rayjob", "RUNNING"),
    ("kuberay/04_rayjob_complete", "rayjob", "COMPLETED"),
    ("kuberay/05_rayjob_failed_app", "rayjob", "FAILED"),
    ("kuberay/06_rayjob_failed_deadline", "rayjob", "TIMEOUT"),
    ("kuberay/07_rayjob_stopped", "rayjob", "CANCELLED"),
    ("kuberay/09_rayjob_retrying", "rayjob", "PENDING"),
    ("volcano/01_pending", "vcjob", "PENDING"),
    ("volcano/02_running", "vcjob", "RUNNING"),
    ("volcano/03_completed", "vcjob", "COMPLETED"),
    ("volcano/05_failed", "vcjob", "FAILED"),
    ("volcano/07_terminated", "vcjob", "CANCELLED"),
]


@needs_recordings
@pytest.mark.parametrize(("name", "word", "state"), BY_DOCUMENTATION)
def test_the_bodies_by_documentation_have_the_outcome_of_their_table(
    name: str, word: str, state: str | None
) -> None:
    path = RECORDINGS / "by_documentation" / f"{name}.json"
    items = json.loads(path.read_text(encoding="utf-8"))["items"]
    kind = KINDS[word]
    owners = [each for each in items if each["kind"] == kind.kind and kind.group in each["apiVersion"]]
    pods = [each for each in items if each["kind"] == "Pod"]
    shown = reading(word, owners[0], *pods)
    if state is None:
        assert shown.state.is_alive, shown
    else:
        assert shown.state == state, shown


@pytest.mark.parametrize(
    ("status", "state", "word"),
    [
        (
            {"reason": "Evicted", "message": "low on memory"},
            "NODE_FAIL",
            "Evicted: its",
        ),
        ({"conditions": [condition("DisruptionTarget", "PreemptionByScheduler")]}, "PREEMPTED", "Preemption"),
        ({"conditions": [condition("DisruptionTarget", "DeletionByPodGC")]}, "NODE_FAIL", "DeletionByPodGC"),
        ({"reason": "DeadlineExceeded"}, "TIMEOUT", "DeadlineExceeded"),
    ],
)
def test_a_pod_that_was_ended_from_outside_has_no_exit_code(status: Json, state: str, word: str) -> None:
    shown = pod(owner="", phase="Failed", exit_code=137)
    _, (found,) = read_list({**shown, "status": {**shown["status"], **status}}) or ([], [])
    read = read_pod(found, NOW_S)
    assert (read.state, read.exit_code) == (state, None)
    assert read.reason.startswith(word)


def test_an_exit_before_a_restart_is_not_the_end_of_a_pod_that_failed_later() -> None:
    (before,) = pod(exit_code=3)["status"]["containerStatuses"]
    container = {"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": before["state"]}
    shown = pod(owner="", phase="Failed", container=container)
    status = {**shown["status"], "reason": "UnexpectedAdmissionError", "message": "no GPU is left"}
    _, (found,) = read_list({**shown, "status": status}) or ([], [])
    read = read_pod(found, NOW_S)
    assert (read.state, read.exit_code) == ("FAILED", None)
    assert read.reason == "UnexpectedAdmissionError: no GPU is left"


def test_a_lost_node_is_no_end_and_says_that_the_training_may_run_on() -> None:
    conditions = [
        {"type": "Ready", "status": "False"},
        {"type": "ContainersReady", "status": "True"},
    ]
    _, (found,) = read_list(pod(status={"conditions": conditions})) or ([], [])
    assert read_pod(found, NOW_S).state == "RUNNING"
    wait = wait_of(found, NOW_S)
    assert wait.is_stuck
    assert "does not hear of node gpu-node-1 any more; pod train-a may still run there" in wait.reason


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(key=st.sampled_from(["spec", "status", "metadata"]), junk=_JSON, is_pod=st.booleans())
def test_no_body_makes_a_reading_raise_or_end_a_job(key: str, junk: object, is_pod: bool) -> None:  # noqa: FBT001 - drawn
    shown: Json = pod() if is_pod else job()
    shown[key] = {**shown[key], **junk} if isinstance(junk, dict) else junk
    found = read_list({"kind": "List", "items": [shown]})
    if found and found[0]:
        assert KINDS["job"].read(found[0][0], [], [], NOW_S).state.is_alive
    if found and found[1]:
        read_pod(found[1][0], NOW_S)
