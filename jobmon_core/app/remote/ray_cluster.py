"""Submit jobs to a Ray cluster, each at most once, and watch them.

jobmon chooses the submission ids, under which Ray starts a job once; so a submission that was cut off is made
again. With each attempt of a lineage, the local working folder is sent again.
"""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jobmon_core.app.groups.jobs import join_group
from jobmon_core.app.remote.watch import new_job
from jobmon_core.app.restarts.first_attempt import refuse_unstoppable
from jobmon_core.domain.errors import Invalid, SchedulerRejected, StorageFailed
from jobmon_core.domain.job.job_settings import AttemptPlace, RestartMode
from jobmon_core.domain.job.restart.model import Attempt, Lineage
from jobmon_core.domain.job.restart.next_submission import resume_words
from jobmon_core.domain.job.restart.ray_attempts import (
    attempt_id,
    with_place,
    with_words,
    with_working_dir,
    working_dir,
)
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.many.groups.model import checked_name
from jobmon_core.lifecycle.start import MonitorStarter
from jobmon_core.scheduler.ray.backend import RAY
from jobmon_core.scheduler.ray.client import find_service
from jobmon_core.scheduler.ray.submission import (
    Fate,
    RaySubmission,
    is_folder_here,
    new_submission_id,
)
from jobmon_core.store.lineages import RecordedSubmission

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jobmon_core.context import Context
    from jobmon_core.domain.job.job_settings import JobSettings, RestartSettings
    from jobmon_core.domain.job.restart.model import Decision
    from jobmon_core.domain.job.restart.ray_attempts import Description

_ID_BYTES = 8


def ray_service(ctx: Context, address: str) -> str:
    """Return the Ray cluster with this address; without one, that which Ray's commands use."""
    return find_service(address, ctx.environment)


def submit_to_ray(
    ctx: Context,
    service: str,
    description: Mapping[str, Any],
    tell: Callable[[str], None],
    *,
    settings: JobSettings | None = None,
    group: str = "",
) -> tuple[WatchedJob, str]:
    """Submit a job to Ray, as the first attempt of a lineage if its settings say so, and watch it.

    Return the job, and why it is not known whether Ray has it. ``description`` is what Ray's job API takes;
    without a submission id it gets one. The job is recorded first: if this process is killed meanwhile,
    `jobmon recover` watches what it submitted.
    """
    if group:
        checked_name(group)
    starter = MonitorStarter(ctx, at_most=1 if group else 0)
    wanted, place, request = settings.restart if settings else None, None, dict(description)
    if settings and wanted and wanted.mode is not RestartMode.OFF:
        request = _restartable(settings, wanted, request)
        place = AttemptPlace(secrets.token_hex(_ID_BYTES))
        settings = replace(settings, attempt=place)
    name = attempt_id(place.lineage, 0) if place else new_submission_id()
    named = {"submission_id": name, **(with_place(request, place) if place else request)}

    def on_saved(job: WatchedJob) -> None:
        if place and wanted:
            attempt = Attempt(0, job.id, job.name, RAY.name, service, job.registered_s)
            recorded = RecordedSubmission(folder=os.getcwd(), script=json.dumps(request))  # noqa: PTH109 - a text
            lineage = Lineage(place.lineage, job.registered_s, wanted, (attempt,))
            ctx.lineages.begin(lineage, recorded if wanted.mode is RestartMode.ON else None)
        if group:
            join_group(ctx, group, job, job.name, tell)

    return _submit(ctx, starter, service, named, settings=settings, on_saved=on_saved)


def _restartable(settings: JobSettings, wanted: RestartSettings, request: dict[str, Any]) -> dict[str, Any]:
    if not settings.checkpoint_dir:
        raise Invalid("--restart", ["name where the job saves its checkpoints: --checkpoint-dir DIR"])
    refuse_unstoppable(RAY.name, wanted)
    folder = working_dir(request)
    if folder and is_folder_here(folder):
        return with_working_dir(request, os.path.abspath(folder))  # noqa: PTH100 - links stay
    return request


def next_request(ctx: Context, lineage: Lineage, number: int, decision: Decision) -> Description:
    """Return what submits the further attempt with this number: what the first did, and its place."""
    script = ctx.lineages.submission(lineage.id).read_to_change().script
    if not script:
        raise StorageFailed(f"the submission of lineage {lineage.id} is not recorded any more")
    place = lineage.place(number, decision.checkpoint)
    request = with_place(json.loads(script), place, decision.cause or decision.rule)
    request = with_words(request, resume_words(lineage.settings.resume_arg, place.resume_from))
    return {**request, "submission_id": attempt_id(lineage.id, number)}


def submit_next_to_ray(
    ctx: Context,
    lineage: Lineage,
    number: int,
    decision: Decision,
    *,
    settings: JobSettings,
    record: Callable[[str, str], None],
) -> None:
    """Submit the further attempt with this number; ``record`` gets its state id and its name."""
    place = lineage.place(number, decision.checkpoint)
    jobs = (job for job in ctx.store.all() if isinstance(job, WatchedJob))
    _submit(
        ctx,
        MonitorStarter(ctx),
        lineage.attempts[0].cluster,
        next_request(ctx, lineage, number, decision),
        settings=replace(settings, restart=lineage.settings, attempt=place),
        on_saved=lambda job: record(job.id, job.name),
        cut_off=next((job for job in jobs if job.settings and job.settings.attempt == place), None),
    )


def _submit(
    ctx: Context,
    starter: MonitorStarter,
    service: str,
    description: Mapping[str, object],
    *,
    settings: JobSettings | None,
    on_saved: Callable[[WatchedJob], None],
    cut_off: WatchedJob | None = None,
) -> tuple[WatchedJob, str]:
    number = cut_off.job_id if cut_off else 0
    submission = RaySubmission(ctx.backend_resources(RAY.name), service, description, number)
    job = cut_off or new_job(ctx, RAY.name, submission.record(), settings)
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
