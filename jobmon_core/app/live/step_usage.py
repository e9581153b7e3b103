"""Ask the scheduler about the running tasks of a job that no agent can watch, when a user looks at them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.scheduler.backends import BACKENDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmon_core.app.live.tasks import TaskAgents
    from jobmon_core.domain.tracking.model import Task, WatchedJob

_MAX_TASKS = 50


def with_step_usage(job: WatchedJob, agents: Mapping[str, TaskAgents]) -> dict[str, TaskAgents]:
    """Return ``agents``, by task key; where they failed, with what the scheduler samples of the task.

    That is one query of a few seconds at most, for up to 50 of them; none if agents report or were not tried.
    """
    backend, found = BACKENDS.get(job.backend), dict(agents)
    missed = {
        raw_id: key
        for key, each in agents.items()
        if each.problem and not each.reports and (raw_id := _raw_id(job, job.tasks[key]))
    }
    if backend is None or backend.step_usage is None or not missed or job.remote:
        return found
    for raw_id, usage in backend.step_usage(sorted(missed)[:_MAX_TASKS]).items():
        if raw_id in missed:
            found[missed[raw_id]] = found[missed[raw_id]]._replace(usage=usage)
    return found


def _raw_id(job: WatchedJob, task: Task) -> int | None:
    return task.raw_job_id or (None if job.is_array else job.job_id)
