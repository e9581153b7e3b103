"""What an object and its pods mean together, for each kind that can be watched. Pure.

Only a condition, or a word, that the documentation calls final is an end. The facts about pods say how.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.kubernetes.pods import (
    end_of,
    is_running,
    latest_failure,
    started_s,
    wait_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from jobmon_core.scheduler.kubernetes.objects import KubeObject, Pod
    from jobmon_core.scheduler.kubernetes.pods import PodEnd

NO_POD = "no pod of it is left, so its exit code is not known"
_DEADLINE = (
    "its time limit (activeDeadlineSeconds) is over; Kubernetes deletes its pods then, so no exit code is "
    "left"
)


@dataclass(frozen=True, slots=True)
class Reading:
    """What is known of a job. Times are Unix seconds."""

    state: JobState
    reason: str = ""
    word: str = ""  # of Kubernetes, if it says more than the state
    exit_code: int | None = None
    start_s: int | None = None
    end_s: int | None = None
    is_stuck: bool = False  # a person must do something, if it lasts


class Kind(NamedTuple):
    """A kind of object that can be watched."""

    word: str  # before the slash in its name: ``job/train``
    resource: str  # as kubectl names it
    kind: str
    group: str
    pod_label: str  # of its pods: the label with its name, if they are not its own
    read: Callable[[KubeObject, Sequence[Pod], Sequence[PodEnd], float], Reading]


def read_job(job: KubeObject, pods: Sequence[Pod], ends: Sequence[PodEnd], now_s: float) -> Reading:
    """A Job of batch/v1; also a JobSet, a TrainJob and a PyTorchJob, which end alike."""
    good = job.condition("Complete", "Completed", "Succeeded")
    bad = job.condition("Failed")
    if good:
        return _success(job, ends, good.since_s)
    if bad and bad.reason == "DeadlineExceeded":
        return Reading(JobState.TIMEOUT, f"DeadlineExceeded: {_DEADLINE}", bad.reason, end_s=bad.since_s)
    if bad:
        return failed(ends, bad.reason, bad.message, bad.since_s)
    return not_ended(job, pods, ends, now_s)


def _success(job: KubeObject, ends: Sequence[PodEnd], end_s: int | None) -> Reading:
    codes = [each.exit_code for each in ends if each.is_good and each.exit_code is not None]
    return Reading(
        JobState.COMPLETED,
        exit_code=codes[0] if codes else None,
        end_s=job.completed_s or end_s,
    )


def failed(ends: Sequence[PodEnd], word: str, message: str, end_s: int | None) -> Reading:
    """The end of a job that Kubernetes calls failed: the pod says why."""
    failure = latest_failure(list(ends))
    if failure is None:
        said = f"{word}: {message}; {NO_POD}" if message else f"{word}: {NO_POD}"
        return Reading(JobState.FAILED, said, word, end_s=end_s)
    reason = failure.reason
    if word == "PodFailurePolicy":
        reason = f"{word}: {message}" if message else word
    return Reading(failure.state, reason, word, failure.exit_code, end_s=failure.ended_s or end_s)


def not_ended(job: KubeObject, pods: Sequence[Pod], ends: Sequence[PodEnd], now_s: float) -> Reading:
    """The state of a job that has neither succeeded nor failed."""
    if decided := job.condition("SuccessCriteriaMet", "FailureTarget"):
        return Reading(JobState.COMPLETING, "its end is decided, and its last pods end", decided.type)
    if job.is_being_deleted:
        return Reading(JobState.COMPLETING, "it is being deleted, and waits for its pods to end")
    alive = [each for each in pods if not each.has_ended]
    if job.is_suspended or (job.condition("Suspended") and not alive):
        return Reading(JobState.PENDING, _suspended(job), "Suspended")
    return from_pods(alive, ends, now_s)


def from_pods(alive: Sequence[Pod], ends: Sequence[PodEnd], now_s: float) -> Reading:
    """The state that pods show which have not ended."""
    running = [each for each in alive if is_running(each)]
    if not alive:
        return _between(ends)
    waits = [wait_of(each, now_s) for each in (running or alive)]
    # what needs a person comes first
    wait = max(waits, key=lambda each: (each.is_stuck, bool(each.reason)))
    if not running:
        return Reading(JobState.PENDING, wait.reason, is_stuck=wait.is_stuck)
    first_s = min(filter(None, map(started_s, running)), default=None)
    return Reading(JobState.RUNNING, wait.reason, start_s=first_s, is_stuck=wait.is_stuck)


def _between(ends: Sequence[PodEnd]) -> Reading:
    """The state of a job that has not ended, and has no pod that lives."""
    if failure := latest_failure(list(ends)):
        how = failure.reason or f"exit code {failure.exit_code}"
        words = f"its pod {failure.pod} failed ({how}), and Kubernetes has not said whether another follows"
        return Reading(JobState.RUNNING, words, start_s=failure.started_s)
    if ends:
        words = "its pods have ended, and Kubernetes has not said how the job ended"
        return Reading(JobState.COMPLETING, words)
    return Reading(JobState.PENDING, "it has no pod yet")


def _suspended(job: KubeObject) -> str:
    if job.queue:
        return f"Suspended: it waits in the queue {job.queue} of Kueue"
    return "Suspended: it waits until somebody resumes it (spec.suspend)"


def read_pod(pod: Pod, now_s: float) -> Reading:
    """A pod that no Job has made."""
    end = end_of(pod)
    if end is None or not pod.has_ended:
        return from_pods([pod], [], now_s)
    word = "" if end.is_good else pod.reason
    return Reading(end.state, end.reason, word, end.exit_code, end.started_s, end.ended_s)


_RAY_WAITS = {
    "Suspended": "it waits until somebody, or a queue, resumes it",
    "Suspending": "it is being suspended",
    "Retrying": "its last try failed, and KubeRay tries it again",
}


def read_rayjob(job: KubeObject, pods: Sequence[Pod], ends: Sequence[PodEnd], now_s: float) -> Reading:
    """A RayJob: ``jobDeploymentStatus`` decides, but Complete alone is no success."""
    word = "/".join(filter(None, (job.phase, job.inner)))
    if job.phase in ("Complete", "Failed"):
        return _end_of_rayjob(job, word)
    if job.phase in _RAY_WAITS:
        return Reading(JobState.PENDING, _RAY_WAITS[job.phase], word)
    if (job.phase, job.inner) == ("Running", "RUNNING"):
        return Reading(JobState.RUNNING, word=word, start_s=job.started_s)
    if job.phase in ("", "Initializing", "Waiting", "Running"):
        return replace(from_pods([each for each in pods if not each.has_ended], ends, now_s), word=word)
    return Reading(JobState.UNKNOWN, f"KubeRay shows the unknown state {word[:40]!r}")


def _end_of_rayjob(job: KubeObject, word: str) -> Reading:
    said = ": ".join(filter(None, (job.reason, job.message)))
    if job.phase == "Complete" and job.inner == "SUCCEEDED":
        return Reading(JobState.COMPLETED, end_s=job.completed_s)
    if job.inner == "STOPPED":
        return Reading(JobState.CANCELLED, "somebody stopped it", word, end_s=job.completed_s)
    state = JobState.TIMEOUT if job.reason == "DeadlineExceeded" else JobState.FAILED
    return Reading(state, said, word, end_s=job.completed_s)


_VOLCANO = {
    "Pending": JobState.PENDING,
    "Running": JobState.RUNNING,
    "Restarting": JobState.PENDING,
    "Aborting": JobState.COMPLETING,
    "Completing": JobState.COMPLETING,
    "Terminating": JobState.COMPLETING,
    "Aborted": JobState.CANCELLED,
    "Terminated": JobState.CANCELLED,
    "Completed": JobState.COMPLETED,
    "Failed": JobState.FAILED,
}


def read_volcano(job: KubeObject, pods: Sequence[Pod], ends: Sequence[PodEnd], now_s: float) -> Reading:
    """A Job of Volcano, whose conditions are only a history: its phase counts."""
    if job.phase == "Failed":
        return failed(ends, "Failed", job.message, job.completed_s)
    if job.phase == "Completed":
        return _success(job, ends, job.completed_s)
    if job.phase in ("Pending", "Running"):
        shown = from_pods([each for each in pods if not each.has_ended], ends, now_s)
        return replace(shown, state=_VOLCANO[job.phase], word=job.phase)
    state = _VOLCANO.get(job.phase)
    if state is None:
        return Reading(JobState.UNKNOWN, f"Volcano shows the unknown phase {job.phase[:40]!r}")
    return Reading(state, job.message or f"Volcano shows {job.phase}", job.phase, end_s=job.completed_s)


_JOBSET = "jobset.sigs.k8s.io/jobset-name"
_KINDS = (
    Kind("job", "jobs.batch", "Job", "batch", "", read_job),
    Kind("jobset", "jobsets.jobset.x-k8s.io", "JobSet", "jobset.x-k8s.io", _JOBSET, read_job),
    Kind("pytorchjob", "pytorchjobs.kubeflow.org", "PyTorchJob", "kubeflow.org", "", read_job),
    Kind("trainjob", "trainjobs.trainer.kubeflow.org", "TrainJob", "trainer.kubeflow.org", _JOBSET, read_job),
    Kind("rayjob", "rayjobs.ray.io", "RayJob", "ray.io", "job-name", read_rayjob),
    Kind("vcjob", "jobs.batch.volcano.sh", "Job", "batch.volcano.sh", "", read_volcano),
)
KINDS = {each.word: each for each in _KINDS}
POD = "pod"
WORDS = (*KINDS, POD)


def pods_of(job: KubeObject, pods: Iterable[Pod]) -> list[Pod]:
    """The pods of an object: by its uid, or where others make them for it, by its name since it exists."""
    label = next((each.pod_label for each in _KINDS if (each.kind, each.group) == (job.kind, job.group)), "")
    return [
        each
        for each in pods
        if each.is_of(job.uid)
        or (label and each.labels.get(label) == job.name and (each.created_s or 0) >= (job.created_s or 0))
    ]
