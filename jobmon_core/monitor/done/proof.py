"""If processes are gone, add to the answer about them how they ended, as far as files prove that."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from jobmon_core.domain.artifacts.done import DoneLook, is_proved_by_files, record_by_files
from jobmon_core.system.worker import Worker, WorkerFailed

if TYPE_CHECKING:
    from jobmon_core.domain.slurm.rows import RecordAnswer
    from jobmon_core.domain.tracking.model import WatchedJob

_TIMEOUT_S = 20.0


def with_proof(worker: Worker, now_s: float, job: WatchedJob, answer: RecordAnswer) -> RecordAnswer:
    """Return the answer about a job, with the ends of its processes if files prove them."""
    if not is_proved_by_files(job):
        return answer

    def look() -> DoneLook:
        from jobmon_core.analysis.outputs.done import look_for_done  # only in a child

        return look_for_done(job, next(iter(job.tasks.values())))

    def look_in_child() -> DoneLook:
        with suppress(WorkerFailed):  # e.g. a file server does not respond: nothing is proved
            return worker.run(DoneLook, look, _TIMEOUT_S)
        return DoneLook()

    return record_by_files(job, answer, look_in_child, now_s)
