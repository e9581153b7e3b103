"""What trackers say about a run that has ended, in its diagnosis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jobmon_core.domain.humanize import count, filled
from jobmon_core.domain.logs.contradictions import FINISHED_EARLY, JobSide, contradictions
from jobmon_core.domain.logs.diagnosis.log_lines import fingerprint
from jobmon_core.domain.logs.diagnosis.model import INCOMPLETE, Diagnosis, Line
from jobmon_core.domain.logs.tracker import Tracker, TrackerRun
from jobmon_core.domain.redaction import redacted, redacted_lines
from jobmon_core.domain.slurm.states import Outcome

_MAX_ERRORS = 4
_EXPLANATION = (
    "The program ended with exit code 0, and its tracker says finished, but the steps that it logged end far "
    "below their total. A training that saves at a signal of Slurm may end like this before its time limit."
)
_ADVICE = "Look at the end of its log with `jobmon logs JOBID`; if it was cut short, resume it."


def with_trackers(diagnosis: Diagnosis, runs: Sequence[TrackerRun], job: JobSide) -> Diagnosis:
    """Return the diagnosis of a run that has ended, with its tracker's runs and what they contradict.

    A success that its tracker says finished below the total, and that has no other cause, is `INCOMPLETE`.
    """
    if not runs:
        return diagnosis
    found = [each for run in runs for each in contradictions(run, job)]
    early = next((each for each in found if each.id == FINISHED_EARLY and not diagnosis.cause), None)
    told = [each for each in found if each is not early]  # that is the cause, and said as such
    diagnosis = replace(
        diagnosis,
        tracker="; ".join(filter(None, map(_named, runs))),
        tracker_says=redacted("; ".join(f"{each.text}{filled(': {}', each.advice)}" for each in told)),
    )
    diagnosis = _with_errors(diagnosis, runs, job)
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


def _with_errors(diagnosis: Diagnosis, runs: Sequence[TrackerRun], job: JobSide) -> Diagnosis:
    """Return the diagnosis of a failure with the errors in the log that inspect-ai wrote."""
    lines = [
        Line(run.place, None, text)
        for run in runs
        if run.tracker is Tracker.INSPECT
        for text in redacted_lines(tuple(filter(None, (run.error, *run.failures))))
    ]
    if not lines or (diagnosis.cause is None and job.outcome is Outcome.SUCCESS):
        return diagnosis
    return replace(diagnosis, evidence=(*diagnosis.evidence, *lines[:_MAX_ERRORS]))


def _named(run: TrackerRun) -> str:
    """Return e.g. ``W&B run 3fk2a1: https://wandb.ai/ada/train/runs/3fk2a1``; empty if it is not known."""
    name, failed = run.name or run.run_id, count(run.failed, "sample") if run.failed else ""
    if not name:
        return ""
    return f"{run.tracker.label} run {name}{filled(', {} failed', failed)}{filled(': {}', run.url)}"
