"""Deletes jobs of a namespace on the user's order, and proves that nothing of a job runs any more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.job.restart.model import ProcessesLeft
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import Unreachable
from jobmon_core.scheduler.base import Untraceable
from jobmon_core.scheduler.json_values import dicts, text
from jobmon_core.scheduler.kubernetes.kubectl import Kubectl, KubeFailed
from jobmon_core.scheduler.kubernetes.pods import is_seen_to_end
from jobmon_core.scheduler.kubernetes.records import KubeJobFolder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.scheduler.base import BackendResources
    from jobmon_core.scheduler.kubernetes.objects import Pod

_NO_HOLD = "jobs on Kubernetes are not held: `kubectl patch` sets spec.suspend"


@dataclass(frozen=True, slots=True)
class KubeControl:
    """See `JobControl`."""

    resources: BackendResources
    service: str

    def cancel(self, refs: Sequence[JobRef]) -> str:
        """See `JobControl`; their pods get their time to end."""
        errors = []
        for ref in refs:
            folder = KubeJobFolder(self.resources.folder() / str(ref.job_id))
            job = folder.registered()
            if job is None:
                errors.append(f"the record of job {ref} cannot be read")
                continue
            folder.cancelled.touch()
            try:
                Kubectl(job.service).text("delete", job.full_name, "--wait=false")
            except KubeFailed as error:
                if not error.is_absence_of(job.name):
                    folder.cancelled.unlink(missing_ok=True)
                    errors.append(str(error))
        return "; ".join(errors)

    def hold(self, refs: Sequence[JobRef]) -> str:  # noqa: ARG002 - for none
        """See `JobControl`."""
        return _NO_HOLD

    release = hold

    def queued_jobs(self, user: str) -> dict[JobRef, str] | Unreachable:  # noqa: ARG002 - Kubernetes knows no users
        """See `JobControl`: those that jobmon follows."""
        folders = sorted(KubeJobFolder.all(self.resources.folder()), key=lambda each: each.job_id)
        jobs = [(each.job_id, each.registered()) for each in folders if not each.status().is_final]
        return {JobRef(number): job.full_name for number, job in jobs if job and job.service == self.service}

    def find_submission(self, submission: object, others: object, now_s: float) -> Untraceable:  # noqa: ARG002 - for none
        """See `JobControl`; its submissions are found by their names instead."""
        return Untraceable("jobs on Kubernetes are found by their names")


def processes_left(
    resources: BackendResources, service: str, number: int, _lineage: str
) -> ProcessesLeft | Unreachable:
    """Whether every pod of a job has ended, by what the nodes say; a lost node's pod may still run."""
    folder, kubectl = KubeJobFolder(resources.folder() / str(number)), Kubectl(service)
    job, row = folder.registered(), folder.status().row
    if job is None or not job.uid:
        return Unreachable("its record cannot be read, or Kubernetes has never shown it")
    try:
        _, pods = kubectl.objects("get", "pods")
        own = [pod for pod in pods if pod.is_of(job.uid) or pod.uid == job.uid]
        if alive := next((pod for pod in own if not pod.has_ended), None):
            return Unreachable(f"pod {alive.name} on node {alive.node or '(none yet)'} has not ended")
        for node in _nodes_to_ask(own, row.nodes if row else ""):
            if doubt := _doubt_about(kubectl, node):
                return Unreachable(doubt)
    except KubeFailed as error:
        return Unreachable(str(error))
    return ProcessesLeft((), "")


def _nodes_to_ask(pods: Sequence[Pod], seen: str) -> list[str]:
    """The nodes of pods whose end no node reported: of those that are gone, too."""
    unsure = {pod.node for pod in pods if not is_seen_to_end(pod)}
    sure = {pod.node for pod in pods} - unsure
    return [node for node in dict.fromkeys((*unsure, *seen.split(","))) if node and node not in sure]


def _doubt_about(kubectl: Kubectl, node: str) -> str:
    try:
        shown = kubectl.json("get", "nodes", node)
    except KubeFailed as error:
        return f"its pod is gone, and node {node} cannot be asked: {error}"
    conditions = {text(each, "type"): text(each, "status") for each in dicts(shown, "status", "conditions")}
    if conditions.get("Ready") == "True":
        return ""
    return f"Kubernetes does not hear of node {node}, where its pod may still run"
