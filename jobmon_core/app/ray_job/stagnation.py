"""Whether a job of a Ray cluster has stalled; remembers between calls, also of several processes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.domain.ray.stagnation import Memories, look
from jobmon_core.store.json_file import JsonFile
from jobmon_core.system.lock import lock

if TYPE_CHECKING:
    from jobmon_core.app.ray_job.look import RayCluster
    from jobmon_core.context import Context

_KEPT_S = 7 * 86_400.0
_MAX_BYTES = 4 << 20


def is_stalled(ctx: Context, cluster: RayCluster, job_id: str, threshold_s: float) -> bool:
    """Look at a job, remember it, and return whether it has stalled since earlier looks.

    Raises:
        UnknownJob: Ray answers that it has no such job.
        SchedulerUnavailable: Ray does not answer.
        StorageFailed: what was seen cannot be kept.
    """
    if cluster.status(job_id).status != "RUNNING":
        return False
    seen, now_s = cluster.log(job_id), ctx.clock.now()
    key = f"{cluster.name}/{job_id}"
    file = JsonFile(ctx.home.monitors / "ray-looks.json", Memories, _MAX_BYTES, durable=False)
    with lock(file.lock_path):
        jobs = {
            name: each for name, each in file.read_to_change().jobs.items() if now_s - each.seen_s < _KEPT_S
        }
        memory, stalled = look(jobs.get(key), seen.step, seen.fingerprint, now_s, threshold_s)
        file.write(replace(Memories(), jobs={**jobs, key: memory}))
    return stalled
