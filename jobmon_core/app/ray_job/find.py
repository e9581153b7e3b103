"""Find the job of a Ray cluster that a name means, and what a request to submit it again says."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jobmon_core.domain.job.restart.ray_attempts import (
    FIELDS,
    LINEAGE_KEY,
    NAME_KEYS,
    Description,
    with_working_dir,
)
from jobmon_core.scheduler.ray.cluster_state import SUPERVISOR
from jobmon_core.scheduler.ray.ray_job import RayFailed, parse_job
from jobmon_core.scheduler.ray.submission import FOLDER_KEY

if TYPE_CHECKING:
    from jobmon_core.scheduler.ray.api import RayApi
    from jobmon_core.scheduler.ray.ray_job import RayJob

_RESOURCES = {"CPU": "entrypoint_num_cpus", "GPU": "entrypoint_num_gpus", "memory": "entrypoint_memory"}
_OF_NODES = "node:"  # the beginning of resources that Ray itself adds


class FoundJob(NamedTuple):
    """A job of a Ray cluster."""

    entry: RayJob
    session: str  # of the cluster, which a new head changes
    description: Description  # to submit it again
    lineage: str  # the id of which it is an attempt, as it says itself; empty if it does not


def find_job(api: RayApi, name: str) -> FoundJob | None:
    """Return the job with this submission id, job id, or name in its metadata; None if there is none.

    Of several, it is one that has not ended, else the newest.

    Raises:
        SchedulerUnavailable: Ray does not answer.
    """
    version, listed = api.version(), api.descriptions()
    named = [(job, data) for data in listed if (job := parse_job(data)) and name in _names(job, data)]
    if not named:
        return None
    entry, data = max(named, key=lambda each: (not each[0].has_ended, each[0].start_s or 0))
    lineage = _metadata(data).get(LINEAGE_KEY)
    return FoundJob(
        entry, version.session, _description(api, entry, data), lineage if isinstance(lineage, str) else ""
    )


def _names(job: RayJob, data: dict[str, Any]) -> set[object]:
    return {job.submission_id, job.job_id, *(_metadata(data).get(key) for key in NAME_KEYS)} - {"", None}


def _metadata(data: dict[str, Any]) -> dict[str, Any]:
    found = data.get("metadata")
    if isinstance(found, dict):
        return found
    return {}


def _description(api: RayApi, job: RayJob, data: dict[str, Any]) -> Description:
    """Return what to submit again, with the folder of this host that was sent, if it is still there."""
    description = {key: value for key, value in data.items() if key in FIELDS and value}
    host, _, folder = str(_metadata(data).get(FOLDER_KEY) or "").partition(":")
    if host == os.uname().nodename and Path(folder).is_dir():
        description = with_working_dir(description, folder)
    return {**description, **_requested(api, job)}


def _requested(api: RayApi, job: RayJob) -> Description:
    """Return the resources that an entrypoint reserves: Ray shows them only of the actor that starts it."""
    actors: list[dict[str, Any]] = []
    with suppress(RayFailed):
        if job.submission_id:
            actors = api.state("actors", name=f"{SUPERVISOR}{job.submission_id}")
    resources = actors[0].get("required_resources") if actors else None
    amounts = dict(resources) if isinstance(resources, dict) else {}
    found = {_RESOURCES[name]: amounts.pop(name) for name in _RESOURCES if name in amounts}
    if others := {name: amount for name, amount in amounts.items() if not name.startswith(_OF_NODES)}:
        found["entrypoint_resources"] = others
    return found
