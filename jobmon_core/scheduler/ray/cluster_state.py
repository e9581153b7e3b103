"""Whether processes of a job live, by Ray's state API (``/api/v0/actors`` and ``workers`` of 2.60).

FAILED does not prove it. The exit code of the driver shows that its command ended, and STOPPED that Ray
killed it. But that may be a shell that was killed, while the driver below it, or an actor, runs on and writes
checkpoints.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.humanize import count
from jobmon_core.scheduler.ray.ray_job import RayFailed, read_job

if TYPE_CHECKING:
    from jobmon_core.scheduler.ray.api import RayApi
    from jobmon_core.scheduler.ray.ray_job import RayJob


SUPERVISOR = "_ray_internal_job_actor_"  # the name of the actor that runs an entrypoint, before the job's id


def death_of(api: RayApi, entry: RayJob) -> tuple[str, str]:
    """What proves that no process lives, or an empty text, and why that is not known."""
    reading = read_job(entry)
    doubt = reading.ended_unknown_why
    if not entry.has_ended:
        doubt = f"Ray shows {entry.status}"
    elif reading.is_late and may_start(api, entry):
        doubt = "Ray did not start it in time, but may start it later"
    elif not doubt and entry.job_id:
        doubt = _still_there(api, entry, is_lost=reading.is_lost)
    elif reading.is_lost:
        doubt = reading.reason
    code = "" if entry.exit_code is None else f", exit code {entry.exit_code}"
    if doubt:
        return "", doubt
    return f"Ray shows {entry.status}{code}, and no process of it", ""


def _still_there(api: RayApi, entry: RayJob, *, is_lost: bool) -> str:
    is_alive = driver_is_alive(api, entry)
    if is_alive or (is_alive is None and is_lost):
        more = "nothing shows that its driver has ended"
        if is_alive:
            more = "its driver runs"
        return f"Ray shows {entry.status}, but {more}"
    try:
        actors = api.state("actors", job_id=entry.job_id, state="ALIVE")
    except RayFailed as error:
        return f"it is not known whether its actors live: {error}"
    if actors:
        return f"{count(len(actors), 'actor')} of it live: {actors[0].get('class_name')}"
    return ""


def driver_is_alive(api: RayApi, entry: RayJob) -> bool | None:
    """Ray keeps calling the processes of a node alive whose raylet died."""
    try:
        # the worker id of a driver is its job id, filled up with f
        (worker,) = api.state("workers", worker_id=f"{entry.job_id}{'f' * 48}")
    except (RayFailed, ValueError):
        return None
    is_alive = worker.get("is_alive")
    return is_alive if isinstance(is_alive, bool) else None


def may_start(api: RayApi, entry: RayJob) -> bool:
    """Whether the actor that starts an entrypoint waits or lives; also if that is not known.

    After its time is over, Ray may still place it, e.g. on a node that comes up (ray#41437, #55858).
    """
    try:
        actors = api.state("actors", name=f"{SUPERVISOR}{entry.submission_id}")
    except RayFailed:
        return True
    return any(actor.get("state") != "DEAD" for actor in actors)
