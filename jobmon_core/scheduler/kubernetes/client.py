"""A namespace of a cluster: its name, and the jobs there that jobmon follows, by jobmon's numbers."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerRejected, SchedulerUnavailable, StorageFailed, UnknownJob
from jobmon_core.scheduler.kubernetes.kubectl import Kubectl, KubeFailed
from jobmon_core.scheduler.kubernetes.objects import KubeObject, read_list
from jobmon_core.scheduler.kubernetes.reading import KINDS, POD, WORDS
from jobmon_core.scheduler.kubernetes.records import KubeJobFolder, Registered, find_folder
from jobmon_core.scheduler.services import ServiceScheduler
from jobmon_core.system.runner import NotStarted, Runner, succeeded

if TYPE_CHECKING:
    from jobmon_core.scheduler.base import RemoteJob
    from jobmon_core.scheduler.kubernetes.objects import Pod

_CONFIG_TIMEOUT_S = 20.0
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")  # a name of an object: RFC 1123
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def find_service(context: str, namespace: str, runner: Runner | None = None) -> str:
    """The name of a namespace: ``CONTEXT/NAMESPACE``, by default those that kubectl uses now.

    A context that is current may be another one tomorrow, so its name is kept. A pod has none.
    """
    runner = runner or Runner()
    if not context:
        result = runner.capture(("kubectl", "config", "current-context"), _CONFIG_TIMEOUT_S)
        if isinstance(result, NotStarted):
            raise SchedulerUnavailable(f"{result.error_text}: install it where jobmon runs")
        context = result.stdout.strip() if succeeded(result) else ""
    if not namespace:
        which = ("--context", context) if context else ()
        command = ("kubectl", "config", "view", "--minify", *which, "-o", "jsonpath={..namespace}")
        result = runner.capture(command, _CONFIG_TIMEOUT_S)
        namespace = (result.stdout.strip() if succeeded(result) else "") or "default"
    if not _NAMESPACE.fullmatch(namespace):
        raise SchedulerRejected(f"--namespace: {namespace!r} is not the name of a namespace")
    return f"{context}/{namespace}".removeprefix("/")


def split_name(name: str) -> tuple[str, str]:
    """The kind and the name of ``job/train``; a plain name is that of a Job."""
    kind, slash, rest = name.partition("/")
    if not slash:
        kind, rest = "job", name
    if kind not in WORDS or not _NAME.fullmatch(rest):
        kinds = ", ".join(f"{word}/NAME" for word in WORDS)
        raise SchedulerRejected(f"{name!r} is not the name of a job on Kubernetes; write one of {kinds}")
    return kind, rest


class KubeScheduler(ServiceScheduler):
    """What a namespace shows of the jobs that jobmon follows; finds others, see `RemoteJobs`."""

    name = "kubernetes"
    FOLDER, WITHIN_S = KubeJobFolder, 240.0

    def register(self, name: str) -> RemoteJob:
        """See `RemoteJobs`."""
        kind, plain = split_name(name)
        resource = "pods" if kind == POD else KINDS[kind].resource
        kubectl = Kubectl(self.service)
        try:
            objects, pods = read_list(kubectl.json("get", resource, plain)) or ([], [])
        except KubeFailed as error:
            if error.is_absence_of(plain):
                raise UnknownJob(f"Kubernetes ({self.service}) has no {kind}/{plain}") from error
            raise
        found = objects[0] if objects else next(iter(pods), None)
        if found is None:
            raise SchedulerUnavailable(f"the answer of kubectl about {name} cannot be read")
        try:
            return self._remote(kind, found)
        except OSError as error:
            raise StorageFailed(f"{name} cannot be recorded: {error}") from error

    def names(self) -> tuple[str, ...]:
        """See `RemoteJobs`."""
        objects, pods = read_list(Kubectl(self.service).json("get", "jobs.batch,pods")) or ([], [])
        jobs = [f"job/{job.name}" for job in objects if not job.condition("Complete", "Failed")]
        return (*jobs, *(f"pod/{pod.name}" for pod in pods if not pod.owners and not pod.has_ended))

    def names_of(self, selector: str) -> tuple[str, ...]:
        """The jobs whose pods a label selector chooses, and such pods without a job."""
        _, pods = read_list(Kubectl(self.service).json("get", "pods", "-l", selector)) or ([], [])
        return tuple(dict.fromkeys(map(_watchable, pods)))

    def _remote(self, kind: str, found: KubeObject | Pod) -> RemoteJob:
        folder = find_folder(self.resources.folder(), found.uid)
        if folder is None:
            job = Registered(self.service, kind, found.name, found.uid, time.time(), submit_s=found.created_s)
            folder = KubeJobFolder.new(self.resources, _with_details(job, found))
        known = folder.registered()
        if known is None:
            raise StorageFailed(f"the record of job {folder.job_id} cannot be read")
        return folder.remote_job(known)


def _with_details(job: Registered, found: KubeObject | Pod) -> Registered:
    if not isinstance(found, KubeObject):
        return job
    return replace(job, completions=found.completions, retries=found.retries, command=found.command)


def _watchable(pod: Pod) -> str:
    owner = next((each for each in pod.owners if each[0] in ("Job", "PyTorchJob")), None)
    if owner is None:
        return f"pod/{pod.name}"
    return f"{owner[0].lower()}/{owner[1]}"
