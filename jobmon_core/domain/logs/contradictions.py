"""Where a tracker and the scheduler contradict each other about a run: the scheduler is right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from jobmon_core.domain.finding import Finding, Severity
from jobmon_core.domain.humanize import number
from jobmon_core.domain.logs.progress.model import History, Progress
from jobmon_core.domain.logs.progress.tracked import counts_steps
from jobmon_core.domain.logs.tracker import RunStatus, Tracker, TrackerRun
from jobmon_core.domain.slurm.states import Outcome

STILL_RUNNING = "tracker-still-running"
LOST_CONTACT = "tracker-lost-contact"
FINISHED_EARLY = "tracker-finished-early"
SAYS_FINISHED = "tracker-says-finished"
SAYS_FAILED = "tracker-says-failed"
NOT_RESUMED = "tracker-not-resumed"
_ENOUGH = 0.99  # of the steps counts as all
_KEEP_IDS = (Tracker.WANDB, Tracker.MLFLOW)  # whose runs another process can go on with


class JobSide(NamedTuple):
    """What is known of the job without the tracker."""

    outcome: Outcome | None = None  # None: it runs
    is_moving: bool = False  # it made progress lately
    progress: Progress | None = None  # of the log, with the user's total
    history: History = History()
    attempt: int = 0  # of its lineage, or how often it was requeued
    earlier: tuple[TrackerRun, ...] = ()  # of the attempt, or the execution, before


def contradictions(run: TrackerRun, job: JobSide) -> Iterator[Finding]:
    """Yield in what the tracker contradicts; a finding of `FINISHED_EARLY` makes a success doubtful.

    A tracker that lost a run which was cancelled or preempted, and one that closed a run while its program
    goes on, e.g. to evaluate, contradict nothing.
    """
    title = run.tracker.label
    if job.outcome is None:
        if run.status is RunStatus.CRASHED and job.is_moving:
            yield Finding(Severity.WARNING, f"{title} lost contact; the run goes on", id=LOST_CONTACT)
        yield from _not_resumed(run, job)
        return
    if run.status is RunStatus.RUNNING and job.outcome is not Outcome.UNKNOWN:
        text = f"{title} still says running, but the job has ended"
        yield Finding(Severity.INFO, text, _closing_advice(run), id=STILL_RUNNING)
    elif run.status is RunStatus.FINISHED and job.outcome is Outcome.FAILURE:
        text = f"{title} says finished, but the job failed"
        yield Finding(Severity.INFO, text, "What failed came after its run was closed.", id=SAYS_FINISHED)
    elif run.status is RunStatus.FINISHED and job.outcome is Outcome.SUCCESS and (short := _short(run, job)):
        yield Finding(Severity.WARNING, f"{title} says finished at {short}", id=FINISHED_EARLY)
    elif run.status in (RunStatus.FAILED, RunStatus.CRASHED) and job.outcome is Outcome.SUCCESS:
        text = f"{title} says {run.status}, but the job ended with exit code 0"
        yield Finding(Severity.WARNING, text, run.error, id=SAYS_FAILED)


def _short(run: TrackerRun, job: JobSide) -> str:
    """Return e.g. ``step 420 of 1,000``, if a run was closed before its total, and nothing explains that."""
    progress = job.progress
    if progress is None or progress.end_marker or progress.fraction == 1.0 or not counts_steps(run):
        return ""
    total, reached = progress.total or run.total_steps, max(progress.current, float(run.step or 0))
    if not total or progress.unit not in ("step", "sample"):
        return ""
    counts = [sample.current for sample in job.history.samples]
    steps = [float(each.step) for each in run.losses if each.step is not None]
    left = total - reached
    # a program that logs now and then may end without logging its last step; a count may begin with 0
    if reached >= _ENOUGH * total or left <= max(_widest(counts), _widest(steps), 1.0):
        return ""
    return f"{progress.unit} {number(reached)} of {number(total)}"


def _widest(counts: Sequence[float]) -> float:
    return max((after - before for before, after in pairwise(counts)), default=0.0)


def _not_resumed(run: TrackerRun, job: JobSide) -> Iterator[Finding]:
    before = {each.run_id for each in job.earlier if each.tracker is run.tracker and each.run_id}
    if not job.attempt or run.tracker not in _KEEP_IDS or not before or run.run_id in before:
        return
    earlier = " and ".join(sorted(before))
    what = f"this attempt logs to run {run.run_id}, the one before to {earlier}"
    text = f"{run.tracker.label} did not resume: {what}"
    yield Finding(
        Severity.WARNING, text, "docs/trackers.md says how an attempt continues a run.", id=NOT_RESUMED
    )


def _closing_advice(run: TrackerRun) -> str:
    if run.tracker is Tracker.WANDB and run.place:
        return f"`wandb sync {run.place}` uploads what is there, and closes it."
    if run.tracker is Tracker.MLFLOW:
        return f'`mlflow.MlflowClient().set_terminated("{run.run_id}", "FAILED")` in Python closes it.'
    return ""
