"""What Slurm knows of a job that ended: the figures that a diagnosis rests on, beside the log."""

from __future__ import annotations

from dataclasses import dataclass

from jobmon_core.domain.states import JobState


@dataclass(frozen=True, slots=True)
class SlurmEvidence:
    """Slurm's view of one run; None and empty texts are "not known"."""

    state: JobState = JobState.UNKNOWN
    exit_code: int | None = None  # true code, 0 to 255; sacct shows those from 128 on as n - 128
    signal: int | None = None  # the number after the colon of Slurm's exit code
    derived_exit_code: int | None = None  # the worst of the job's steps
    reason: str = ""  # Slurm's word, e.g. NonZeroExitCode
    max_rss_bytes: int | None = None  # peak memory, sampled: short peaks are missed
    requested_bytes: int | None = None
    cpu_s: float | None = None  # CPU time of all tasks together
    elapsed_s: float | None = None
    limit_s: float | None = None
    nodes: str = ""
    canceller: str = ""  # who cancelled it: a name, or the uid where it has none
