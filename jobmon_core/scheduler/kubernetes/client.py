"""A namespace of a cluster: its name, and the jobs there that jobmon follows, by jobmon's numbers."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerRejected, SchedulerUnavailable, StorageFailed, UnknownJob
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import Unreachable
from jobmon_core.scheduler.kubernetes.kubectl import Kubectl, KubeFailed
from jobmon_core.scheduler.kubernetes.objects import read_list
from jobmon_core.scheduler.kubernetes.reading import KINDS, POD, WORDS
from jobmon_core.scheduler.kubernetes.records import (
    KubeJobFolder,
    Registered,
    find_folder,
    new_folder,
)
from jobmon_core.scheduler.records import Reply, WithoutAccounting, latest_record
from jobmon_core.system.helper import Helper, HelperFailed
from jobmon_core.system.runner import NotStarted, Runner, succeeded

if TYPE_CHECKING:
    from pathlib import Path

    from jobmon_core.domain.slurm.log_paths import LogPaths
    from jobmon_core.domain.slurm.rows import RecordAnswer
    from jobmon_core.scheduler.base import BackendResources, RemoteJob
    from jobmon_core.scheduler.kubernetes.objects import KubeObject, Pod

_TIMEOUT_S = 240.0
_CONFIG_TIMEOUT_S = 20.0
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")  # a name of an object: RFC 1123
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_MAX_NAMED = 5


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


@dataclass(frozen=True, slots=True)
class KubeScheduler(WithoutAccounting):
    """What a namespace shows of the jobs that jobmon follows; finds others, see `RemoteJobs`."""

    name = "kubernetes"

    resources: BackendResources
    service: str

    @property
    def _root(self) -> Path:
        return self.resources.folder()

    def ask_queue(self, user: str) -> str | Unreachable:  # noqa: ARG002 - all jobs of a home are one user's
        """See `Scheduler`; it copies the logs, too."""
        root, is_known = self._root, self.resources.is_known

        def work() -> Reply:
            from jobmon_core.scheduler.kubernetes.poll import poll

            return poll(root, self.service, lambda job_id: is_known(JobRef(job_id)))

        try:
            return Helper(self.resources.locks).run(Reply, work, _TIMEOUT_S).answer
        except HelperFailed as error:
            return Unreachable(f"the query of Kubernetes ({self.service}) failed: {error.reason}")

    def ask_record(self, job_id: int) -> RecordAnswer:
        """What the latest look showed."""
        status = KubeJobFolder(self._root / str(job_id)).status()
        return latest_record(status.row, status.gone_why)

    def ask_log_templates(self, job_id: int) -> LogPaths | None:
        """See `Scheduler`."""
        return KubeJobFolder(self._root / str(job_id)).logs

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
            return self._remote(self._folder_of(kind, found))
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

    def _folder_of(self, kind: str, found: KubeObject | Pod) -> KubeJobFolder:
        root = self._root
        if known := find_folder(root, found.uid):
            return known
        job = Registered(self.service, kind, found.name, found.uid, time.time(), submit_s=found.created_s)
        return new_folder(
            root, _with_details(job, found), lambda number: self.resources.is_known(JobRef(number))
        )

    def _remote(self, folder: KubeJobFolder) -> RemoteJob:
        job = folder.registered()
        if job is None:
            raise StorageFailed(f"the record of job {folder.job_id} cannot be read")
        return folder.remote_job(job)


def _with_details(job: Registered, found: KubeObject | Pod) -> Registered:
    from dataclasses import replace

    from jobmon_core.scheduler.kubernetes.objects import KubeObject

    if not isinstance(found, KubeObject):
        return job
    return replace(job, completions=found.completions, retries=found.retries, command=found.command)


def _watchable(pod: Pod) -> str:
    owner = next((each for each in pod.owners if each[0] in ("Job", "PyTorchJob")), None)
    if owner is None:
        return f"pod/{pod.name}"
    return f"{owner[0].lower()}/{owner[1]}"
