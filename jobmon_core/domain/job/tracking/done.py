"""Judge whether a job that no scheduler owns has done its work, by what the user named for this.

Only their parent could ask its processes for an exit status. What the user named is the proof of success. If
any of it is missing after the processes are gone, the outcome stays unknown, unless the marker states a
failure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.domain.slurm.rows import JobRow, NotListed, RecordAnswer, Unreachable
from jobmon_core.domain.slurm.states import JobState

GRACE_S = 15.0  # after the processes are gone: the shell that ran them may write the marker only then


@dataclass(frozen=True, slots=True)
class DoneLook:
    """Which of the marker, artifact and log line that the user named exist; e.g. ``marker /a/DONE``."""

    found: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    exit_status: int | None = None  # that the marker states; None if it states none
    at_s: float | None = None  # when the last of ``found`` was written (Unix seconds); None without any

    @property
    def is_proof(self) -> bool:
        """Whether all that was named is there, or a marker states a failure."""
        return bool(self.found and not self.missing) or bool(self.exit_status)


def is_proved_by_files(job: WatchedJob) -> bool:
    """Whether files alone can prove the end of a job: no source knows how its processes end."""
    return bool(job.unprovable_why and job.settings and job.settings.done)


def record_by_files(
    job: WatchedJob, answer: RecordAnswer, look: Callable[[], DoneLook], now_s: float
) -> RecordAnswer:
    """Return the answer about the processes of a job, with the end of those that are gone if it is proved.

    ``look`` is called when all processes are gone. Until then, those that have ended count as running, since
    the proof is about all of them. If all are gone without proof, the answer is `Unreachable` for a short
    time: the proof may still be written.
    """
    if isinstance(answer, Unreachable):
        return answer
    gone = [task.key for task, _ in job.open_inquiries()]
    if not isinstance(answer, NotListed):
        listed = {record.ref.key for record in answer}
        return (*answer, *(_record(job, key, JobState.RUNNING) for key in gone if key not in listed))
    found = look()
    if not found.is_proof:
        since_s = min((inquiry.since_s for _, inquiry in job.open_inquiries()), default=now_s)
        return Unreachable("its processes are gone") if 0 <= now_s - since_s < GRACE_S else answer
    state = JobState.FAILED if found.exit_status else JobState.COMPLETED
    return tuple(_record(job, key, state, found) for key in gone)


def _record(job: WatchedJob, key: str, state: JobState, found: DoneLook | None = None) -> JobRow:
    task = job.tasks[key]
    return JobRow(
        ref=ref_of(job.job_id, key),
        state=state,
        raw_state=state,
        raw_job_id=task.raw_job_id,
        reason=", ".join(found.found) if found else "",
        submit_s=task.submit_s,
        start_s=task.start_s,
        end_s=int(found.at_s) if found and found.at_s else None,
        nodes=task.nodes,
        name=job.name,
        user=job.user,
        workdir=job.workdir,
        exit_code=(found.exit_status or 0) if found else None,
        restarts=0,
        paths_expanded=True,
    )
