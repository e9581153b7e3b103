"""A monitor of a job on Kubernetes: one message each, and none that is false."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from jobmon_core.domain.job.tracking.model import End, WatchedJob
from jobmon_core.domain.slurm.states import Outcome
from jobmon_core.monitor.job_monitor import JobMonitor
from jobmon_core.scheduler.base import RemoteJob
from jobmon_core.scheduler.kubernetes import poll
from jobmon_core.scheduler.kubernetes.client import KubeScheduler
from jobmon_core.scheduler.kubernetes.records import KubeJobFolder, Registered
from tests.support.clock import FakeClock
from tests.support.fake_kubectl import (
    BACKOFF,
    COMPLETE,
    RECORDINGS,
    SERVICE,
    FakeKubectl,
    Json,
    KubeInProcess,
    condition,
    job,
    kube_resources,
    pod,
    recorded_call,
    recorded_objects,
)
from tests.support.monitor_deps import monitor_deps

needs_recordings = pytest.mark.skipif(
    not RECORDINGS.is_dir(), reason="the recorded answers do not lie beside the checkout"
)


@pytest.fixture
def kubectl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeKubectl:
    fake = FakeKubectl(tmp_path / "kubectl")
    monkeypatch.setenv("PATH", f"{fake.bin}:{os.environ['PATH']}")
    return fake


def watched_job(remote: RemoteJob, clock: FakeClock) -> WatchedJob:
    """Return the state of a job whose monitor begins."""
    return WatchedJob(
        id="kubernetes-1-x",
        job_id=remote.ref.job_id,
        registered_s=clock.now(),
        submitted_s=remote.submit_s,
        backend="kubernetes",
        cluster=remote.cluster,
        remote=True,
        user="me",
        name=remote.name,
        logs=remote.logs,
    )


class Watch:
    """A monitor of one job, which sees one state of the cluster after the other."""

    def __init__(
        self, kubectl: FakeKubectl, folder: Path, kind: type[KubeScheduler], name: str, *objects: Json
    ) -> None:
        self.kubectl, self.clock = kubectl, FakeClock()
        records = folder / "kubernetes"
        records.mkdir()
        kubectl.show(*objects)
        scheduler = kind(kube_resources(records), SERVICE)
        if isinstance(scheduler, KubeInProcess):
            scheduler.runner.world = kubectl.world
        remote = scheduler.register(name)
        watched = watched_job(remote, self.clock)
        self.monitor = JobMonitor(watched, monitor_deps(folder, scheduler, self.clock))

    def polled(self, times: int = 1) -> WatchedJob:
        """Return the job after that many looks."""
        for _ in range(times):
            self.clock.now_s += 60.0
            self.monitor.poll_once()
        return self.monitor.job

    def sees(self, *objects: Json, times: int = 1) -> WatchedJob:
        """Return the job after looks at these objects."""
        self.kubectl.show(*objects)
        return self.polled(times)


Start = Callable[..., Watch]


@pytest.fixture
def start(kubectl: FakeKubectl, tmp_path: Path) -> Start:
    return lambda name, *objects: Watch(kubectl, tmp_path, KubeScheduler, name, *objects)


@pytest.fixture
def start_in_process(kubectl: FakeKubectl, tmp_path: Path) -> Start:
    """As `start`, for tables of recorded answers: only the registration starts kubectl."""
    return lambda name, *objects: Watch(kubectl, tmp_path, KubeInProcess, name, *objects)


def end_of(watched: WatchedJob) -> End:
    end = watched.tasks[""].end
    assert end is not None, watched.tasks
    return end


def titles(watched: WatchedJob) -> list[str]:
    return [entry.message.title for entry in watched.outbox]


def test_a_job_that_fails_has_one_message_with_the_exit_code_of_its_pod(start: Start) -> None:
    watch = start("job/train", job(), pod())
    running = watch.polled()
    assert running.tasks[""].state == "RUNNING"
    assert running.tasks[""].nodes == "gpu-node-1"
    assert running.outbox == ()
    watched = watch.sees(job(conditions=(BACKOFF,)), pod(phase="Failed", exit_code=3), times=4)
    assert len(titles(watched)) == 1
    assert "job/train (1) failed" in titles(watched)[0]
    end = end_of(watched)
    assert (end.exit_code, end.raw_state) == (3, "FAILED (BackoffLimitExceeded)")
    assert watched.source_phrase(end.source) == "as reported by Kubernetes"


def test_a_job_that_is_complete_has_succeeded_once(start: Start) -> None:
    watch = start("train", job(), pod())
    watched = watch.sees(job(conditions=(COMPLETE,)), pod(phase="Succeeded", exit_code=0), times=5)
    assert (watched.outcome, end_of(watched).exit_code) == (Outcome.SUCCESS, 0)
    assert len(titles(watched)) == 1


def test_a_job_that_was_removed_is_no_success_and_its_outcome_is_unknown(start: Start) -> None:
    watch = start("job/train", job(), pod())
    watch.polled()
    watched = watch.sees(times=4)
    assert watched.outcome is Outcome.UNKNOWN
    (entry,) = watched.outbox
    assert "was deleted, or removed after its end" in entry.message.summary


def test_a_job_that_is_gone_while_its_pod_runs_on_has_not_ended(start: Start) -> None:
    watch = start("job/train", job(), pod())
    watch.polled()
    orphan = pod(metadata={"ownerReferences": [], "labels": {"job-name": "train", "controller-uid": "u1"}})
    watched = watch.sees(orphan, times=4)
    assert not watched.ended
    assert "its job was deleted, but pod train-a has not ended" in watched.tasks[""].reason
    watched = watch.sees({**orphan, **_phase(orphan, "Succeeded")}, times=3)
    assert watched.outcome is Outcome.SUCCESS


def _phase(shown: Json, phase: str) -> Json:
    return {"status": {**shown["status"], "phase": phase}}


def test_another_job_of_the_same_name_is_not_the_watched_one(start: Start) -> None:
    watch = start("job/train", job(), pod())
    watch.polled()
    new = job(uid="u2", conditions=(COMPLETE,))
    watched = watch.sees(new, pod("train-b", "u2", "Succeeded", exit_code=0), times=4)
    assert watched.outcome is Outcome.UNKNOWN
    assert "another object of this name" in watched.outbox[0].message.summary


def test_the_exit_code_of_a_pod_that_was_seen_counts_when_the_pod_is_gone(start: Start) -> None:
    watch = start("job/train", job(spec={"backoffLimit": 1}), pod())
    watch.sees(job(spec={"backoffLimit": 1}), pod(phase="Failed", exit_code=137, exit_reason="OOMKilled"))
    watched = watch.sees(job(conditions=(BACKOFF,)), times=3)
    assert (end_of(watched).state, end_of(watched).exit_code) == ("OUT_OF_MEMORY", 137)


def test_an_image_that_cannot_be_pulled_is_told_in_words_only_after_a_time_and_once(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "train:9"'}}
    stuck = pod(phase="Pending", container={"state": waiting})
    watch = start("job/train", job(), stuck)
    first = watch.polled(2)
    assert first.outbox == ()
    assert first.tasks[""].reason.startswith("ImagePullBackOff: the image cannot be pulled; Back-off pulling")
    monkeypatch.setattr(poll, "STUCK_AFTER_S", 0.0)
    watched = watch.polled(4)
    assert titles(watched) == ["job/train (1) does not go on by itself"]
    assert not watched.ended


def test_a_pod_without_a_job_ends_with_its_phase(start: Start) -> None:
    alone = pod("train-a", owner="")
    watch = start("pod/train-a", alone)
    assert watch.polled().tasks[""].state == "RUNNING"
    watched = watch.sees({**alone, **_phase(pod(phase="Failed", exit_code=9), "Failed")}, times=3)
    assert (end_of(watched).state, end_of(watched).exit_code) == ("FAILED", 9)


# the outcome of each recorded case: the job, what is shown one after the other, its end
CASES: dict[str, tuple[str, list[str], tuple[str, int | None] | None]] = {
    "waits for a GPU": (
        "train-a",
        ["01_pending/1_created_no_pod", "01_pending/2_pod_no_conditions", "01_pending/3_unschedulable"],
        None,
    ),
    "container is created": ("train-b", ["02_creating/1_scheduled", "02_creating/3_failedmount"], None),
    "image": ("train-c", ["03_image/1_errimagepull", "03_image/2_imagepullbackoff"], None),
    "succeeded": (
        "train-d",
        ["04_succeeded/1_running", "04_succeeded/2_pod_succeeded_job_not_yet", "04_succeeded/3_complete"],
        ("COMPLETED", 0),
    ),
    "succeeded, pod removed": (
        "train-d",
        ["04_succeeded/1_running", "04_succeeded/4_pod_removed"],
        ("COMPLETED", None),
    ),
    "exit 3": (
        "train-e",
        ["05_failed_exit3/1_pod_failed_job_not_yet", "05_failed_exit3/2_job_failed"],
        ("FAILED", 3),
    ),
    "kubectl 1.20": ("train-e", ["05_failed_exit3/2_job_failed.kubectl-1.20"], ("FAILED", 3)),
    "out of memory": ("train-f0", ["06_oomkilled/1_oomkilled"], ("OUT_OF_MEMORY", 137)),
    "SIGKILL of unknown origin": ("train-f1", ["06_oomkilled/2_exit137_error"], ("FAILED", 137)),
    "exit 143": ("train-f2", ["06_oomkilled/3_exit143"], ("FAILED", 143)),
    "command not started": ("train-f3", ["06_oomkilled/4_starterror"], ("FAILED", 128)),
    "evicted, another pod follows": (
        "train-g",
        ["07_evicted/1_kubelet_evicted", "07_evicted/2_replacement"],
        None,
    ),
    "evicted, as newer kubelets say": (
        "train-g2",
        ["07_evicted/3_disruptiontarget_kubelet"],
        ("NODE_FAIL", None),
    ),
    "evicted by the API": (
        "train-g3",
        ["07_evicted/5_eviction_api_terminating", "07_evicted/7_old_pod_gone"],
        None,
    ),
    "node lost": (
        "train-h",
        ["08_node_lost/0_running", "08_node_lost/1_node_unknown", "08_node_lost/3_both"],
        None,
    ),
    "restarted containers": (
        "train-i",
        [
            "09_crashloop/1_terminated_between",
            "09_crashloop/2_crashloopbackoff",
            "09_crashloop/3_running_again",
        ],
        None,
    ),
    "too many restarts, pod gone": (
        "train-i",
        ["09_crashloop/3_running_again", "09_crashloop/4_backofflimit", "09_crashloop/5_pod_gone"],
        ("FAILED", 3),
    ),
    "between tries": ("train-j", [f"10_backofflimit/{n}_failed" for n in (1, 2, 3)], None),
    "all tries failed": (
        "train-j",
        ["10_backofflimit/5_all_failed_no_condition", "10_backofflimit/6_job_failed"],
        ("FAILED", 1),
    ),
    "deadline": (
        "train-k",
        ["11_deadline/1_running", "11_deadline/2_failed_terminating", "11_deadline/3_pods_gone"],
        ("TIMEOUT", None),
    ),
    "deadline of the pod": ("train-k2", ["11_deadline/4_pod_deadline"], ("TIMEOUT", None)),
    "foreground deletion": ("train-m3", ["13_deleted/7_job_terminating"], None),
    "parallel": (
        "train-o",
        ["15_parallel/1_three_running", "15_parallel/3_replaced", "15_parallel/4_complete_with_failure"],
        ("COMPLETED", 0),
    ),
    "parallel, others killed": (
        "train-o2",
        ["15_parallel/5_failed_others_killed", "15_parallel/6_failed_one_pod_left"],
        ("FAILED", 1),
    ),
    "work queue": (
        "train-o3",
        ["15_parallel/7_workqueue_one_done", "15_parallel/8_workqueue_complete"],
        ("COMPLETED", 0),
    ),
    "replacement": (
        "train-p",
        ["16_replacement/2_old_terminating_new_running", "16_replacement/4_old_gone"],
        None,
    ),
    "sidecar runs on": ("train-q", ["17_two_containers/1_main_done_sidecar_runs"], None),
    "init container failed": ("train-r", ["18_init_container/2_init_failed_never"], ("FAILED", 2)),
    "quota": ("train-s", ["20_quota/1_failedcreate"], None),
}


@needs_recordings
@pytest.mark.parametrize("case", CASES)
def test_each_recorded_case_has_the_outcome_of_the_table_and_is_told_once(
    case: str, start_in_process: Start
) -> None:
    name, shown, expected = CASES[case]
    objects = [recorded_objects(each) for each in shown]
    names = {each["metadata"]["name"] for each in objects[0] if each["kind"] == "Job"}
    name = name if name in names else next(iter(names))
    watch = start_in_process(f"job/{name}", *objects[0])
    for each in objects:
        watched = watch.sees(*each)
    watched = watch.polled(3)
    if expected is None:
        assert not watched.ended
        assert titles(watched) == []
        return
    end = end_of(watched)
    assert (end.state, end.exit_code) == expected
    assert len(titles(watched)) == 1


BAD = (
    *("22_errors/forbidden_all", "22_errors/forbidden_events", "22_errors/unauthorized", "22_errors/refused"),
    *("22_errors/bad_context", "22_errors/x509", "22_errors/unknown_type_among", "22_errors/hang_timeout"),
    *("22_errors/etcd_hang", "22_errors/cold_unauthorized", "22_errors/no_kubeconfig"),
)


@needs_recordings
@pytest.mark.parametrize("name", BAD)
def test_a_recorded_answer_that_failed_proves_nothing(
    name: str, start: Start, start_in_process: Start, kubectl: FakeKubectl
) -> None:
    begin = start if name == BAD[0] else start_in_process  # one is the answer of a program
    watch = begin("job/train", job(), pod())
    watch.polled()
    call = recorded_call(name)
    kubectl.fail(call["stderr"], stdout=call["stdout"], rc=call["rc"])
    watched = watch.polled(10)
    assert not watched.ended
    assert watched.stale_since_s is not None
    assert watched.outbox == ()
    kubectl.heal()
    assert watch.polled().tasks[""].state == "RUNNING"


EMPTY = '{"apiVersion": "v1", "items": [], "kind": "List", "metadata": {}}'
ANSWERS: tuple[Json, ...] = (
    {"stderr": "Error from server (Forbidden): jobs.batch is forbidden", "stdout": EMPTY, "rc": 1},
    {"stderr": "error: You must be logged in to the server (Unauthorized)", "stdout": EMPTY, "rc": 1},
    {"stderr": "The connection to the server 127.0.0.1:1 was refused", "stdout": "", "rc": 1},
    {"stderr": "Unable to connect to the server: context deadline exceeded", "stdout": "", "rc": 1},
    {"stderr": "", "stdout": '{"apiVersion": "v1", "items": [{"kind": "Jo', "rc": 0},
    {"stderr": "", "stdout": '{"apiVersion": "v1", "kind": "List"}', "rc": 0},
    {"stderr": "", "stdout": "", "rc": 0},
    {"stderr": "", "stdout": EMPTY, "rc": 0},  # also to the question by name
    {"stderr": 'Error from server (NotFound): namespaces "ml" not found', "stdout": "", "rc": 1},
)


ENDS: tuple[tuple[Outcome, tuple[Json, ...]], ...] = (
    (Outcome.SUCCESS, (job(conditions=(COMPLETE,)), pod(phase="Succeeded", exit_code=0))),
    (Outcome.SUCCESS, (job(conditions=(COMPLETE,)),)),
    (Outcome.FAILURE, (job(conditions=(BACKOFF,)), pod(phase="Failed", exit_code=3))),
    (
        Outcome.FAILURE,
        (job(conditions=(BACKOFF,)), pod(phase="Failed", exit_code=137, exit_reason="OOMKilled")),
    ),
    (Outcome.FAILURE, (job(conditions=(condition("Failed", "DeadlineExceeded"),)),)),
    (Outcome.UNKNOWN, ()),  # it was deleted
    (Outcome.UNKNOWN, (job(uid="u2", conditions=(COMPLETE,)),)),  # another one of its name
)
# which questions get a bad answer: all, that for all objects, that by name, those about events
ASKED: tuple[list[str], ...] = ([], ["jobs.batch,pods"], ["jobs.batch train"], ["events"])


def _play(folder: Path, seed: int) -> str:
    """One random interleaving of good and bad answers; return what was wrong about the end, if anything."""
    draw, clock = random.Random(seed), FakeClock()  # noqa: S311 - the same each time
    (folder / "kubernetes").mkdir(parents=True)
    scheduler = KubeInProcess(kube_resources(folder / "kubernetes"), SERVICE)
    known, world = Registered(SERVICE, "job", "train", "u1"), scheduler.runner.world
    remote = KubeJobFolder.new(scheduler.resources, known).remote_job(known)
    monitor = JobMonitor(watched_job(remote, clock), monitor_deps(folder, scheduler, clock))

    def look(*objects: Json, is_bad: bool) -> WatchedJob:
        rule = {"words": draw.choice(ASKED), **draw.choice(ANSWERS)}
        world.update(objects=list(objects), rules=[rule] if is_bad else [])
        clock.now_s += 60.0
        monitor.poll_once()
        return monitor.job

    outcome, end = draw.choice(ENDS)
    waiting, running = (job(), pod(phase="Pending", status={"containerStatuses": []})), (job(), pod())
    for shown in ((job(),), waiting, running):
        for _ in range(draw.randint(1, 5)):
            if look(*shown, is_bad=draw.random() < 0.6).ended:
                return f"{seed}: ended while {shown}"
    for _ in range(draw.randint(0, 4)):
        if look(*end, is_bad=True).ended and outcome is not monitor.job.outcome:
            return f"{seed}: {monitor.job.outcome} by a bad answer"
    watched = [look(*end, is_bad=False) for _ in range(5)][-1]
    told = [title for title in titles(watched) if "does not go on" not in title]
    if watched.outcome is not outcome:
        return f"{seed}: {watched.outcome}, not {outcome}"
    return "" if len(told) == 1 else f"{seed}: {told}"


def test_no_random_interleaving_of_good_and_bad_answers_has_a_wrong_end(tmp_path: Path) -> None:
    wrong = [_play(tmp_path / str(seed), seed) for seed in range(200)]
    assert [each for each in wrong if each] == []


def test_a_deadline_says_that_no_exit_code_is_left(start: Start) -> None:
    watch = start("job/train", job(), pod())
    watch.polled()
    watched = watch.sees(job(conditions=(condition("Failed", "DeadlineExceeded"),)), times=3)
    assert end_of(watched).state == "TIMEOUT"
    assert "no exit code is left" in end_of(watched).reason


def test_a_pod_that_is_preempted_and_removed_leaves_its_cause(start: Start) -> None:
    watch = start("job/train", job(), pod())
    told = condition("DisruptionTarget", "PreemptionByScheduler", "preempting to make room")
    removed = {"deletionTimestamp": "2026-11-28T15:00:00Z", "labels": {}}
    assert not watch.sees(job(), pod(metadata=removed, status={"conditions": [told]})).ended
    watched = watch.sees(job(conditions=(BACKOFF,)), times=4)
    assert end_of(watched).state == "PREEMPTED"
    assert end_of(watched).reason.startswith("PreemptionByScheduler: a pod with a higher priority took its")
