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
from jobmon_core.app.remote.submitting import begin_lineage, cut_off_attempt, submit_and_watch
from jobmon_core.app.restarts.first_attempt import refuse_unstoppable
from jobmon_core.domain.errors import Invalid, StorageFailed
from jobmon_core.domain.job.job_settings import AttemptPlace, RestartMode
from jobmon_core.domain.job.restart.next_submission import resume_words
from jobmon_core.domain.job.restart.ray_attempts import (
    attempt_id,
    in_folder_of_cluster,
    with_place,
    with_words,
    with_working_dir,
    working_dir,
)
from jobmon_core.domain.many.groups.model import checked_name
from jobmon_core.lifecycle.start import MonitorStarter
from jobmon_core.scheduler.ray.backend import RAY
from jobmon_core.scheduler.ray.client import find_service
from jobmon_core.scheduler.ray.submission import (
    RaySubmission,
    is_folder_here,
    new_submission_id,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jobmon_core.context import Context
    from jobmon_core.domain.job.job_settings import JobSettings, RestartSettings
    from jobmon_core.domain.job.restart.model import Decision, Lineage
    from jobmon_core.domain.job.restart.ray_attempts import Description
    from jobmon_core.domain.job.tracking.model import WatchedJob

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
    folder = working_dir(request)
    if folder.startswith("/") and not os.path.lexists(folder):
        tell(
            f"this machine has no {folder}, so it is taken for a folder of the cluster's nodes, e.g. of a pod"
        )
        request = in_folder_of_cluster(request)
    if settings and wanted and wanted.mode is not RestartMode.OFF:
        request = _restartable(settings, wanted, request)
        place = AttemptPlace(secrets.token_hex(_ID_BYTES))
        settings = replace(settings, attempt=place)
    name = attempt_id(place.lineage, 0) if place else new_submission_id()
    named = {"submission_id": name, **(with_place(request, place) if place else request)}

    def on_saved(job: WatchedJob) -> None:
        begin_lineage(ctx, job, request)
        if group:
            join_group(ctx, group, job, job.name, tell)

    submission = RaySubmission(ctx.backend_resources(RAY.name), service, named)
    return submit_and_watch(ctx, starter, RAY.name, submission, settings=settings, on_saved=on_saved)


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
    cut_off = cut_off_attempt(ctx, settings)
    submission = RaySubmission(
        ctx.backend_resources(RAY.name),
        lineage.attempts[0].cluster,
        next_request(ctx, lineage, number, decision),
        cut_off.job_id if cut_off else 0,
    )
    submit_and_watch(
        ctx,
        MonitorStarter(ctx),
        RAY.name,
        submission,
        settings=settings,
        on_saved=lambda job: record(job.id, job.name),
        cut_off=cut_off,
    )
