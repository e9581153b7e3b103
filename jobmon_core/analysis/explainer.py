"""Why a job's parts ended as they did: their logs read in a child, so that no log can harm the monitor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from jobmon_core.analysis.job_logs import log_files
from jobmon_core.domain.diagnosis.model import Diagnosis, SlurmEvidence
from jobmon_core.domain.tracking.model import End, Task, WatchedJob
from jobmon_core.system.process import user_name
from jobmon_core.system.worker import Worker, WorkerFailed

_TIMEOUT_S = 300.0  # a dead file server must not hold the message back for ever


@dataclass(frozen=True, slots=True)
class Diagnoses:
    """What was found, by the key of the part."""

    by_key: dict[str, Diagnosis]


@dataclass(frozen=True, slots=True)
class Explainer:
    """Reads the logs of ended parts against the patterns."""

    children: Worker
    patterns: Path  # the user's own, laid over the shipped ones where the file exists
    log: Callable[[str], None]

    def explain(self, job: WatchedJob, keys: tuple[str, ...]) -> Mapping[str, Diagnosis]:
        """Return a diagnosis for each part named; never raises for what a log holds."""
        try:
            return self.children.run(Diagnoses, lambda: self._diagnoses(job, keys), _TIMEOUT_S).by_key
        except WorkerFailed as error:
            self.log(f"the analysis of the logs failed: {error}")
            note = "jobmon could not analyse the log; the monitor's own log (jobmon logs) says why"
            return dict.fromkeys(keys, Diagnosis(None, "", "", "", note=note))

    def _diagnoses(self, job: WatchedJob, keys: tuple[str, ...]) -> Diagnoses:
        from jobmon_core.analysis.explain import explain

        own = self.patterns if self.patterns.exists() else None
        found = {}
        for key in keys:
            end = job.tasks[key].end
            if end is not None:
                stdout, stderr = log_files(job, job.tasks[key])
                job_id = own_id(job, job.tasks[key])
                found[key] = explain(evidence_of(end), stdout, stderr, own, job_id=job_id)
        return Diagnoses(found)


def own_id(job: WatchedJob, task: Task) -> int | None:
    """Return the id that only this part has; None where all tasks of an array share the one that is known."""
    if not job.is_array:
        return job.job_id
    return task.raw_job_id if task.raw_job_id != job.job_id else None


def evidence_of(end: End) -> SlurmEvidence:
    """Return what Slurm said of an end, for the judge."""
    return SlurmEvidence(
        state=end.state,
        exit_code=end.exit_code,
        signal=end.signal,
        derived_exit_code=end.derived_exit_code,
        reason=end.reason,
        max_rss_bytes=end.usage.max_rss_bytes,
        requested_bytes=end.usage.requested_bytes,
        cpu_s=end.usage.cpu_s,
        elapsed_s=end.elapsed_s,
        limit_s=end.limit_s,
        nodes=end.nodes,
        canceller="" if end.cancelled_by is None else user_name(end.cancelled_by),
    )
