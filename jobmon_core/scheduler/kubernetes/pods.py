"""What the state of a pod means for its job. Pure.

Kubernetes gives a job whose pod ran out of memory, was evicted or exited with 3 the same reason,
BackoffLimitExceeded: only the pod knows. It also makes up exit codes (137 of a container that it lost) and
removes pods, so the last that was seen of each is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.states import JobState

if TYPE_CHECKING:
    from jobmon_core.scheduler.kubernetes.objects import Container, Pod

_EVICTED = ("Evicted", "NodeLost", "NodeAffinity", "NodeShutdown", "Shutdown", "Terminated", "Preempting")
# reasons of the condition DisruptionTarget (1.26)
_DISRUPTIONS = {
    "PreemptionByScheduler": (JobState.PREEMPTED, "a pod with a higher priority took its place"),
    "EvictionByEvictionAPI": (JobState.PREEMPTED, "it was evicted, e.g. because its node is drained"),
    "DeletionByTaintManager": (JobState.NODE_FAIL, "its node was lost or tainted"),
    "DeletionByPodGC": (JobState.NODE_FAIL, "its node was removed from the cluster"),
    "TerminationByKubelet": (JobState.NODE_FAIL, "its node ended it, to shut down or for lack of a resource"),
}
_DISRUPTED = "DisruptionTarget"
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
class PodEnd:
    """How a pod, or a container of it before its restart, ended."""

    pod: str
    state: JobState
    reason: str = ""
    exit_code: int | None = None
    started_s: int | None = None
    ended_s: int | None = None
    is_last: bool = True  # False: it was restarted within the pod

    @property
    def is_good(self) -> bool:
        """Whether all its containers succeeded."""
        return self.state is JobState.COMPLETED


@dataclass(frozen=True, slots=True)
class PodWait:
    """Why a pod that has not ended does not work; ``is_stuck`` if a person must do something."""

    reason: str = ""
    is_stuck: bool = False


def end_of(pod: Pod) -> PodEnd | None:
    """The latest end within a pod, the worst of its containers; None if nothing in it has ended."""
    if pod.phase == "Failed":
        return _failure(pod)
    if pod.phase != "Succeeded":
        exits = [_exit_of(pod, each, is_last=False) for each in pod.containers if _failed_before(each)]
        if outside := _outside(pod):  # it is about to be removed, and may leave no other trace
            exits.insert(0, PodEnd(pod.name, *outside, is_last=False))
        return latest_failure(exits)
    ended = next((each.exit for each in pod.containers if each.name == pod.main), None)
    times = (ended.code, ended.started_s, ended.finished_s) if ended else ()
    return PodEnd(pod.name, JobState.COMPLETED, "", *times)


def _failed_before(container: Container) -> bool:
    ended = container.exit or container.last_exit
    return bool(ended and ended.code and not container.is_sidecar)


def _failure(pod: Pod) -> PodEnd:
    failed = [each for each in pod.containers if each.exit and each.exit.code and not each.is_sidecar]
    exits = [_exit_of(pod, each, is_last=True) for each in failed]
    oom = next((each for each in exits if each.state is JobState.OUT_OF_MEMORY), None)
    first = oom or next(iter(exits), PodEnd(pod.name, JobState.FAILED))
    if outside := _outside(pod):
        # the exit code of a pod that was ended from outside says nothing of the program
        return PodEnd(pod.name, outside[0], outside[1], None, first.started_s, first.ended_s)
    if not exits and pod.reason:
        return PodEnd(pod.name, JobState.FAILED, _joined(pod.reason, "", pod.message))
    return first


def _outside(pod: Pod) -> tuple[JobState, str] | None:
    """What ended a pod from outside."""
    disruption = pod.condition(_DISRUPTED)
    if disruption and disruption.is_true and disruption.reason in _DISRUPTIONS:
        state, words = _DISRUPTIONS[disruption.reason]
        return state, _joined(disruption.reason, words, pod.message or disruption.message)
    if pod.reason in _EVICTED:
        state = JobState.PREEMPTED if pod.reason == "Preempting" else JobState.NODE_FAIL
        return state, _joined(pod.reason, "its node ended it", pod.message)
    if pod.reason == "DeadlineExceeded":
        return JobState.TIMEOUT, _joined(pod.reason, "the time limit of the pod is over")
    return None


def _exit_of(pod: Pod, container: Container, *, is_last: bool) -> PodEnd:
    ended = container.exit or container.last_exit
    if ended is None:
        return PodEnd(pod.name, JobState.FAILED)
    state, code, reason = JobState.FAILED, ended.code, ""
    whose = "" if container.name == pod.main else f" (container {container.name})"
    if container.is_init:
        reason = f"its init container {container.name} ended with exit code {code}"
    elif whose:
        reason = f"its container {container.name} ended with exit code {code}"
    if ended.reason == "OOMKilled":
        state, reason = JobState.OUT_OF_MEMORY, f"OOMKilled{whose}"
    elif ended.reason == _UNKNOWN_EXIT:
        words = "its node lost the container, so its exit code is not known"
        return PodEnd(pod.name, JobState.NODE_FAIL, _joined(_UNKNOWN_EXIT, words), is_last=is_last)
    elif ended.reason in _NOT_STARTED:
        reason = _joined(f"{ended.reason}{whose}", "its command could not be started", ended.message)
    return PodEnd(pod.name, state, reason, code, ended.started_s, ended.finished_s, is_last)


def is_seen_to_end(pod: Pod) -> bool:
    """Whether its node reported that all its containers ended; others may only say so of it."""
    own = [each for each in pod.containers if not each.is_init]
    return (
        pod.has_ended and bool(own) and all(each.exit and each.exit.reason != _UNKNOWN_EXIT for each in own)
    )


def latest_failure(ends: list[PodEnd]) -> PodEnd | None:
    """The failure that decides; those of pods count before those of containers that were restarted."""
    failures = [each for each in ends if not each.is_good]
    return max(failures, key=lambda each: (each.is_last, each.ended_s or 0), default=None)


def is_running(pod: Pod) -> bool:
    """Whether it has begun its work, and has not ended."""
    own = [each for each in pod.containers if not each.is_init]
    return not pod.has_ended and (pod.phase in ("Running", "Unknown") or any(each.running_s for each in own))


def started_s(pod: Pod) -> int | None:
    """When its first container began its work (Unix seconds)."""
    own = [each for each in pod.containers if not each.is_init]
    ends = [end for each in own for end in (each.exit, each.last_exit) if end]
    times = [*(each.running_s for each in own), *(end.started_s for end in ends)]
    return min(filter(None, times), default=None)


def wait_of(pod: Pod, now_s: float) -> PodWait:
    """Why a pod that has not ended does not work as it should."""
    return _lost(pod, now_s) or _container_wait(pod) or _main_ended(pod) or _not_placed(pod) or PodWait()


def _lost(pod: Pod, now_s: float) -> PodWait | None:
    if pod.deleted_by_s is not None:
        if now_s > pod.deleted_by_s + _GONE_AFTER_S:
            words = f"node {pod.node} does not confirm that pod {pod.name} is gone: it may still run there"
            return PodWait(words, is_stuck=True)
        return PodWait(f"pod {pod.name} is being deleted")
    ready, containers = pod.condition("Ready"), pod.condition("ContainersReady")
    # the kubelet sets both; the node controller only the first, when it does not hear of the node any more
    is_unheard = ready and containers and not ready.is_true and containers.is_true and not ready.reason
    if pod.phase == "Unknown" or (pod.phase == "Running" and is_unheard):
        words = f"Kubernetes does not hear of node {pod.node} any more; pod {pod.name} may still run there"
        return PodWait(words, is_stuck=True)
    return None


def _container_wait(pod: Pod) -> PodWait | None:
    for each in pod.containers:
        if each.waiting in _STUCK:
            detail = each.message
            if each.last_exit:
                detail = f"{_ended(each.last_exit.code, each.last_exit.reason)}, restarts: {each.restarts}"
            return PodWait(_joined(each.waiting, _STUCK[each.waiting], detail), is_stuck=True)
        if each.exit and each.exit.code and not each.is_init and pod.phase == "Running":
            break
        if each.is_init and each.running_s and not each.is_sidecar:
            return PodWait(f"its init container {each.name} runs")
    waiting = next((each for each in pod.containers if each.waiting and not each.has_started), None)
    return PodWait(_joined(waiting.waiting, "", waiting.message)) if waiting else None


def _main_ended(pod: Pod) -> PodWait | None:
    own = {each.name: each for each in pod.containers if not each.is_init}
    main = own.get(pod.main)
    others = [name for name, each in own.items() if name != pod.main and each.running_s]
    if main and main.exit and others and pod.phase == "Running":
        how = _ended(main.exit.code, main.exit.reason)
        words = f"its container {main.name} has ended ({how}), but {others[0]} runs on"
        return PodWait(f"{words}, so Kubernetes does not end the job", is_stuck=True)
    return None


def _not_placed(pod: Pod) -> PodWait | None:
    placed = pod.condition("PodScheduled")
    if placed and not placed.is_true:
        return PodWait(_joined(placed.reason, "", placed.message))
    if pod.phase == "Pending" and pod.node and not pod.containers:
        return PodWait(f"node {pod.node} prepares it")
    return None


def _ended(code: int, reason: str) -> str:
    return f"exit code {code}" if reason in ("", "Error", "Completed") else f"{reason}, exit code {code}"


def _joined(word: str, words: str, detail: str = "") -> str:
    """A word of Kubernetes, what it means, and its own text."""
    said = "; ".join(filter(None, (words, detail.strip())))
    return f"{word}: {said}" if said else word
