"""The causes that a pod of Kubernetes states: the first word of the reason of its job."""

from __future__ import annotations

from jobmon_core.domain.logs.diagnosis.exit_causes import TIME_LIMIT, Cause
from jobmon_core.domain.logs.diagnosis.model import SlurmEvidence
from jobmon_core.domain.logs.diagnosis.scheduler_causes import scheduler_cause
from jobmon_core.domain.slurm.states import JobState

_NODE_ENDED_POD = Cause(
    "node_fail",
    "Its node ended the pod, or was lost",
    "Kubernetes ended the pod from outside, e.g. because the node ran short of memory or disk, was drained, "
    "shut down or lost. The state says which. Usually the program is not at fault.",
    "Submit the job again. If the pod itself filled the memory or the disk of the node, set its requests and "
    "limits (`resources`).",
)
_PREEMPTED_POD = Cause(
    "slurm_preempted",
    "Preempted",
    "Kubernetes removed the pod to make room, or to empty its node. The program is not at fault.",
    "Submit the job again, and save checkpoints often.",
)
# by the word with which the reason of a job on Kubernetes begins
_BY_POD_WORD: dict[str, Cause] = {
    "OOMKilled": Cause(
        "host_oom_kill",
        "Out of memory (RAM)",
        "A container used more memory than its limit, or its node had none left, and was killed.",
        "Raise `resources.limits.memory` of the container, or use less: fewer DataLoader workers, smaller "
        "batches, data read in chunks.",
    ),
    "DeadlineExceeded": Cause(
        TIME_LIMIT,
        "Time limit reached",
        "Kubernetes ended the job.",
        "Raise `activeDeadlineSeconds`, or save checkpoints and continue from the last one.",
    ),
    "StartError": Cause(
        "module_env",
        "The command could not be started",
        "The container has no such program, or may not run it, so nothing ran.",
        "Compare `command` of the container with what its image has.",
    ),
    **dict.fromkeys(
        (
            *("Evicted", "NodeLost", "NodeAffinity", "NodeShutdown", "Shutdown", "Terminated"),
            *("DeletionByTaintManager", "DeletionByPodGC", "TerminationByKubelet", "ContainerStatusUnknown"),
        ),
        _NODE_ENDED_POD,
    ),
    **dict.fromkeys(("PreemptionByScheduler", "EvictionByEvictionAPI", "Preempting"), _PREEMPTED_POD),
}
_POD_STATES = (
    *(JobState.FAILED, JobState.OUT_OF_MEMORY, JobState.TIMEOUT),
    *(JobState.NODE_FAIL, JobState.PREEMPTED),
)


def named_cause(evidence: SlurmEvidence) -> Cause | None:
    """Return the cause that the reason about a pod names, else the one that PBS or Slurm names."""
    word = evidence.reason.partition(":")[0].partition(" ")[0]
    if evidence.is_local and evidence.state in _POD_STATES and word in _BY_POD_WORD:
        return _BY_POD_WORD[word]
    return scheduler_cause(evidence)
