"""What trackers say about a run that has ended: where they contradict the scheduler, that is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from jobmon_core.domain.finding import Finding, Severity
from jobmon_core.domain.humanize import count, filled, number
from jobmon_core.domain.logs.diagnosis.log_lines import fingerprint
from jobmon_core.domain.logs.diagnosis.model import INCOMPLETE, Diagnosis, Line
from jobmon_core.domain.logs.progress.model import TaskProgress
from jobmon_core.domain.logs.progress.tracked import counts_steps
from jobmon_core.domain.logs.tracker import RunStatus, Tracker, TrackerRun
from jobmon_core.domain.redaction import redacted, redacted_lines
from jobmon_core.domain.slurm.states import Outcome

FINISHED_EARLY = "tracker-finished-early"
_ENOUGH = 0.99  # of the steps counts as all
_MAX_ERRORS = 4
_EXPLANATION = (
    "The program ended with exit code 0, and its tracker says finished, but the steps that it logged end far "
    "below their total. A training that saves at a signal of Slurm may end like this before its time limit."
)
_ADVICE = "Look at the end of its log with `jobmon logs JOBID`; if it was cut short, resume it."


def with_trackers(
    diagnosis: Diagnosis, runs: Sequence[TrackerRun], outcome: Outcome, followed: TaskProgress | None = None
) -> Diagnosis:
    """Return the diagnosis of a run that has ended, with its tracker's runs and what they contradict.

    A success that its tracker says finished below the total, and that has no other cause, is `INCOMPLETE`.
    """
    if not runs:
        return diagnosis
    found = [each for run in runs if (each := contradiction(run, outcome, followed))]
    early = next((each for each in found if each.id == FINISHED_EARLY and not diagnosis.cause), None)
    told = [each for each in found if each is not early]  # that is the cause, and said as such
    diagnosis = replace(
        diagnosis,
        tracker="; ".join(filter(None, map(_named, runs))),
        tracker_says=redacted("; ".join(f"{each.text}{filled(': {}', each.advice)}" for each in told)),
    )
    if diagnosis.cause is not None or outcome is not Outcome.SUCCESS:
        diagnosis = replace(diagnosis, evidence=(*diagnosis.evidence, *_errors(runs)[:_MAX_ERRORS]))
    if early is None:
        return diagnosis
    return replace(
        diagnosis,
        cause=INCOMPLETE,
        label=None,
        title="Incomplete",
        what_failed=early.text,
        explanation=_EXPLANATION,
        advice=_ADVICE,
        fingerprint=fingerprint(INCOMPLETE, ""),
    )


def contradiction(run: TrackerRun, outcome: Outcome, followed: TaskProgress | None = None) -> Finding | None:
    """Return in what a tracker contradicts an end, if anything; `FINISHED_EARLY` makes a success doubtful.

    A tracker that lost a run which was cancelled or preempted contradicts nothing.
    """
    title, status = run.tracker.label, run.status
    if status is RunStatus.RUNNING and outcome is not Outcome.UNKNOWN:
        text = f"{title} still says running, but the job has ended"
        return Finding(Severity.INFO, text, _closing_advice(run), id="tracker-still-running")
    if status is RunStatus.FINISHED and outcome is Outcome.FAILURE:
        text, advice = (
            f"{title} says finished, but the job failed",
            "what failed came after its run was closed",
        )
        return Finding(Severity.INFO, text, advice, id="tracker-says-finished")
    if (
        status is RunStatus.FINISHED
        and outcome is Outcome.SUCCESS
        and followed
        and (at := _short(run, followed))
    ):
        return Finding(Severity.WARNING, f"{title} says finished at {at}", id=FINISHED_EARLY)
    if status in (RunStatus.FAILED, RunStatus.CRASHED) and outcome is Outcome.SUCCESS:
        text = f"{title} says {status}, but the job ended with exit code 0"
        return Finding(Severity.WARNING, text, run.error, id="tracker-says-failed")
    return None


def _short(run: TrackerRun, followed: TaskProgress) -> str:
    """Return e.g. ``step 420 of 1,000``, if a run was closed before its total, and nothing explains that."""
    progress = followed.progress
    if progress is None or progress.end_marker or progress.fraction == 1.0 or not counts_steps(run):
        return ""
    total, reached = progress.total or run.total_steps, max(progress.current, float(run.step or 0))
    if not total or progress.unit not in ("step", "sample"):
        return ""
    steps = [sample.current for sample in followed.history.samples]
    widest = max((after - before for before, after in pairwise(steps)), default=0.0)
    # a program that logs now and then may end without logging its last step; a count may begin with 0
    if reached >= _ENOUGH * total or total - reached <= max(widest, 1.0):
        return ""
    return f"{progress.unit} {number(reached)} of {number(total)}"


def _closing_advice(run: TrackerRun) -> str:
    if run.tracker is Tracker.WANDB and run.place:
        return f"`wandb sync {run.place}` uploads what is there, and closes it"
    if run.tracker is Tracker.MLFLOW:
        return f'`mlflow.MlflowClient().set_terminated("{run.run_id}", "FAILED")` in Python closes it'
    return ""


def _errors(runs: Sequence[TrackerRun]) -> list[Line]:
    """Return the errors in the logs that inspect-ai wrote."""
    evaluations = [run for run in runs if run.tracker is Tracker.INSPECT]
    return [
        Line(run.place, None, text)
        for run in evaluations
        for text in redacted_lines(tuple(filter(None, (run.error, *run.failures))))
    ]


def _named(run: TrackerRun) -> str:
    """Return e.g. ``W&B run 3fk2a1: https://wandb.ai/ada/train/runs/3fk2a1``; empty if it is not known."""
    name, failed = run.name or run.run_id, count(run.failed, "sample") if run.failed else ""
    if not name:
        return ""
    return f"{run.tracker.label} run {name}{filled(', {} failed', failed)}{filled(': {}', run.url)}"
