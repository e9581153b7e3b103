"""The end of a job of Ray that no monitor follows, as far as it decides about a restart."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.analysis.explain import explain
from jobmon_core.analysis.explainer import evidence_of
from jobmon_core.analysis.restarts.decision import LAST_LINES, Submitted, facts_of_end
from jobmon_core.app.patterns import own_pattern_file
from jobmon_core.domain.backends import RAY
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.job.tracking.model import End, Source
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.scheduler.ray.ray_job import read_job

if TYPE_CHECKING:
    from jobmon_core.app.ray_job.look import RayCluster
    from jobmon_core.context import Context
    from jobmon_core.domain.job.restart.rules import EndFacts
    from jobmon_core.scheduler.ray.ray_job import RayJob

_OUTCOMES = {
    JobState.COMPLETED: Outcome.SUCCESS,
    JobState.FAILED: Outcome.FAILURE,
    JobState.CANCELLED: Outcome.CANCELLED,
}


class RayEnd(NamedTuple):
    """The end of a job."""

    facts: EndFacts
    headline: str  # what happened, in few words
    last_step: int | None


def end_of(ctx: Context, cluster: RayCluster, entry: RayJob, proof: str, *, is_stalled: bool) -> RayEnd:
    """Return what a job that has ended, and its log, show about its end.

    ``proof`` is what shows that its processes have ended, ``is_stalled`` whether jobmon stopped it because it
    stalled.
    """
    reading = read_job(entry)
    try:
        look = cluster.log(entry.name)
        lines, progress = look.lines, look.progress
    except JobmonError:  # e.g. its node is gone; Ray keeps the last lines in the message
        lines, progress = tuple(entry.message.splitlines()), None
    end = End(
        reading.state,
        entry.status,
        _OUTCOMES.get(reading.state, Outcome.UNKNOWN),
        Source.QUEUE,
        reading.exit_code,
        signal=reading.signal,
        started_s=entry.start_s,
        ended_s=entry.end_s,
        reason=reading.reason,
    )
    with tempfile.NamedTemporaryFile("w", prefix="jobmon-", suffix=".log", errors="replace") as log:
        log.write("\n".join((*lines, "")))
        log.flush()
        diagnosis = explain(evidence_of(end, RAY), log.name, "", own_pattern_file(ctx))
    submitted = Submitted((entry.entrypoint,))
    facts = facts_of_end(end, RAY, diagnosis, work=progress, lines=lines[-LAST_LINES:], submitted=submitted)
    facts = replace(facts, stall_cancelled=is_stalled, proof=proof)
    return RayEnd(facts, diagnosis.headline, None if progress is None else int(progress.current))
