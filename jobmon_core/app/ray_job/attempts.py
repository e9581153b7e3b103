"""An attempt of a job of Ray that no monitor follows: find it by a name, and say how it ended."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jobmon_core.analysis.explain import explain
from jobmon_core.analysis.explainer import evidence_of
from jobmon_core.analysis.restarts.decision import LAST_LINES, Submitted, facts_of_end
from jobmon_core.app.patterns import own_pattern_file
from jobmon_core.domain.backends import RAY
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.job.restart.ray_attempts import (
    FIELDS,
    LINEAGE_KEY,
    NAME_KEYS,
    Description,
    with_working_dir,
)
from jobmon_core.domain.job.tracking.model import End, Source
from jobmon_core.domain.slurm.states import JobState, Outcome
from jobmon_core.scheduler.ray.cluster_state import SUPERVISOR
from jobmon_core.scheduler.ray.ray_job import RayFailed, parse_job, read_job
from jobmon_core.scheduler.ray.submission import FOLDER_KEY

if TYPE_CHECKING:
    from jobmon_core.app.ray_job.look import RayCluster
    from jobmon_core.context import Context
    from jobmon_core.domain.job.restart.rules import EndFacts
    from jobmon_core.scheduler.ray.api import RayApi
    from jobmon_core.scheduler.ray.ray_job import RayJob

_RESOURCES = {"CPU": "entrypoint_num_cpus", "GPU": "entrypoint_num_gpus", "memory": "entrypoint_memory"}
_OF_NODES = "node:"


class FoundJob(NamedTuple):
    """A job of a Ray cluster."""

    entry: RayJob
    session: str  # of the cluster, which a new head changes
    description: Description
    lineage: str  # the id of which it is an attempt, as it says itself


def find_job(api: RayApi, name: str) -> FoundJob | None:
    """Return the job with this submission id, job id, or name in its metadata, if any.

    Of several, it is one that has not ended, else the newest.
    """
    version, listed = api.version(), api.descriptions()
    named = [(job, data) for data in listed if (job := parse_job(data)) and name in _names(job, data)]
    if not named:
        return None
    entry, data = max(named, key=lambda each: (not each[0].has_ended, each[0].start_s or 0))
    lineage = _metadata(data).get(LINEAGE_KEY)
    return FoundJob(
        entry, version.session, _description(api, entry, data), lineage if isinstance(lineage, str) else ""
    )


def _names(job: RayJob, data: dict[str, Any]) -> set[object]:
    return {job.submission_id, job.job_id, *(_metadata(data).get(key) for key in NAME_KEYS)} - {"", None}


def _metadata(data: dict[str, Any]) -> dict[str, Any]:
    found = data.get("metadata")
    if isinstance(found, dict):
        return found
    return {}


def _description(api: RayApi, job: RayJob, data: dict[str, Any]) -> Description:
    description = {key: value for key, value in data.items() if key in FIELDS and value}
    host, _, folder = str(_metadata(data).get(FOLDER_KEY) or "").partition(":")
    if host == os.uname().nodename and Path(folder).is_dir():
        description = with_working_dir(description, folder)
    return {**description, **_requested(api, job)}


def _requested(api: RayApi, job: RayJob) -> Description:
    actors: list[dict[str, Any]] = []
    with suppress(RayFailed):
        if job.submission_id:
            actors = api.state("actors", name=f"{SUPERVISOR}{job.submission_id}")
    resources = actors[0].get("required_resources") if actors else None
    amounts = dict(resources) if isinstance(resources, dict) else {}
    found = {_RESOURCES[name]: amounts.pop(name) for name in _RESOURCES if name in amounts}
    if others := {name: amount for name, amount in amounts.items() if not name.startswith(_OF_NODES)}:
        found["entrypoint_resources"] = others
    return found


_OUTCOMES = {
    JobState.COMPLETED: Outcome.SUCCESS,
    JobState.FAILED: Outcome.FAILURE,
    JobState.CANCELLED: Outcome.CANCELLED,
}


def end_of(
    ctx: Context, cluster: RayCluster, entry: RayJob, proof: str, *, is_stalled: bool
) -> tuple[EndFacts, str, int | None]:
    """Return what a job that has ended and its log show: facts, what happened in few words, the last step."""
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
    return facts, diagnosis.headline, None if progress is None else int(progress.current)
