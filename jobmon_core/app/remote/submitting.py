"""What submissions to services that name their jobs by text have in common: once, recorded first, watched."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from jobmon_core.app.remote.watch import new_job
from jobmon_core.domain.errors import SchedulerRejected
from jobmon_core.domain.job.job_settings import RestartMode
from jobmon_core.domain.job.restart.model import Attempt, Lineage
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.scheduler.base import Fate
from jobmon_core.store.lineages import RecordedSubmission

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jobmon_core.context import Context
    from jobmon_core.domain.job.job_settings import JobSettings
    from jobmon_core.lifecycle.start import MonitorStarter
    from jobmon_core.scheduler.base import ServiceSubmission


def submit_and_watch(
    ctx: Context,
    starter: MonitorStarter,
    backend: str,
    submission: ServiceSubmission,
    *,
    settings: JobSettings | None,
    on_saved: Callable[[WatchedJob], None],
    cut_off: WatchedJob | None = None,
) -> tuple[WatchedJob, str]:
    """Submit a job at most once and watch it; return it, and why it is not known whether it was accepted.

    ``cut_off`` is the job of the same submission that was made before and cut off. Raises SchedulerRejected.
    """
    job = cut_off or new_job(ctx, backend, submission.record(), settings)
    if not cut_off:
        ctx.store.save(job)
    result = submission.submit()
    if result.fate is Fate.REFUSED:
        ctx.store.path(job.id).unlink(missing_ok=True)
        submission.discard()
        raise SchedulerRejected(result.why)
    on_saved(job)
    starter.watch(job.id)
    return job, "" if result.fate is Fate.ACCEPTED else result.why


def begin_lineage(ctx: Context, job: WatchedJob, request: Mapping[str, object]) -> None:
    """Record the first attempt of a lineage, if the job is one; later ones submit ``request`` again."""
    place, wanted = job.attempt, job.own_settings.restart
    if place and wanted:
        attempt = Attempt(0, job.id, job.name, job.backend, job.cluster, job.registered_s)
        recorded = RecordedSubmission(folder=os.getcwd(), script=json.dumps(request))  # noqa: PTH109 - a text
        lineage = Lineage(place.lineage, job.registered_s, wanted, (attempt,))
        ctx.lineages.begin(lineage, recorded if wanted.mode is RestartMode.ON else None)


def cut_off_attempt(ctx: Context, settings: JobSettings) -> WatchedJob | None:
    """Return the job of an attempt whose submission was cut off."""
    jobs = (job for job in ctx.store.all() if isinstance(job, WatchedJob))
    return next((job for job in jobs if job.attempt == settings.attempt), None)
