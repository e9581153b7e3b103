"""The latest reports of the agents beside running tasks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.app.jobs.selection import Group
from jobmon_core.app.live.changed_files import ChangedFiles
from jobmon_core.app.live.tasks import live_tasks, task_group
from jobmon_core.store.telemetry import LATEST, TaskTelemetry

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.context import Context
    from jobmon_core.domain.progress.model import JobProgress
    from jobmon_core.domain.telemetry.model import AgentReport
    from jobmon_core.domain.tracking.model import WatchedJob
    from jobmon_core.lifecycle.health import JobStatus


def tasks_with_reports(
    ctx: Context, status: JobStatus, progress: JobProgress, now_s: float
) -> list[LiveTask]:
    """Return the tasks of a job as of ``now_s`` (Unix seconds), with the latest reports about them."""
    return [*live_tasks(status, progress, now_s, reports=agent_reports(ctx, status.job))]


def agent_reports(ctx: Context, job: WatchedJob) -> dict[str, tuple[AgentReport, ...]]:
    """Return the latest report from each node of each running task, by the key of the task."""
    running = [task.key for task in job.tasks.values() if task_group(job, task) is Group.RUNNING]
    found = {key: _readable(map(_read, _paths(ctx, job, key))) for key in running}
    return {key: reports for key, reports in found.items() if reports}


class LiveReports:
    """The reports about many tasks, each read again only after it has changed."""

    def __init__(self, ctx: Context) -> None:
        """Read nothing yet."""
        self._ctx = ctx
        self._files = ChangedFiles(_read)

    def added_to(self, tasks: Iterable[LiveTask]) -> list[LiveTask]:
        """Return the tasks, those that run with the latest reports about them."""
        tasks = list(tasks)
        paths = {
            live.id: _paths(self._ctx, live.job, live.task.key)
            for live in tasks
            if live.task and live.group is Group.RUNNING
        }
        listed = [path for of_task in paths.values() for path in of_task]
        read = dict(zip(listed, self._files.contents(listed), strict=True))
        return [
            replace(live, reports=_readable(read[path] for path in paths[live.id]))
            if paths.get(live.id)
            else live
            for live in tasks
        ]


def _paths(ctx: Context, job: WatchedJob, key: str) -> list[Path]:
    """Return the paths of the latest reports about a task, one for each node."""
    telemetry = ctx.telemetry(job.id, key)
    return [telemetry.folder / node / LATEST for node in telemetry.nodes()]


def _readable(reports: Iterable[AgentReport]) -> tuple[AgentReport, ...]:
    return tuple(each for each in reports if each.latest.at_s)


def _read(path: Path) -> AgentReport:
    return TaskTelemetry(path.parent.parent).report(path.parent.name)
