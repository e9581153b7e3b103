"""What an object and its pods mean together, for each kind that can be watched. Pure.

Only a condition, or a word, that the documentation calls final is an end. The facts about pods say how.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.kubernetes.objects import Pod
from jobmon_core.scheduler.kubernetes.pods import (
    Reading,
    end_of,
    is_running,
    latest_failure,
    started_s,
    wait_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from jobmon_core.scheduler.kubernetes.objects import KubeObject

NO_POD = "no pod of it is left, so its exit code is not known"
_DEADLINE = (
    "its time limit (activeDeadlineSeconds) is over; Kubernetes then deletes its pods: no exit code is left"
)


class Kind(NamedTuple):
    """A kind of object that can be watched."""

    word: str  # before the slash in its name: ``job/train``
    resource: str  # as kubectl names it
    kind: str
    group: str
    pod_label: str  # of its pods: the label with its name, if they are not its own
    read: Callable[[Any, Sequence[Pod], Sequence[Reading], float], Reading]


def read_job(job: KubeObject, pods: Sequence[Pod], ends: Sequence[Reading], now_s: float) -> Reading:
    """A Job of batch/v1; also a JobSet, a TrainJob and a PyTorchJob, which end alike."""
    if good := job.condition("Complete", "Completed", "Succeeded"):
        return _success(job, ends, good.since_s)
    if bad := job.condition("Failed"):
        return _failed(ends, bad.reason, bad.message, bad.since_s)
    if decided := job.condition("SuccessCriteriaMet", "FailureTarget"):
        return Reading(JobState.COMPLETING, "its end is decided, and its last pods end", decided.type)
    if job.deleted_by_s is not None:
        return Reading(JobState.COMPLETING, "it is being deleted, and waits for its pods to end")
    if job.is_suspended or (job.condition("Suspended") and all(each.has_ended for each in pods)):
        waits = "until somebody resumes it (spec.suspend)"
        if job.queue:
            waits = f"in the queue {job.queue} of Kueue"
        return Reading(JobState.PENDING, f"Suspended: it waits {waits}", "Suspended")
    return from_pods(pods, ends, now_s)


def _success(job: KubeObject, ends: Sequence[Reading], end_s: int | None) -> Reading:
    codes = (each.exit_code for each in ends if each.is_good and each.exit_code is not None)
    return Reading(JobState.COMPLETED, exit_code=next(codes, None), end_s=job.completed_s or end_s)


def _failed(ends: Sequence[Reading], word: str, message: str, end_s: int | None) -> Reading:
    """The end of a job that Kubernetes calls failed: the pod says why."""
    if word == "DeadlineExceeded":
        return Reading(JobState.TIMEOUT, f"{word}: {_DEADLINE}", word, end_s=end_s)
    said = ": ".join(filter(None, (word, message)))
    failure = latest_failure(ends)
    if failure is None:
        return Reading(
            JobState.FAILED, f"{said}; {NO_POD}" if message else f"{said}: {NO_POD}", word, end_s=end_s
        )
    reason = said if word == "PodFailurePolicy" else failure.reason
    end_s = failure.end_s or end_s
    return replace(failure, reason=reason, backend_state=word, start_s=None, end_s=end_s)


def from_pods(pods: Sequence[Pod], ends: Sequence[Reading], now_s: float) -> Reading:
    """The state of a job that has not ended, by its pods."""
    alive = [each for each in pods if not each.has_ended]
    running = [each for each in alive if is_running(each)]
    if not alive:
        return _between(ends)
    waits = [wait_of(each, now_s) for each in (running or alive)]
    # what needs a person comes first
    wait = max(waits, key=lambda each: (each.is_stuck, bool(each.reason)))
    if not running:
        return wait
    first_s = min(filter(None, map(started_s, running)), default=None)
    return replace(wait, state=JobState.RUNNING, start_s=first_s)


def _between(ends: Sequence[Reading]) -> Reading:
    """The state of a job that has not ended, and has no pod that lives."""
    if failure := latest_failure(ends):
        how = failure.reason or f"exit code {failure.exit_code}"
        words = f"its pod {failure.pod} failed ({how}), and Kubernetes has not said whether another follows"
        return Reading(JobState.RUNNING, words, start_s=failure.start_s)
    if ends:
        words = "its pods have ended, and Kubernetes has not said how the job ended"
        return Reading(JobState.COMPLETING, words)
    return Reading(JobState.PENDING, "it has no pod yet")


def read_pod(pod: Pod, now_s: float) -> Reading:
    """A pod that no Job has made."""
    end = end_of(pod)
    if end is None or not pod.has_ended:
        return from_pods([pod], [], now_s)
    return end if end.is_good else replace(end, backend_state=pod.reason)


# of RayJobs (jobDeploymentStatus, and jobStatus where that decides), then of Volcano
_PHASES = {
    **dict.fromkeys(("", "Initializing", "Waiting", "Suspended", "Suspending", "Retrying"), JobState.PENDING),
    "Running": JobState.RUNNING,
    "Running/PENDING": JobState.PENDING,
    "Complete": JobState.FAILED,
    "Complete/SUCCEEDED": JobState.COMPLETED,
    **dict.fromkeys(("Complete/STOPPED", "Failed/STOPPED", "Aborted", "Terminated"), JobState.CANCELLED),
    "Failed": JobState.FAILED,
    "Completed": JobState.COMPLETED,
    **dict.fromkeys(("Pending", "Restarting"), JobState.PENDING),
    **dict.fromkeys(("Aborting", "Completing", "Terminating"), JobState.COMPLETING),
}
_WAITS = {
    "Suspended": "it waits until somebody, or a queue, resumes it",
    "Suspending": "it is being suspended",
    "Retrying": "its last try failed, and KubeRay tries it again",
}


def read_phase(job: KubeObject, pods: Sequence[Pod], ends: Sequence[Reading], now_s: float) -> Reading:
    """A RayJob, or a Job of Volcano: their phase counts, since their conditions are only a history."""
    word = "/".join(filter(None, (job.phase, job.inner)))
    state = _PHASES.get(word) or _PHASES.get(job.phase)
    said = ": ".join(filter(None, (job.reason, job.message)))
    if state is None:
        return Reading(JobState.UNKNOWN, f"it is in the unknown phase {word[:40]!r}")
    if state is JobState.COMPLETED:
        return _success(job, ends, job.completed_s)
    if state is JobState.FAILED and (job.kind == "Job" or job.reason == "DeadlineExceeded"):
        return _failed(ends, job.reason or job.phase, job.message, job.completed_s)
    if state not in (JobState.PENDING, JobState.RUNNING):
        return Reading(state, said or f"its phase is {word}", word, end_s=job.completed_s)
    shown = from_pods(pods, ends, now_s)
    reason = _WAITS.get(job.phase, "")
    if shown.is_stuck or state is JobState.PENDING:
        reason = reason or shown.reason
    start_s = shown.start_s or job.started_s
    return replace(shown, state=state, reason=reason, backend_state=word, start_s=start_s)


def read_rayjob(job: KubeObject, pods: Sequence[Pod], ends: Sequence[Reading], now_s: float) -> Reading:
    """A RayJob; until Ray says how its driver is, its pods do."""
    if (job.phase, job.inner) == ("Running", ""):
        return replace(from_pods(pods, ends, now_s), backend_state=job.phase)
    return read_phase(job, pods, ends, now_s)


_JOBSET = "jobset.sigs.k8s.io/jobset-name"
_KINDS = (
    Kind("job", "jobs.batch", "Job", "batch", "", read_job),
    Kind("jobset", "jobsets.jobset.x-k8s.io", "JobSet", "jobset.x-k8s.io", _JOBSET, read_job),
    Kind("pytorchjob", "pytorchjobs.kubeflow.org", "PyTorchJob", "kubeflow.org", "", read_job),
    Kind("trainjob", "trainjobs.trainer.kubeflow.org", "TrainJob", "trainer.kubeflow.org", _JOBSET, read_job),
    Kind("rayjob", "rayjobs.ray.io", "RayJob", "ray.io", "job-name", read_rayjob),
    Kind("vcjob", "jobs.batch.volcano.sh", "Job", "batch.volcano.sh", "", read_phase),
    Kind("pod", "pods", "Pod", "", "", lambda pod, _pods, _ends, now_s: read_pod(pod, now_s)),
)
KINDS = {each.word: each for each in _KINDS}


def pods_of(job: KubeObject, pods: Iterable[Pod]) -> list[Pod]:
    """The pods of an object: by its uid, or where others make them for it, by its name since it exists."""
    if isinstance(job, Pod):
        return [job]
    label = next((each.pod_label for each in _KINDS if (each.kind, each.group) == (job.kind, job.group)), "")
    return [
        each
        for each in pods
        if each.is_of(job.uid)
        or (label and each.labels.get(label) == job.name and (each.created_s or 0) >= (job.created_s or 0))
    ]
