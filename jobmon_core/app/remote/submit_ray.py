"""Use case: submit a job to a Ray cluster, at most once, and watch it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.app.remote.watch import new_job
from jobmon_core.domain.errors import AlreadyWatched, SchedulerRejected
from jobmon_core.scheduler.ray.backend import RAY
from jobmon_core.scheduler.ray.submission.submit import Fate, RaySubmission, new_submission_id

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jobmon_core.context import Context
    from jobmon_core.domain.job_settings import JobSettings
    from jobmon_core.domain.tracking.model import WatchedJob
    from jobmon_core.lifecycle.start import MonitorStarter


class SubmittedToRay(NamedTuple):
    """A job of Ray, which is watched."""

    job: WatchedJob
    problem: str = ""  # why it is not known whether Ray accepted it; empty if it did


def submit_to_cluster(
    ctx: Context,
    starter: MonitorStarter,
    service: str,
    description: Mapping[str, object],
    *,
    settings: JobSettings | None = None,
    on_saved: Callable[[WatchedJob], None] | None = None,
) -> SubmittedToRay:
    """Submit a job to a Ray cluster and watch it.

    ``description`` is what Ray's job API takes; without a submission id it gets one. The job is recorded
    first: if this process is killed meanwhile, `jobmon recover` watches what it submitted. ``on_saved`` is
    called with the job unless it was refused, before its monitor starts.

    Raises:
        SchedulerRejected: nothing was submitted.
        StorageFailed: a file cannot be written, or the monitor did not start.
    """
    named = {"submission_id": new_submission_id(), **description}
    submission = RaySubmission(ctx.backend_resources(RAY.name), service, named)
    job = new_job(ctx, RAY.name, submission.record(), settings)
    ctx.store.save(job)
    result = submission.submit()
    if result.fate is Fate.REFUSED:
        ctx.store.path(job.id).unlink(missing_ok=True)
        submission.discard()
        raise SchedulerRejected(result.why)
    if on_saved:
        on_saved(job)
    with suppress(AlreadyWatched):  # a `jobmon recover` that ran meanwhile has started a monitor
        starter.start([job.id])
    return SubmittedToRay(job, "" if result.fate is Fate.ACCEPTED else result.why)
