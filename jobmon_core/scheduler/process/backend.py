"""The process backend, which only watches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.scheduler.base import Backend

if TYPE_CHECKING:
    from jobmon_core.domain.job.tracking.model import Task
    from jobmon_core.domain.node.telemetry.agent import AgentOptions
    from jobmon_core.scheduler.base import AgentLaunch, BackendResources
    from jobmon_core.scheduler.process.client import ProcessScheduler


def _scheduler(resources: BackendResources, _cluster: str = "") -> ProcessScheduler:
    from jobmon_core.scheduler.process.client import ProcessScheduler

    return ProcessScheduler(resources.folder())


def _agent_launches(
    resources: BackendResources, job_id: int, task: Task, options: AgentOptions
) -> tuple[AgentLaunch, ...]:
    from jobmon_core.scheduler.this_host import agent_on_host

    groups = (group for group in _scheduler(resources).groups() if group.job_id == job_id)
    group = next((group for group in groups if group.is_one_job), None)
    pids = (process.id.pid for process in group.processes) if group else (task.raw_job_id,)
    return agent_on_host(task, options, *(pid for pid in pids if pid is not None))


PROCESS = Backend(
    name="process",
    display_name="The process table",
    submitter=None,
    scheduler=_scheduler,
    agent_launches=_agent_launches,
)
