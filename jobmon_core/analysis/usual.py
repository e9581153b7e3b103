"""Compare a running task with earlier runs of its name, whose figures are read once in each run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.analysis.followed_task import ReadTask, TaskLook, running_since_s
from jobmon_core.domain.job.history.baseline import (
    LATE,
    SLOWER,
    WAIT,
    Comparison,
    Usual,
    compared,
    has_gpu_use,
    has_pace,
    highest_usual,
    usual_of,
)
from jobmon_core.domain.job.history.record import NAMES_OF_SBATCH, HistoryRecord, step_s
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.store.history.lines import recent

if TYPE_CHECKING:
    from pathlib import Path

    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.domain.logs.progress.events.event import Event
    from jobmon_core.domain.logs.progress.model import TaskProgress
    from jobmon_core.store.telemetry import TaskTelemetry

_NO_USUAL = Usual()
_MEASURE_INTERVAL_S = 600.0  # between two looks at all that agents measured


def runs_like(history: Path, job: WatchedJob, now_s: float) -> list[HistoryRecord]:
    """Return earlier runs of the name of a job, the latest first, as far as `recent` goes back."""
    if job.label in NAMES_OF_SBATCH:
        return []
    alike = [each for each in recent(history, now_s, job.name) if each.label == job.label]
    return sorted(alike, key=lambda each: each.ended_s or 0, reverse=True)


def look_at_usual(before: ReadTask, look: TaskLook) -> tuple[ReadTask, tuple[Event, ...]]:
    """Return a running task after one more comparison, and what is new."""
    started_s = look.task.start_s
    if look.history is None or started_s is None or not look.job.name:  # which the first looks may lack
        return before, ()
    known, is_first = _of_run(before.compared, look, look.history, float(started_s))
    if known.usual == _NO_USUAL:
        return replace(before, compared=known), ()
    run = _judged(before, look, known.usual)
    if is_first and not (look.job.is_array or look.task.restarts):  # whose tasks may wait for each other
        run = with_wait(run, look.task)
    is_due = look.now_s - known.measured_s >= _MEASURE_INTERVAL_S
    if look.telemetry and is_due and (known.usual.memory_peak or known.usual.idle_percent):
        run = _with_measures(run, before, look.telemetry, known)
        known = known._replace(measured_s=look.now_s)
    after, events = compared(known, run, _late_s(before, look), _told(before))
    return replace(before, compared=after), events


def _of_run(
    known: Comparison | None, look: TaskLook, history: Path, started_s: float
) -> tuple[Comparison, bool]:
    """Return what is known of the run that started then, and whether this is the first look at it."""
    if known is not None and known.started_s == started_s:
        return known, False
    # the scheduler knows the memory of single processes, so only what agents measured counts
    alike = (each._replace(memory_peak=each.node_peak) for each in runs_like(history, look.job, look.now_s))
    ongoing = known.ongoing if known else ()
    told = known.told if known and not known.started_s else ()  # of its wait, while it waited
    return Comparison(started_s, usual_of(alike), told=told, ongoing=ongoing), True


def look_at_wait(
    before: ReadTask, job: WatchedJob, task: Task, history: Path, now_s: float
) -> tuple[ReadTask, tuple[Event, ...], float | None]:
    """Return a waiting task after a look at its wait, what is new, and when to look again (Unix seconds).

    The last is None if the wait was told, or if nothing is known of earlier ones.
    """
    known = before.compared or Comparison()
    usual = Usual(wait_s=usual_of(runs_like(history, job, now_s)).wait_s)
    highest_s = highest_usual(WAIT, usual)
    # as if it started now
    run = with_wait(
        run_so_far(job, task, None, now_s), replace(task, state=JobState.RUNNING, start_s=int(now_s))
    )
    if known.told or highest_s is None or run.wait_s is None:
        return before, (), None
    after, events = compared(known._replace(usual=usual), run)
    if not events:
        return before, (), now_s + max(0.0, highest_s - run.wait_s)
    events = tuple(replace(each, text=f"has {each.text}") for each in events)
    return replace(before, compared=after._replace(usual=_NO_USUAL)), events, None


def run_so_far(job: WatchedJob, task: Task, followed: TaskProgress | None, now_s: float) -> HistoryRecord:
    """Return what the state and the log of a running task show, as of ``now_s``."""
    run = HistoryRecord(job.job_id, task.submit_s or 0, now_s, task=task.key, name=job.name, nodes=task.nodes)
    run = run._replace(run=job.own_settings.run, state=task.raw_state, state_id=job.id)
    if task.start_s:
        run = run._replace(run_s=now_s - task.start_s)
    if followed and followed.progress:
        run = run._replace(unit=followed.progress.unit, step_s=step_s(followed.history.samples))
    return run


def with_wait(run: HistoryRecord, task: Task) -> HistoryRecord:
    """Add when a running task started, and since when it could have, if that is known."""
    from jobmon_core.domain.before.pending.wait import wait_of  # needed once in a run

    wait = wait_of(task)
    if wait is None or task.start_s is None:
        return run
    return run._replace(started_s=task.start_s, eligible_s=task.start_s - wait.eligible_s)


def _judged(followed: ReadTask, look: TaskLook, usual: Usual) -> HistoryRecord:
    """Return the run with those of its figures alone that can be judged now."""
    run = run_so_far(look.job, look.task, followed, look.now_s)
    if run.unit != usual.unit or not has_pace(followed.history):
        run = run._replace(step_s=None)
    return run


def _with_measures(
    run: HistoryRecord, followed: ReadTask, telemetry: TaskTelemetry, known: Comparison
) -> HistoryRecord:
    """Add what agents measured: the peak of the memory, and the GPUs since the first progress."""
    from jobmon_core.analysis.ending.measured_use import node_histories  # rarely needed
    from jobmon_core.domain.job.report.usage import measured_use

    samples, nodes = followed.history.samples, node_histories(telemetry, known.started_s)
    run = run._replace(memory_peak=measured_use(nodes).node_peak_bytes)
    if not samples:
        return run
    since_s = samples[0].at_s
    computing = [
        replace(node, samples=tuple(each for each in node.samples if each.at_s > since_s)) for node in nodes
    ]
    gpu = measured_use(computing).gpu
    if gpu and gpu.percent is not None and has_gpu_use(gpu.measured_s or 0.0, known.usual):
        run = run._replace(gpu_percent=gpu.percent)
    return run


def _late_s(followed: ReadTask, look: TaskLook) -> float | None:
    if followed.progress or followed.history.samples or look.job.own_settings.launch_timeout_s is not None:
        return None
    return look.now_s - running_since_s(look.task)


def _told(followed: ReadTask) -> tuple[str, ...]:
    """Return what needs no telling, since its own past shows that it is slow, or its launch failed."""
    told = {
        SLOWER: followed.known_problems.usual_pace is not None,
        LATE: followed.launch is not None and followed.launch.reported is not None,
    }
    return tuple(name for name, is_told in told.items() if is_told)
