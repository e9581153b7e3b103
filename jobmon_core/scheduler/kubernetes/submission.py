"""Create a Job once, also if answers get lost.

Its name is recorded first. A cluster has one Job of a name, so after a request without an answer the same one
is sent again: "AlreadyExists" is then the answer. A token in its annotations says whose the Job is.
"""

from __future__ import annotations

import json
import time
import uuid

from jobmon_core.domain.job.restart.kubernetes_attempts import TOKEN_KEY, with_annotations, without_policy
from jobmon_core.scheduler.base import Fate, SubmitResult
from jobmon_core.scheduler.kubernetes.kubectl import Kubectl, KubeFailed
from jobmon_core.scheduler.kubernetes.objects import KubeObject
from jobmon_core.scheduler.kubernetes.records import KubeJobFolder, Registered
from jobmon_core.scheduler.services import JobSubmission

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
        return Registered.of(self.service, "job", KubeObject(self.request), uuid.uuid4().hex)

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
                made, _ = kubectl.objects("create", "-f", "-", stdin=json.dumps(manifest))
                return self._accepted(job, made)
            except KubeFailed as error:
                why = str(error)
                if error.says("(AlreadyExists)"):
                    return self._known(kubectl, job)
                if error.says("unknown field", "podReplacementPolicy"):  # before Kubernetes 1.29
                    manifest = without_policy(manifest)
                    continue
                if error.is_refusal and not may_have_arrived:
                    return SubmitResult(Fate.REFUSED, why)
                may_have_arrived = may_have_arrived or error.is_sent
        return SubmitResult(Fate.UNKNOWN if may_have_arrived else Fate.REFUSED, why)

    def _known(self, kubectl: Kubectl, job: Registered) -> SubmitResult:
        try:
            shown, _ = kubectl.objects("get", "jobs.batch", job.name)
        except KubeFailed as error:
            return SubmitResult(Fate.UNKNOWN, str(error))
        if shown and shown[0].annotations.get(TOKEN_KEY) == job.token:
            return self._accepted(job, shown)
        return SubmitResult(Fate.REFUSED, _TAKEN)

    def _accepted(self, job: Registered, made: list[KubeObject]) -> SubmitResult:
        if made:
            self._folder.register(Registered.of(job.service, job.kind, made[0], job.token))
        return SubmitResult(Fate.ACCEPTED)
