"""Collect everything that a report says about one task."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.analysis.ending.measured_use import MAX_CLOCK_SKEW_S, node_histories
from jobmon_core.app.history.look import runs_like
from jobmon_core.app.jobs.find import find_job
from jobmon_core.app.jobs.overview import (
    current_status,
    ending_of,
    in_order,
    is_waiting,
    lineages_of,
    why_not_started,
    worst_task,
)
from jobmon_core.app.live.tasks import live_tasks, ongoing_now
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.job.report.series import Window
from jobmon_core.domain.job.report.usage import gpu_uses, node_use
from jobmon_core.domain.logs.progress.history import is_sound
from jobmon_core.domain.logs.progress.model import History
from jobmon_core.domain.redaction import redacted, redacted_lines
from jobmon_core.store.history.index import open_history
from jobmon_core.system.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.context import Context
    from jobmon_core.domain.job.history.record import HistoryRecord
    from jobmon_core.domain.job.notes import Note
    from jobmon_core.domain.job.report.usage import GpuUse, NodeHistory, NodeUse
    from jobmon_core.domain.job.restart.model import Lineage
    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.domain.logs.progress.events.event import Event
    from jobmon_core.domain.logs.progress.model import TaskProgress


@dataclass(frozen=True, slots=True)
class ReportData:
    """Writing the report reads nothing else."""

    now_s: float  # Unix seconds
    live: LiveTask
    task: Task
    window: Window  # of its latest run
    nodes: tuple[NodeHistory, ...] = ()  # those whose agents have reported
    gpu_uses: tuple[GpuUse, ...] = ()
    node_uses: tuple[NodeUse, ...] = ()  # one for each of the nodes
    events: tuple[Event, ...] = ()  # oldest first, without secrets
    problems: tuple[Event, ...] = ()  # the worst first
    user_notes: tuple[Note, ...] = ()
    tasks: tuple[Task, ...] = ()  # of an array or het job, in order
    lineage: Lineage | None = None
    alike: tuple[HistoryRecord, ...] = ()  # runs of the same name that ended before, the last first

    @property
    def job(self) -> WatchedJob:
        """The job that the task belongs to."""
        return self.live.job

    @property
    def progress(self) -> TaskProgress:
        """The progress of the task."""
        return self.live.progress


def collect_report(ctx: Context, argument: str) -> ReportData:
    """Return the data about the task that ``argument`` names; of several, the one with the worst outcome.

    Raise JobmonError if the task waits for its next start, or jobmon never saw it start.
    """
    found, ref = find_job(ctx, argument)
    status = current_status(ctx, found)
    job, now_s = status.job, ctx.clock.now()
    tasks = in_order([task for task in job.tasks.values() if ref.key in ("", task.key)])
    progress = ctx.progress_file(job.id).read()
    by_key = {each.task.key: each for each in live_tasks(status, progress, now_s) if each.task}
    # a task that Slurm has requeued is not among them while it waits for its next start
    task = worst_task(task for task in tasks if task.key in by_key)
    if task is None or is_waiting(task):
        why = why_not_started(job, task or worst_task(tasks), now_s)
        raise JobmonError(f"job {ref} {why}, so there is nothing to report")
    live = _sound(by_key[task.key])
    window = _window(task, live, now_s)
    nodes = node_histories(ctx.telemetry(job.id, task.key), window.start_s)
    since_s = window.start_s - MAX_CLOCK_SKEW_S
    ongoing: Iterable[Event] = ()
    if task.end is None and not job.closed:
        ongoing = ongoing_now(progress, task, now_s)
    return ReportData(
        now_s,
        live,
        task,
        window,
        nodes,
        gpu_uses(nodes),
        tuple(map(node_use, nodes)),
        tuple(_without_secrets(event) for event in live.events if event.at_s >= since_s),
        tuple(map(_without_secrets, ongoing)),
        ctx.notes(job.id).read().notes,
        tuple(tasks) if len(tasks) > 1 else (),
        lineages_of(ctx, [job]).get(job.id),
    )


def with_alike(ctx: Context, data: ReportData) -> ReportData:
    """Add the runs of its name that ended before it.

    Raises:
        StorageFailed: the history cannot be read.
    """
    with open_history(ctx.home.history) as history:
        return replace(data, alike=tuple(runs_like(history, data.job.label, "", data.window.end_s)))


def _sound(live: LiveTask) -> LiveTask:
    if is_sound(live.progress.history):
        return live
    return replace(live, progress=replace(live.progress, history=History()))


def _window(task: Task, live: LiveTask, now_s: float) -> Window:
    """Return when the latest run began and ended; the end of one that still runs is now.

    An unknown start is that of the progress, else the first sample, else the registration of the job; an
    unknown end is the last sample, else now.
    """
    samples, final = live.progress.history.samples, task.end or ending_of(task)
    seen_s = [sample.at_s for sample in samples]
    start_s = (final.started_s if final else task.start_s) or live.progress.history.started_s
    end_s = final.ended_s if final else (None if live.job.closed else now_s)
    start_s = float(start_s) if start_s else min(seen_s, default=live.job.registered_s)
    return Window(start_s, max(start_s, float(end_s) if end_s else max(seen_s, default=now_s)))


def _without_secrets(event: Event) -> Event:
    return replace(event, text=redacted(event.text), evidence=redacted_lines(event.evidence))


def write_report(path: Path, page: str) -> None:
    """Write it in one step into a file that only the user can read."""
    # otherwise a symbolic link would itself be replaced, not the file that it leads to
    write_atomically(path.resolve(), page.encode("utf-8", "backslashreplace"), durable=False)
