"""What the agents beside running tasks reported last, and what the scheduler samples of the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.app.jobs.find import StateGroup
from jobmon_core.app.live.tasks import TaskAgents, live_tasks, task_group
from jobmon_core.scheduler.backends import known_backend
from jobmon_core.store.telemetry import LATEST, TaskTelemetry, record_file, report_file
from jobmon_core.system.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.context import Context
    from jobmon_core.domain.job.job_progress import JobProgress
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.domain.node.telemetry.model import AgentReport
    from jobmon_core.lifecycle.health import JobStatus
    from jobmon_core.store.telemetry import AgentRecord

_MAX_TASKS = 50  # about which the scheduler is asked


def tasks_with_agents(ctx: Context, status: JobStatus, progress: JobProgress, now_s: float) -> list[LiveTask]:
    """Return the tasks as of ``now_s``, with what their agents reported."""
    return [*live_tasks(status, progress, now_s, agents=task_agents(ctx, status.job))]


def task_agents(ctx: Context, job: WatchedJob) -> dict[str, TaskAgents]:
    """Return what the agents of each running task reported, by key."""
    running = [task.key for task in job.tasks.values() if task_group(job, task) is StateGroup.RUNNING]
    return {key: agents_of(ctx.telemetry(job.id, key)) for key in running}


def read_report(path: Path) -> AgentReport:
    """From one node."""
    return report_file(path).read()


def read_record(path: Path) -> AgentRecord:
    """What the monitor noted."""
    return record_file(path).read()


def agents_of(
    telemetry: TaskTelemetry,
    report_of: Callable[[Path], AgentReport] = read_report,
    record_of: Callable[[Path], AgentRecord] = read_record,
) -> TaskAgents:
    """Return what the agents of a task reported; ``report_of`` and ``record_of`` read a file, or know it."""
    paths = [telemetry.folder / f"{node}/{LATEST}" for node in telemetry.nodes()]
    reports = tuple(report for path in paths if (report := report_of(path)).latest.at_s)
    return TaskAgents(reports, record_of(telemetry.record.path).attempts.problem)


def with_step_usage(job: WatchedJob, agents: Mapping[str, TaskAgents]) -> dict[str, TaskAgents]:
    """Return ``agents``, by task key; where they failed, with what the scheduler samples of the task.

    That is one query of a few seconds at most, for up to 50 of them; none if agents report or were not tried.
    """
    backend, found = known_backend(job.backend), dict(agents)
    missed = {
        raw_id: key
        for key, each in agents.items()
        if each.problem and not each.reports and (raw_id := _raw_id(job, job.tasks[key]))
    }
    if backend is None or backend.step_usage is None or not missed or job.remote:
        return found
    for raw_id, usage in backend.step_usage(Runner(), sorted(missed)[:_MAX_TASKS]).items():
        if raw_id in missed:
            found[missed[raw_id]] = found[missed[raw_id]]._replace(usage=usage)
    return found


def _raw_id(job: WatchedJob, task: Task) -> int | None:
    return task.raw_job_id or (None if job.is_array else job.job_id)
