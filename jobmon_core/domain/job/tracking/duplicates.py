"""Several records of one job: `jobmon watch` makes another one for a job that was watched before."""

from __future__ import annotations

from collections.abc import Iterable

from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.job.tracking.reopen import is_same_submission
from jobmon_core.domain.slurm.states import Outcome


def without_duplicates(jobs: Iterable[WatchedJob]) -> list[WatchedJob]:
    """Return one record for each job, oldest first: one that is still watched, else the most complete one.

    Records with the same id are of different jobs if Slurm reused the id.
    """
    records: dict[tuple[str, str], list[WatchedJob]] = {}
    for job in sorted(jobs, key=lambda each: each.registered_s):
        same_id = records.setdefault((job.backend, str(job.ref)), [])
        earlier = next((each for each in same_id if _is_same_submission(each, job)), None)
        if earlier is None:
            same_id.append(job)
        elif _completeness(job) >= _completeness(earlier):
            same_id[same_id.index(earlier)] = job
    return sorted((job for same_id in records.values() for job in same_id), key=lambda job: job.registered_s)


def _completeness(job: WatchedJob) -> tuple[bool, bool]:
    return not job.closed, job.outcome not in (None, Outcome.UNKNOWN)


def _is_same_submission(earlier: WatchedJob, later: WatchedJob) -> bool:
    if "" not in (earlier.cluster, later.cluster) and earlier.cluster != later.cluster:
        return False
    if later.is_own_run(earlier.submitted_s):
        return True
    # a record made after a requeue knows only the later submission
    return earlier.is_own_run(later.submitted_s) and is_same_submission(earlier, later.submitted_s)
