"""What the agents beside running tasks reported last, and what the scheduler samples of the others."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.app.jobs.find import StateGroup
from jobmon_core.app.live.changed_files import ChangedFiles
from jobmon_core.app.live.tasks import TaskAgents, live_tasks, task_group
from jobmon_core.scheduler.backends import BACKENDS
from jobmon_core.store.telemetry import LATEST, TaskTelemetry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.context import Context
    from jobmon_core.domain.job.job_progress import JobProgress
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.domain.node.telemetry.model import AgentReport
    from jobmon_core.lifecycle.health import JobStatus
    from jobmon_core.store.telemetry import AgentRecord

_MAX_TASKS = 50  # about which the scheduler is asked


class _Files(NamedTuple):
    """The files about the agents of a task."""

    reports: list[Path]  # one for each node
    record: Path  # what the monitor noted about them


def tasks_with_agents(ctx: Context, status: JobStatus, progress: JobProgress, now_s: float) -> list[LiveTask]:
    """Return the tasks of a job as of ``now_s`` (Unix seconds), with what their agents reported."""
    return [*live_tasks(status, progress, now_s, agents=task_agents(ctx, status.job))]


def task_agents(ctx: Context, job: WatchedJob) -> dict[str, TaskAgents]:
    """Return what the agents of each running task reported, by the key of the task."""
    running = [task.key for task in job.tasks.values() if task_group(job, task) is StateGroup.RUNNING]
    return {key: _agents(_files(ctx, job, key), _report, _record) for key in running}


class LiveAgents:
    """The agents of many tasks; each of their files is read again only after it has changed."""

    def __init__(self, ctx: Context) -> None:
        """Read nothing yet."""
        self._ctx = ctx
        self._reports = ChangedFiles(_report)
        self._records = ChangedFiles(_record)

    def added_to(self, tasks: Iterable[LiveTask]) -> list[LiveTask]:
        """Return the tasks; those that run get what their agents reported."""
        tasks = list(tasks)
        files = {
            live.id: _files(self._ctx, live.job, live.task.key)
            for live in tasks
            if live.task and live.group is StateGroup.RUNNING
        }
        paths = [path for of_task in files.values() for path in of_task.reports]
        reports = dict(zip(paths, self._reports.contents(paths), strict=True))
        paths = [of_task.record for of_task in files.values()]
        records = dict(zip(paths, self._records.contents(paths), strict=True))
        found = {key: _agents(each, reports.__getitem__, records.__getitem__) for key, each in files.items()}
        return [replace(live, agents=found[live.id]) if live.id in found else live for live in tasks]


def _files(ctx: Context, job: WatchedJob, key: str) -> _Files:
    telemetry = ctx.telemetry(job.id, key)
    return _Files([telemetry.folder / node / LATEST for node in telemetry.nodes()], telemetry.record.path)


def _agents(
    files: _Files, report_of: Callable[[Path], AgentReport], record_of: Callable[[Path], AgentRecord]
) -> TaskAgents:
    reports = tuple(report for path in files.reports if (report := report_of(path)).latest.at_s)
    attempts = record_of(files.record).attempts
    return TaskAgents(reports, attempts.problem)


def _report(path: Path) -> AgentReport:
    return TaskTelemetry(path.parent.parent).report(path.parent.name)


def _record(path: Path) -> AgentRecord:
    return TaskTelemetry(path.parent).record.read()


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
