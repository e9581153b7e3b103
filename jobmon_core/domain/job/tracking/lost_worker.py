"""What an ended job owes to a worker that was lost while its peers went on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from jobmon_core.domain.job.tracking.model import End
from jobmon_core.domain.logs.diagnosis.log_lines import fingerprint
from jobmon_core.domain.logs.diagnosis.model import LOST_WORKER, Diagnosis
from jobmon_core.domain.logs.progress.events.event import Event
from jobmon_core.domain.logs.progress.events.ongoing import ongoing_events
from jobmon_core.domain.slurm.states import Outcome

_SUBJECT = "dead-worker"  # of the event, see `triage.rules.workers`


def with_lost_worker(diagnosis: Diagnosis, end: End, events: Iterable[Event], task: str) -> Diagnosis:
    """Return the diagnosis of an ended task; without another cause, that a worker was lost is the cause.

    So a success is a doubtful one: the work of that worker may be missing.
    """
    if diagnosis.cause or end.outcome is Outcome.CANCELLED:
        return diagnosis
    lost = [
        event
        for event in ongoing_events(events, task)
        if event.subject == _SUBJECT and event.is_critical and event.at_s >= (end.started_s or 0)
    ]
    if not lost:
        return diagnosis
    what, _, rest = lost[0].text.rpartition("; ")
    return replace(
        diagnosis,
        cause=LOST_WORKER,
        label=None,
        title="A worker was lost",
        what_failed=what,
        explanation=f"Then, {rest.replace('go on', 'went on')}. What it had still to do may be missing.",
        advice="Look for how it ended in its log, and check that the results are complete.",
        fingerprint=fingerprint(LOST_WORKER, ""),
    )
