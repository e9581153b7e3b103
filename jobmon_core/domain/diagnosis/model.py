"""What went wrong with a job, as it is kept and told. The judge makes it."""

from __future__ import annotations

from dataclasses import dataclass

from jobmon_core.domain.slurm.states import JobState


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a log, as it was printed."""

    file: str
    number: int | None  # from 1; None where the head of a long file was not read
    text: str


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What went wrong, with its proof. ``cause`` is None where nothing went wrong or nothing is certain."""

    cause: str | None  # the id of the rule or cause
    title: str
    explanation: str
    advice: str
    evidence: tuple[Line, ...] = ()  # the lines that prove the cause; else the last ones of the log
    symptoms: tuple[str, ...] = ()  # ids of rules that matched but are not the cause
    log_path: str = ""  # the file to read on in
    note: str = ""  # what hindered the analysis, e.g. that no log was found
    label: str | None = None  # of jobmon_core.domain.diagnosis.patterns; None where nothing is certain
    confidence: float = 0.0  # 0 to 1
    fingerprint: str = ""  # the same for the same failure elsewhere; empty without a cause
    is_proved: bool = False  # whether the evidence proves the cause


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
