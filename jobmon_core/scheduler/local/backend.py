"""The local backend. Imports are deferred because the user waits for `submit`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.scheduler.base import Backend, deferred

if TYPE_CHECKING:
    from jobmon_core.domain.job.tracking.model import Task
    from jobmon_core.domain.node.telemetry.agent import AgentOptions
    from jobmon_core.scheduler.base import AgentLaunch, BackendResources
    from jobmon_core.scheduler.local.client import LocalScheduler


def _scheduler(resources: BackendResources, _cluster: str = "") -> LocalScheduler:
    from jobmon_core.scheduler.local.client import LocalScheduler

    return LocalScheduler(resources.folder())


def _agent_launches(
    resources: BackendResources, job_id: int, task: Task, options: AgentOptions
) -> tuple[AgentLaunch, ...]:
    from jobmon_core.scheduler.this_host import agent_on_host

    pid = _scheduler(resources).main_pid(job_id, task.raw_job_id or job_id)
    return agent_on_host(task, options, *filter(None, [pid]))


LOCAL = Backend(
    name="local",
    display_name="The local scheduler",
    submitter=_scheduler,
    scheduler=_scheduler,
    agent_launches=_agent_launches,
    job_control=_scheduler,
    processes_left=deferred("local.client", "processes_left"),
)
