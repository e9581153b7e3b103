"""Which earlier run a job is compared with: the newest success of the same name and script."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.states import Outcome

if TYPE_CHECKING:
    from jobmon_core.domain.provenance.model import RunRecord
    from jobmon_core.domain.tracking.model import WatchedJob


def is_earlier_success(candidate: WatchedJob, job: WatchedJob) -> bool:
    """Whether a job of the same name, backend and user, submitted before ``job``, succeeded without doubt."""
    return (
        bool(job.name)
        and candidate.id != job.id
        and (candidate.name, candidate.backend, candidate.user) == (job.name, job.backend, job.user)
        and submitted_s(candidate) <= submitted_s(job)
        and candidate.outcome is Outcome.SUCCESS
        and not candidate.is_doubtful_success
    )


def submitted_s(job: WatchedJob) -> float:
    """Return when a job was submitted, or when jobmon began to watch it (Unix seconds)."""
    return float(job.submitted_s or job.registered_s)


def script_path(job: WatchedJob, record: RunRecord | None) -> str:
    """Return the path of a job's script; empty if it came from no file, or if that is not known."""
    if record and record.script and record.script.path:
        return record.script.path
    path = job.command.partition(" ")[0]  # Slurm shows the arguments of the script behind its path
    return path if path.startswith("/") else ""
