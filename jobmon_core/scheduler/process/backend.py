"""The process backend: creates its adapter. It only watches: processes are started without jobmon."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.scheduler.base import Backend

if TYPE_CHECKING:
    from jobmon_core.scheduler.base import AgentLaunch, AgentRequest, BackendResources
    from jobmon_core.scheduler.process.client import ProcessScheduler


def _scheduler(resources: BackendResources, _cluster: str = "") -> ProcessScheduler:
    from jobmon_core.scheduler.process.client import ProcessScheduler

    return ProcessScheduler(resources.folder())


def _agent_launches(_resources: BackendResources, request: AgentRequest) -> tuple[AgentLaunch, ...]:
    from jobmon_core.scheduler.agent_on_host import agent_on_host

    return agent_on_host(request, request.task.raw_job_id)


PROCESS = Backend(
    name="process",
    display_name="The process table",
    submitter=None,
    scheduler=_scheduler,
    agent_launches=_agent_launches,
)
