"""What jobmon keeps of the jobs on Kubernetes, see `JobFolder`.

FOLDER/7/job.log     the copy of the log of its first pod; pod-1.log, pod-2.log ... of those beside it
FOLDER/7/cancelled   the user had jobmon delete it
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.scheduler import services
from jobmon_core.scheduler.base import RemoteJob
from jobmon_core.scheduler.kubernetes.pods import Reading  # noqa: TC001 - json_codec reads the hints

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Self

    from jobmon_core.scheduler.kubernetes.objects import KubeObject, Pod

FURTHER_LOGS = "pod-*.log"


@dataclass(frozen=True, slots=True)
class Registered(services.RegisteredJob):
    """What identifies a job; ``uid`` is empty until the cluster has shown a submission."""

    kind: str  # see `reading.KINDS`
    name: str
    uid: str = ""
    at_s: float = 0.0
    submit_s: int | None = None
    completions: int = 1
    retries: int = 0
    command: str = ""
    token: str = ""  # of jobmon's submission; it is in an annotation of the object

    @classmethod
    def of(cls, service: str, kind: str, found: KubeObject, token: str = "") -> Self:
        """An object as the cluster shows it, or as it is to be created."""
        known = (found.created_s, found.completions, found.retries, found.command, token)
        return cls(service, kind, found.name, found.uid, time.time(), *known)

    @property
    def has_several_pods(self) -> bool:
        """Whether pods of it may run side by side."""
        return self.completions > 1 or self.kind not in ("job", "pod")

    @property
    def full_name(self) -> str:
        """As users and kubectl call it: ``job/train``."""
        return f"{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True)
class PodLog:
    """How far the log of a pod was copied."""

    slot: int  # of its file
    last: str = ""  # the second of the last copied line, RFC 3339
    same: int = 0  # how many lines of this second were copied
    restarts: int = 0  # of its container, when it was copied
    is_done: bool = False


@dataclass(frozen=True, slots=True)
class SeenStatus(services.SeenStatus):
    """What the latest looks showed of a job."""

    stuck_since_s: float | None = None
    ends: dict[str, Reading] = field(default_factory=dict)  # by the uids of pods
    logs: dict[str, PodLog] = field(default_factory=dict)  # likewise


class KubeJobFolder(services.JobFolder[Registered, SeenStatus]):
    """The files of one job."""

    JOB, STATUS, LOG = Registered, SeenStatus, "job.log"

    @property
    def cancelled(self) -> Path:
        """It is there if jobmon deleted the job for the user."""
        return self.path / "cancelled"

    def remote_job(self, job: Registered) -> RemoteJob:
        """As the use cases take it."""
        return RemoteJob(
            JobRef(self.job_id),
            job.service,
            job.full_name,
            self.logs,
            workdir="/",
            command=job.command,
            submit_s=job.submit_s,
            further_logs=FURTHER_LOGS if job.has_several_pods else "",
        )


class Followed(NamedTuple):
    """A job with what is known of it before and after a look."""

    folder: KubeJobFolder
    job: Registered
    before: SeenStatus
    after: SeenStatus
    pods: tuple[Pod, ...] = ()
