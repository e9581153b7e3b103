"""Create a Job once, also if answers get lost.

Its name is recorded first. A cluster has one Job of a name, so after a request without an answer the same one
is sent again: "AlreadyExists" is then the answer. A token in its annotations says whose the Job is.
"""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.domain.job.restart.kubernetes_attempts import TOKEN_KEY, with_annotations, without_policy
from jobmon_core.scheduler.base import Fate, SubmitResult
from jobmon_core.scheduler.kubernetes.kubectl import Kubectl, KubeFailed
from jobmon_core.scheduler.kubernetes.objects import read_list
from jobmon_core.scheduler.kubernetes.records import KubeJobFolder, Registered
from jobmon_core.scheduler.services import JobSubmission

if TYPE_CHECKING:
    from jobmon_core.scheduler.kubernetes.objects import KubeObject

_TRIES = 4
_WAIT_S = 2.0
_TAKEN = "the namespace has a Job of this name already"


class KubeSubmission(JobSubmission[Registered]):
    """One Job that is to be created."""

    FOLDER = KubeJobFolder

    @property
    def _folder(self) -> KubeJobFolder:
        return KubeJobFolder(self.resources.folder() / str(self.number))

    def job(self) -> Registered:
        """What identifies it."""
        shown = self._shown()
        return Registered(
            self.service,
            "job",
            shown.name,
            at_s=time.time(),
            completions=shown.completions,
            retries=shown.retries,
            command=shown.command,
            token=uuid.uuid4().hex,
        )

    def _shown(self) -> KubeObject:
        """The Job as the cluster would show it."""
        metadata = {"uid": "-", **self.request["metadata"]}
        objects, _ = read_list({**self.request, "metadata": metadata}) or ([], [])
        return objects[0]

    def submit(self) -> SubmitResult:
        """Until the fate of the request is known or the time is over."""
        job = self._folder.registered()
        if job is None:
            return SubmitResult(Fate.REFUSED, "its record cannot be read")
        kubectl, manifest = Kubectl(self.service), with_annotations(self.request, {TOKEN_KEY: job.token})
        may_have_arrived = False
        why = ""
        for number in range(_TRIES):
            if number:
                time.sleep(_WAIT_S)
            try:
                made, _ = read_list(kubectl.json("create", "-f", "-", stdin=json.dumps(manifest))) or ([], [])
                return self._accepted(job, made)
            except KubeFailed as error:
                why = str(error)
                if error.exists_already:
                    return self._known(kubectl, job)
                if error.names_unknown_field("podReplacementPolicy"):  # before Kubernetes 1.29
                    manifest = without_policy(manifest)
                    continue
                if error.is_refusal and not may_have_arrived:
                    return SubmitResult(Fate.REFUSED, why)
                may_have_arrived = may_have_arrived or error.is_sent
        return SubmitResult(Fate.UNKNOWN if may_have_arrived else Fate.REFUSED, why)

    def _known(self, kubectl: Kubectl, job: Registered) -> SubmitResult:
        try:
            shown, _ = read_list(kubectl.json("get", "jobs.batch", job.name)) or ([], [])
        except KubeFailed as error:
            return SubmitResult(Fate.UNKNOWN, str(error))
        if shown and shown[0].annotations.get(TOKEN_KEY) == job.token:
            return self._accepted(job, shown)
        return SubmitResult(Fate.REFUSED, _TAKEN)

    def _accepted(self, job: Registered, made: list[KubeObject]) -> SubmitResult:
        if made:
            self._folder.register(replace(job, uid=made[0].uid, submit_s=made[0].created_s))
        return SubmitResult(Fate.ACCEPTED)
