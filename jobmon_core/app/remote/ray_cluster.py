"""Submit jobs to a Ray cluster, each at most once, and watch them.

jobmon chooses the submission ids, under which Ray starts a job once; so a submission that was cut off is made
again. With each attempt of a lineage, the local working folder is sent again.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from jobmon_core.app.remote.submitting import Request, SubmittingTo, submit_first
from jobmon_core.domain.backends import RAY
from jobmon_core.domain.job.restart.ray_attempts import (
    attempt_id,
    in_folder_of_cluster,
    with_place,
    with_words,
    with_working_dir,
    working_dir,
)
from jobmon_core.scheduler.ray.client import find_service
from jobmon_core.scheduler.ray.submission import RaySubmission, is_folder_here, new_submission_id

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.job.job_settings import AttemptPlace, JobSettings
    from jobmon_core.domain.job.tracking.model import WatchedJob


def ray_service(ctx: Context, address: str) -> str:
    """Return the Ray cluster with this address; without one, that which Ray's commands use."""
    return find_service(address, ctx.environment)


def _request(
    description: Request, place: AttemptPlace | None, words: Sequence[str] = (), reason: str = ""
) -> Request:
    if place is None:
        return {"submission_id": new_submission_id(), **description}
    request = with_words(with_place(description, place, reason), words)
    own = {"submission_id": attempt_id(place.lineage, place.number)}
    return {**request, **own} if place.number else {**own, **request}  # the user may have named the first


TO_RAY = SubmittingTo(RAY, RaySubmission, _request, observed=_request)


def submit_to_ray(
    ctx: Context,
    service: str,
    description: Request,
    tell: Callable[[str], None],
    *,
    settings: JobSettings | None = None,
    group: str = "",
) -> tuple[WatchedJob, str]:
    """Submit a job to Ray, see `submit_first`. ``description`` is what Ray's job API takes.

    A working folder that this machine does not have is one of the cluster.
    """
    folder = working_dir(description)
    if folder.startswith("/") and not os.path.lexists(folder):
        tell(
            f"this machine has no {folder}, so it is taken for a folder of the cluster's nodes, e.g. of a pod"
        )
        description = in_folder_of_cluster(description)
    elif folder and is_folder_here(folder):  # an attempt may be submitted from elsewhere
        description = with_working_dir(description, os.path.abspath(folder))  # noqa: PTH100 - links stay
    return submit_first(ctx, TO_RAY, service, description, tell, settings=settings, group=group)
