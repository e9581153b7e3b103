"""Collect what one look at a run that has just started finds."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.analysis.followed_task import STANDSTILL, ReadTask, TaskLook, running_since_s
from jobmon_core.analysis.job_logs import is_shared, log_files, named_path
from jobmon_core.analysis.triage import errors_of_steps
from jobmon_core.domain.finding import Finding, Severity
from jobmon_core.domain.logs.progress.events.event import EventKind
from jobmon_core.domain.messages.parts import with_own_cancel_command
from jobmon_core.domain.node.launch.checklist import launches
from jobmon_core.domain.node.launch.judge import launch_events
from jobmon_core.domain.node.launch.model import FIRST_OUTPUT, WINDOW_S, LaunchFacts, LaunchState, WorkerLogs
from jobmon_core.domain.node.telemetry.model import Folder
from jobmon_core.domain.node.telemetry.summary import is_current
from jobmon_core.domain.slurm.rows import node_names
from jobmon_core.domain.slurm.states import JobState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jobmon_core.domain.job.job_settings import JobSettings
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.domain.logs.progress.events.event import Event
    from jobmon_core.domain.logs.progress.log.fold import ReaderState
    from jobmon_core.domain.node.telemetry.model import AgentReport
    from jobmon_core.store.telemetry import TaskTelemetry

_MAX_NODES = 256


def run_started_s(task: Task) -> float:
    """Return the start of a task's run, which distinguishes it from others."""
    return float(task.start_s or running_since_s(task))


def launch_facts(followed: ReadTask, look: TaskLook) -> LaunchFacts:
    """Return what is known about the start of a running task."""
    job, task, telemetry, now_s = look.job, look.task, look.telemetry, look.now_s
    settings = job.own_settings
    started_s = _counted_since_s(task)
    reports = _reports(telemetry, started_s, now_s) if telemetry else ()
    progress = followed.progress
    folder, is_of_node = _output_folder(job, task, reports)
    facts = LaunchFacts(
        now_s,
        started_s,
        run_started_s(task),
        settings.launch_timeout_s or WINDOW_S,
        has_own_window=settings.launch_timeout_s is not None,
        reports=reports,
        is_complete=len(reports) >= (len(node_names(task.nodes)) or 1),
        why_no_report=telemetry.record.read().attempts.problem if telemetry and not reports else "",
        num_workers=None if job.is_array else settings.num_workers,  # each task may be one of them
        gpu_ids=settings.gpu_ids,
        worker_logs=_worker_logs(job, task, settings, followed.reader),
        folder=folder,
        is_folder_of_node=is_of_node,
        has_output=followed.has_output if followed.logs or settings.log_files else None,
        outputs=look.artifacts.outputs.count if look.artifacts.outputs else None,
        is_at_end=progress is not None and bool(progress.fraction == 1.0 or progress.end_marker),
    )
    return _with_step_errors(facts, job, task)


def _counted_since_s(task: Task) -> float:
    """Return the start, or the latest return from a suspension."""
    is_resumed = any(JobState.from_slurm(change.state) in STANDSTILL for change in task.history)
    if is_resumed:
        return running_since_s(task)
    return run_started_s(task)


def _reports(telemetry: TaskTelemetry, started_s: float, now_s: float) -> tuple[AgentReport, ...]:
    found = (telemetry.report(node) for node in telemetry.nodes()[:_MAX_NODES])
    return tuple(each for each in found if each.latest.at_s > started_s and is_current(each, now_s))


def _with_step_errors(facts: LaunchFacts, job: WatchedJob, task: Task) -> LaunchFacts:
    """Add what srun says about tasks that do not run; the log is read only for those."""
    if not any(each.missing and each.launcher == "srun" for each in launches(facts)):
        return facts
    return replace(facts, step_errors=errors_of_steps(job, task))


def _worker_logs(
    job: WatchedJob, task: Task, settings: JobSettings, reader: ReaderState | None
) -> WorkerLogs | None:
    """Return None if the user named no logs of workers, or other tasks share them."""
    if not settings.log_files or is_shared(job, settings.log_dir + settings.log_pattern) or reader is None:
        return None
    main = log_files(job, task)
    sizes: Mapping[str, int] = {
        each.path: each.size for each in reader.files if each.path not in main and not each.problem
    }
    empty = tuple(path for path, size in sizes.items() if not size)
    is_of_workers = bool(settings.log_pattern) or settings.launch_timeout_s is not None
    return WorkerLogs(len(sizes) - len(empty), empty, is_of_workers)


def _output_folder(
    job: WatchedJob, task: Task, reports: tuple[AgentReport, ...]
) -> tuple[Folder | None, bool]:
    if not job.own_settings.output_dir:
        return None, False
    path = named_path(job, task, job.own_settings.output_dir)
    seen = [each for report in reports for each in report.folders if each.path == path]
    if seen:  # that of the node which sees the least
        return min(seen, key=lambda each: (each.is_writable, each.exists)), True
    try:
        is_there = Path(path).is_dir()
    except (OSError, ValueError):
        return None, False
    return Folder(path, is_there, is_there and os.access(path, os.W_OK | os.X_OK)), False


def look_at_launch(before: ReadTask, look: TaskLook) -> tuple[ReadTask, tuple[Event, ...]]:
    """Return a running task after one more look at its launch, and what is new.

    Without telemetry, only logs and folders are judged.
    """
    started_s = run_started_s(look.task)
    known = before.launch or _of_earlier_version(before, started_s)
    if known and known.started_s == started_s and not known.is_open:
        return replace(before, launch=known), ()
    launch, events = launch_events(known, launch_facts(before, look))
    advised = (replace(each, advice=with_own_cancel_command(each.advice, look.job)) for each in events)
    return replace(before, launch=launch), tuple(advised)


def _of_earlier_version(followed: ReadTask, started_s: float) -> LaunchState | None:
    """Return the state of a run whose late output an earlier version of jobmon has reported."""
    overdue_s = followed.known_problems.overdue_start_s
    if overdue_s is None:
        return None
    missing = (Finding(Severity.CRITICAL, id=FIRST_OUTPUT),)
    kind = EventKind.NO_OUTPUT
    return LaunchState(started_s, overdue_s, verdict=Severity.CRITICAL, items=missing, reported=kind)
