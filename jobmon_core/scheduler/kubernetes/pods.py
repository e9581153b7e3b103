"""What the state of a pod means for its job. Pure.

Kubernetes gives a job whose pod ran out of memory, was evicted or exited with 3 the same reason,
BackoffLimitExceeded: only the pod knows. It also makes up exit codes (137 of a container that it lost) and
removes pods, so the last that was seen of each is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.states import JobState

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon_core.scheduler.kubernetes.objects import Container, Exit, Pod

_EVICTED = ("Evicted", "NodeLost", "NodeAffinity", "NodeShutdown", "Shutdown", "Terminated", "Preempting")
# reasons of the condition DisruptionTarget (1.26)
_DISRUPTIONS = {
    "PreemptionByScheduler": (JobState.PREEMPTED, "a pod with a higher priority took its place"),
    "EvictionByEvictionAPI": (JobState.PREEMPTED, "it was evicted, e.g. because its node is drained"),
    "DeletionByTaintManager": (JobState.NODE_FAIL, "its node was lost or tainted"),
    "DeletionByPodGC": (JobState.NODE_FAIL, "its node was removed from the cluster"),
    "TerminationByKubelet": (JobState.NODE_FAIL, "its node ended it, to shut down or for lack of a resource"),
}
_UNKNOWN_EXIT = "ContainerStatusUnknown"
_NOT_STARTED = ("StartError", "ContainerCannotRun", "DeadlineExceeded")
# with these, a pod waits for something that a person must mend; the kubelet goes on trying
_STUCK = {
    "ErrImagePull": "the image cannot be pulled",
    "ImagePullBackOff": "the image cannot be pulled",
    "InvalidImageName": "the name of the image is not valid",
    "ErrImageNeverPull": "the image is not on the node, and may not be pulled",
    "ImageInspectError": "the image cannot be read",
    "RegistryUnavailable": "the image registry does not answer",
    "CreateContainerConfigError": "its configuration is incomplete, e.g. a ConfigMap or a Secret is missing",
    "CreateContainerError": "the container cannot be created",
    "RunContainerError": "the container cannot be started",
    "CrashLoopBackOff": "it fails again and again",
}
_GONE_AFTER_S = 30  # after the time at which its processes were to be gone


@dataclass(frozen=True, slots=True)
class Reading:
    """What is known of a job, or how a pod of it ended. Times are Unix seconds."""

    state: JobState
    reason: str = ""
    backend_state: str = ""  # the word of Kubernetes, if it says more than the state
    exit_code: int | None = None
    start_s: int | None = None
    end_s: int | None = None
    is_stuck: bool = False  # a person must do something, if it lasts
    pod: str = ""  # that ended
    is_last: bool = True  # False: a container ended, and was restarted within the pod

    @property
    def is_good(self) -> bool:
        """Whether all containers of the pod succeeded."""
        return self.state is JobState.COMPLETED


def end_of(pod: Pod) -> Reading | None:
    """The latest end within a pod, the worst of its containers; None if nothing in it has ended."""
    if pod.phase == "Succeeded":
        ended = next((each.exit for each in pod.containers if each.name == pod.main), None)
        success = Reading(JobState.COMPLETED, pod=pod.name)
        if ended is None:
            return success
        return replace(success, exit_code=ended.code, start_s=ended.started_s, end_s=ended.finished_s)
    first = _failure(pod)
    if outside := _outside(pod):
        # it may leave no other trace, and its exit code says nothing of the program
        first = replace(first or outside, state=outside.state, reason=outside.reason, exit_code=None)
    return replace(first, is_last=pod.has_ended) if first else None


def _failure(pod: Pod) -> Reading | None:
    """That of the container which ran out of memory, else of the first one that failed."""
    # of a pod that has ended, an end before a restart is not that of its container
    ends = [
        (each, each.exit if pod.has_ended else each.ended) for each in pod.containers if not each.is_sidecar
    ]
    exits = [_exit_of(pod, each, ended) for each, ended in ends if ended and ended.code]
    if not exits and pod.phase == "Failed":
        words = _joined(pod.reason, "", pod.message) if pod.reason else ""
        return Reading(JobState.FAILED, words, pod=pod.name)
    return min(exits, key=lambda each: each.state is not JobState.OUT_OF_MEMORY, default=None)


def _outside(pod: Pod) -> Reading | None:
    """What ended a pod from outside."""
    disruption = pod.condition("DisruptionTarget")
    if disruption and disruption.reason in _DISRUPTIONS:
        state, words = _DISRUPTIONS[disruption.reason]
        reason = _joined(disruption.reason, words, pod.message or disruption.message)
    elif pod.reason in _EVICTED:
        state = JobState.PREEMPTED if pod.reason == "Preempting" else JobState.NODE_FAIL
        reason = _joined(pod.reason, "its node ended it", pod.message)
    elif pod.reason == "DeadlineExceeded":
        state, reason = JobState.TIMEOUT, _joined(pod.reason, "the time limit of the pod is over")
    else:
        return None
    return Reading(state, reason, pod=pod.name)


def _exit_of(pod: Pod, container: Container, ended: Exit) -> Reading:
    if ended.reason == _UNKNOWN_EXIT:
        words = "its node lost the container, so its exit code is not known"
        return Reading(JobState.NODE_FAIL, _joined(_UNKNOWN_EXIT, words), pod=pod.name)
    state, reason = JobState.FAILED, ""
    whose = "" if container.name == pod.main else f" (container {container.name})"
    if ended.reason == "OOMKilled":
        state, reason = JobState.OUT_OF_MEMORY, f"OOMKilled{whose}"
    elif ended.reason in _NOT_STARTED:
        reason = _joined(f"{ended.reason}{whose}", "its command could not be started", ended.message)
    elif whose:
        kind = "init container" if container.is_init else "container"
        reason = f"its {kind} {container.name} ended with exit code {ended.code}"
    return Reading(state, reason, "", ended.code, ended.started_s, ended.finished_s, pod=pod.name)


def is_seen_to_end(pod: Pod) -> bool:
    """Whether its node reported that all its containers ended; others may only say so of it."""
    exits = [each.exit for each in pod.own]
    return pod.has_ended and bool(exits) and all(each and each.reason != _UNKNOWN_EXIT for each in exits)


def latest_failure(ends: Sequence[Reading]) -> Reading | None:
    """The failure that decides; those of pods count before those of containers that were restarted."""
    failures = [each for each in ends if not each.is_good]
    return max(failures, key=lambda each: (each.is_last, each.end_s or 0), default=None)


def is_running(pod: Pod) -> bool:
    """Whether it has begun its work, and has not ended."""
    has_begun = pod.phase in ("Running", "Unknown") or any(each.running_s for each in pod.own)
    return has_begun and not pod.has_ended


def started_s(pod: Pod) -> int | None:
    """When its first container began its work (Unix seconds)."""
    ends = [end for each in pod.own for end in (each.exit, each.last_exit) if end]
    times = [*(each.running_s for each in pod.own), *(end.started_s for end in ends)]
    return min(filter(None, times), default=None)


def wait_of(pod: Pod, now_s: float) -> Reading:
    """Why a pod that has not ended does not work as it should; without a reason if it does."""
    reason, is_stuck = next(_waits(pod, now_s), ("", False))
    return Reading(JobState.PENDING, reason, is_stuck=is_stuck)


def _waits(pod: Pod, now_s: float) -> Iterator[tuple[str, bool]]:
    """The reasons, which say most first, and whether a person must do something."""
    yield from _signs_of_loss(pod, now_s)
    yield from _waits_of_containers(pod)
    main = next((each.exit for each in pod.own if each.name == pod.main), None)
    others = [each.name for each in pod.own if each.running_s]
    if main and others and pod.phase == "Running":
        words = f"its container {pod.main} has ended ({_how(main)}), but {others[0]} runs on"
        yield f"{words}, so Kubernetes does not end the job", True
    placed = pod.shown("PodScheduled")
    if placed and not placed.is_true:
        yield _joined(placed.reason, "", placed.message), False
    if pod.phase == "Pending" and pod.node and not pod.containers:
        yield f"node {pod.node} prepares it", False


def _signs_of_loss(pod: Pod, now_s: float) -> Iterator[tuple[str, bool]]:
    if pod.deleted_by_s is not None:
        if now_s > pod.deleted_by_s + _GONE_AFTER_S:
            words = f"node {pod.node} does not confirm that pod {pod.name} is gone: it may still run there"
            yield words, True
        yield f"pod {pod.name} is being deleted", False
    ready, containers = pod.shown("Ready"), pod.shown("ContainersReady")
    # the kubelet sets both; the node controller only the first, when it does not hear of the node any more
    is_unheard = ready and containers and not ready.is_true and containers.is_true and not ready.reason
    if pod.phase == "Unknown" or (pod.phase == "Running" and is_unheard):
        words = f"Kubernetes does not hear of node {pod.node} any more; pod {pod.name} may still run there"
        yield words, True


def _waits_of_containers(pod: Pod) -> Iterator[tuple[str, bool]]:
    for each in pod.containers:
        if each.waiting in _STUCK:
            detail = f"{_how(each.last_exit)}, restarts: {each.restarts}" if each.last_exit else each.message
            yield _joined(each.waiting, _STUCK[each.waiting], detail), True
        if each.is_init and each.running_s and not each.is_sidecar:
            yield f"its init container {each.name} runs", False
    for each in pod.containers:
        if each.waiting and not each.has_started:
            yield _joined(each.waiting, "", each.message), False


def _how(ended: Exit) -> str:
    code = f"exit code {ended.code}"
    return code if ended.reason in ("", "Error", "Completed") else f"{ended.reason}, {code}"


def _joined(word: str, words: str, detail: str = "") -> str:
    """A word of Kubernetes, what it means, and its own text."""
    said = "; ".join(filter(None, (words, detail.strip())))
    return f"{word}: {said}" if said else word
