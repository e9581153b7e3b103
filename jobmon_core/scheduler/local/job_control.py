"""Find and cancel local jobs, by their directories, and find the processes that they left."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import StateUnreadable
from jobmon_core.domain.job.restart.model import LINEAGE_VARIABLE, ProcessesLeft
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import NotListed, Unreachable
from jobmon_core.scheduler.local.job_dir import JobDir, all_job_dirs
from jobmon_core.scheduler.process.find import is_jobmon
from jobmon_core.system.process import ProcessId, ProcessStatus, processes_with

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from pathlib import Path

    from jobmon_core.scheduler.base import BackendResources, CutOffSubmission
    from jobmon_core.scheduler.local.job_dir import JobSpec

_CANNOT_HOLD = "local jobs cannot be held, only cancelled"


@dataclass(frozen=True, slots=True)
class LocalJobControl:
    """Acts on the jobs in one folder."""

    folder: Path

    def cancel(self, refs: Sequence[JobRef]) -> str:
        """See `JobControl`; a supervisor on another host cannot be reached."""
        this = ProcessId.current()
        remote = []
        for ref in refs:
            with suppress(StateUnreadable, OSError):
                owner = JobDir(self.folder / str(ref.job_id)).owner()
                status = owner.status(this) if owner else ProcessStatus.EXITED
                if owner and status is ProcessStatus.RUNNING:
                    os.kill(owner.pid, signal.SIGTERM)
                elif owner and status is ProcessStatus.REMOTE:
                    remote.append(f"job {ref} runs on {owner.host}")
        return "; ".join(remote)

    def hold(self, refs: Sequence[JobRef]) -> str:  # noqa: ARG002 - the interface of all schedulers
        """See `JobControl`."""
        return _CANNOT_HOLD

    def release(self, refs: Sequence[JobRef]) -> str:  # noqa: ARG002 - the interface of all schedulers
        """See `JobControl`."""
        return _CANNOT_HOLD

    def queued_jobs(self, user: str) -> dict[JobRef, str]:  # noqa: ARG002 - see ask_queue
        """See `JobControl`."""
        jobs = [(each.id, spec.name) for each, spec in self._jobs() if each.ended_s() is None]
        return {JobRef(job_id): name for job_id, name in sorted(jobs)}

    def find_submission(
        self, submission: CutOffSubmission, others: Collection[JobRef], now_s: float
    ) -> JobRef | NotListed | Unreachable:
        """See `JobControl`.

        It is the first job since the attempt began that was submitted in the same folder and whose script
        has the same arguments.
        """
        del now_s
        found = [
            each.id
            for each, spec in self._jobs()
            if spec.submit_dir == submission.folder
            and spec.submit_s >= int(submission.since_s)
            and JobRef(each.id) not in others
            and submission.arguments[len(submission.arguments) - len(spec.arguments) :] == spec.arguments
        ]
        if found:
            return JobRef(min(found))
        return NotListed()

    def _jobs(self) -> Iterator[tuple[JobDir, JobSpec]]:
        for each in all_job_dirs(self.folder):
            with suppress(StateUnreadable, OSError):
                if spec := each.spec():
                    yield each, spec


def processes_left(
    resources: BackendResources, _cluster: str, number: int, lineage: str
) -> ProcessesLeft | Unreachable:
    """Return the processes of a lineage that still run here, e.g. after the supervisor of its job was killed.

    Processes of jobmon do not count: a monitor of a job that a job of this lineage submitted outlives it.
    """
    try:
        owner = JobDir(resources.folder() / str(number)).owner()
    except (OSError, StateUnreadable) as error:
        return Unreachable(f"the record of job {number} cannot be read: {error}")
    if owner is not None and owner.status(ProcessId.current()) is ProcessStatus.REMOTE:
        return Unreachable(f"the job ran on {owner.host}, and only there its processes can be seen")
    found = (pid for pid in processes_with(LINEAGE_VARIABLE, lineage) if not is_jobmon(pid))
    return ProcessesLeft(tuple(found), "kill")
