"""A namespace of a cluster: its name, and the jobs there that jobmon follows, by jobmon's numbers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerRejected, SchedulerUnavailable, StorageFailed, UnknownJob
from jobmon_core.scheduler.kubernetes.kubectl import Kubectl, KubeFailed
from jobmon_core.scheduler.kubernetes.reading import KINDS
from jobmon_core.scheduler.kubernetes.records import KubeJobFolder, Registered
from jobmon_core.scheduler.services import ServiceScheduler
from jobmon_core.system.runner import NotStarted, Runner, succeeded

if TYPE_CHECKING:
    from jobmon_core.scheduler.base import RemoteJob
    from jobmon_core.scheduler.kubernetes.objects import Pod

_CONFIG_TIMEOUT_S = 20.0
_CURRENT = "{.current-context}/{..namespace}"
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")  # a name of an object: RFC 1123
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def find_service(context: str, namespace: str) -> str:
    """The name of a namespace: ``CONTEXT/NAMESPACE``, by default those that kubectl uses now.

    A context that is current may be another one tomorrow, so its name is kept. A pod has none.
    """
    if not (context and namespace):
        which = ("--context", context) if context else ()
        command = ("kubectl", "config", "view", "--minify", *which, "-o", f"jsonpath={_CURRENT}")
        result = Runner().capture(command, _CONFIG_TIMEOUT_S)
        if isinstance(result, NotStarted):
            raise SchedulerUnavailable(f"{result.error_text}: install it where jobmon runs")
        current, _, default = (result.stdout.strip() if succeeded(result) else "").rpartition("/")
        context, namespace = context or current, namespace or default or "default"
    if not _NAMESPACE.fullmatch(namespace):
        raise SchedulerRejected(f"--namespace: {namespace!r} is not the name of a namespace")
    return f"{context}/{namespace}".removeprefix("/")


def split_name(name: str) -> tuple[str, str]:
    """The kind and the name of ``job/train``; a plain name is that of a Job."""
    kind, slash, rest = name.partition("/")
    if not slash:
        kind, rest = "job", name
    if kind not in KINDS or not _NAME.fullmatch(rest):
        kinds = ", ".join(f"{word}/NAME" for word in KINDS)
        raise SchedulerRejected(f"{name!r} is not the name of a job on Kubernetes; write one of {kinds}")
    return kind, rest


class KubeScheduler(ServiceScheduler):
    """What a namespace shows of the jobs that jobmon follows; finds others, see `RemoteJobs`."""

    name = "kubernetes"
    FOLDER, WITHIN_S = KubeJobFolder, 240.0

    def register(self, name: str) -> RemoteJob:
        """See `RemoteJobs`."""
        kind, plain = split_name(name)
        try:
            objects, pods = Kubectl(self.service).objects("get", KINDS[kind].resource, plain)
        except KubeFailed as error:
            if error.is_absence_of(plain):
                raise UnknownJob(f"Kubernetes ({self.service}) has no {kind}/{plain}") from error
            raise
        if not (objects or pods):
            raise SchedulerUnavailable(f"the answer of kubectl about {name} cannot be read")
        job = Registered.of(self.service, kind, (*objects, *pods)[0])
        # no other object of any cluster has its uid
        known = ((each, each.registered()) for each in KubeJobFolder.all(self.resources.folder()))
        for folder, before in known:
            if before and before.uid == job.uid:
                return folder.remote_job(before)
        try:
            return KubeJobFolder.new(self.resources, job).remote_job(job)
        except OSError as error:
            raise StorageFailed(f"{name} cannot be recorded: {error}") from error

    def names(self) -> tuple[str, ...]:
        """See `RemoteJobs`."""
        objects, pods = Kubectl(self.service).objects("get", "jobs.batch,pods")
        jobs = [f"job/{job.name}" for job in objects if not job.condition("Complete", "Failed")]
        return (*jobs, *(f"pod/{pod.name}" for pod in pods if not pod.owners and not pod.has_ended))

    def names_of(self, selector: str) -> tuple[str, ...]:
        """The jobs whose pods a label selector chooses, and such pods without a job."""
        _, pods = Kubectl(self.service).objects("get", "pods", "-l", selector)
        return tuple(dict.fromkeys(map(_watchable, pods)))


def _watchable(pod: Pod) -> str:
    owners = [f"{kind.lower()}/{name}" for kind, name, _ in pod.owners if kind in ("Job", "PyTorchJob")]
    return (*owners, f"pod/{pod.name}")[0]
