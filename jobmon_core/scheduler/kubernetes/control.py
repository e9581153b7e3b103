"""Deletes jobs of a namespace on the user's order, and proves that nothing of a job runs any more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.job.restart.model import ProcessesLeft
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import NotListed, Unreachable
from jobmon_core.scheduler.base import Untraceable
from jobmon_core.scheduler.json_values import dicts, text
from jobmon_core.scheduler.kubernetes.kubectl import Kubectl, KubeFailed
from jobmon_core.scheduler.kubernetes.objects import read_list
from jobmon_core.scheduler.kubernetes.pods import is_seen_to_end
from jobmon_core.scheduler.kubernetes.records import KubeJobFolder

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from jobmon_core.scheduler.base import BackendResources, CutOffSubmission
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
            folder.note_cancelled()
            try:
                Kubectl(job.service).text("delete", job.full_name, "--wait=false")
            except KubeFailed as error:
                if not error.is_absence_of(job.name):
                    folder.note_cancelled(is_so=False)
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

    def find_submission(
        self,
        submission: CutOffSubmission,  # noqa: ARG002 - see below
        others: Collection[JobRef],  # noqa: ARG002 - likewise
        now_s: float,  # noqa: ARG002 - likewise
    ) -> JobRef | NotListed | Untraceable | Unreachable:
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
        _, pods = read_list(kubectl.json("get", "pods")) or ([], [])
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
    reported = {pod.node for pod in pods if is_seen_to_end(pod)}
    nodes = dict.fromkeys((*(pod.node for pod in pods), *seen.split(",")))
    unsure = {pod.node for pod in pods if not is_seen_to_end(pod)}
    return [node for node in nodes if node and (node in unsure or node not in reported)]


def _doubt_about(kubectl: Kubectl, node: str) -> str:
    try:
        shown = kubectl.json("get", "nodes", node)
    except KubeFailed as error:
        return f"its pod is gone, and node {node} cannot be asked: {error}"
    for each in dicts(shown, "status", "conditions"):
        if text(each, "type") == "Ready" and text(each, "status") == "True":
            return ""
    return f"Kubernetes does not hear of node {node}, where its pod may still run"
