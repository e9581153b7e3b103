"""What jobmon keeps of the jobs on Kubernetes, see `JobFolder`.

FOLDER/7/logs.json   how far the log of each pod of job 7 was copied
FOLDER/7/job.log     the copy for its first pod; pod-1.log, pod-2.log ... for those beside it
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.scheduler import services
from jobmon_core.scheduler.base import RemoteJob
from jobmon_core.scheduler.kubernetes.pods import PodEnd  # noqa: TC001 - json_codec reads the hints

if TYPE_CHECKING:
    from pathlib import Path

    from jobmon_core.scheduler.kubernetes.objects import Pod

FURTHER_LOGS = "pod-*.log"


@dataclass(frozen=True, slots=True)
class Registered(services.RegisteredJob):
    """What identifies a job; ``uid`` is empty until the cluster has shown a submission."""

    kind: str  # see `reading.WORDS`
    name: str
    uid: str = ""
    at_s: float = 0.0
    submit_s: int | None = None
    completions: int = 1
    retries: int = 0
    command: str = ""
    token: str = ""  # of jobmon's submission; it is in an annotation of the object

    @property
    def has_several_pods(self) -> bool:
        """Whether pods of it may run side by side."""
        return self.completions > 1 or self.kind not in ("job", "pod")

    @property
    def full_name(self) -> str:
        """As users and kubectl call it: ``job/train``."""
        return f"{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True)
class SeenStatus(services.SeenStatus):
    """What the latest looks showed of a job."""

    stuck_since_s: float | None = None
    ends: dict[str, PodEnd] = field(default_factory=dict)  # by the uids of pods


class KubeJobFolder(services.JobFolder[Registered, SeenStatus]):
    """The files of one job."""

    JOB, STATUS, LOG = Registered, SeenStatus, "job.log"

    def note_cancelled(self, *, is_so: bool = True) -> None:
        """The user has jobmon delete it."""
        if is_so:
            (self.path / "cancelled").touch()
        else:
            (self.path / "cancelled").unlink(missing_ok=True)

    @property
    def is_cancelled(self) -> bool:
        """Whether jobmon deleted it for the user."""
        return (self.path / "cancelled").exists()

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


def find_folder(root: Path, uid: str) -> KubeJobFolder | None:
    """The folder of the object with this uid, which no other object of any cluster has."""
    folders = sorted(KubeJobFolder.all(root), key=lambda each: -each.job_id)
    return next((each for each in folders if (job := each.registered()) and job.uid == uid), None)
