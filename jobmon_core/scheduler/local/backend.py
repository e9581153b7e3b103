"""The local backend: creates its adapter. Imports are deferred because the user waits for `submit`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.scheduler.base import Backend, deferred

if TYPE_CHECKING:
    from jobmon_core.scheduler.base import AgentLaunch, AgentRequest, BackendResources, JobControl
    from jobmon_core.scheduler.local.client import LocalScheduler


def _scheduler(resources: BackendResources, _cluster: str = "") -> LocalScheduler:
    from jobmon_core.scheduler.local.client import LocalScheduler

    return LocalScheduler(resources.folder())


def _agent_launches(resources: BackendResources, request: AgentRequest) -> tuple[AgentLaunch, ...]:
    from jobmon_core.scheduler.this_host import agent_on_host

    raw_job_id = request.task.raw_job_id or request.job_id
    pid = _scheduler(resources).main_pid(request.job_id, raw_job_id)
    if pid is None:
        return ()
    return agent_on_host(request, pid)


def _job_control(resources: BackendResources, _cluster: str) -> JobControl:
    from jobmon_core.scheduler.local.job_control import LocalJobControl

    return LocalJobControl(resources.folder())


LOCAL = Backend(
    name="local",
    display_name="The local scheduler",
    submitter=_scheduler,
    scheduler=_scheduler,
    agent_launches=_agent_launches,
    job_control=_job_control,
    processes_left=deferred("local.job_control", "processes_left"),
)
