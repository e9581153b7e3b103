"""The diagnosis of a failed job, as it is stored and shown, and what Slurm and agents contribute to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Final, NamedTuple

from jobmon_core.domain.slurm.rows import GpuUsage
from jobmon_core.domain.slurm.states import JobState


@dataclass(frozen=True, slots=True)
class MeasuredUse:
    """What a run used; what was not measured is None."""

    gpus: int | None = None  # number of the GPUs that the agents saw
    gpu: GpuUsage | None = None
    node_peak_bytes: int | None = None  # the highest memory on one node


class StepUsage(NamedTuple):
    """What all steps of a task use."""

    memory: int | None = None  # bytes, as of the scheduler's latest sample
    cpu_s: float | None = None  # so far

    def plus(self, other: StepUsage) -> StepUsage:
        """Return the sum; what only one of them knows counts alone."""
        memory = [each for each in (self.memory, other.memory) if each is not None]
        cpu_s = [each for each in (self.cpu_s, other.cpu_s) if each is not None]
        return StepUsage(sum(memory) if memory else None, sum(cpu_s) if cpu_s else None)


INCOMPLETE: Final = "incomplete"  # the cause of a success that did less than the user said there is to do
MISSING_OUTPUTS: Final = "missing_outputs"  # a success that left fewer outputs than expected
DAMAGED_OUTPUTS: Final = "damaged_outputs"  # a success with a truncated, corrupt or empty output
LOST_WORKER: Final = "lost_worker"  # a worker died, or ended without having done its share, before its peers
# id of the pattern of failed trials of Ray Tune: they count even if the program went on
ERRORED_TRIALS: Final = "python_exception_other.ray_trials"
KILLED_FOR_MEMORY: Final = "host_oom_kill"  # the kernel or Slurm says so; its variants are suspicions
NAN_LOSS: Final = "nan_loss.metric"  # id of the pattern of a training loss that is printed as nan


@dataclass(frozen=True, slots=True)
class Quote:
    """What a file says, or a part of it, laid out as lines; it holds no secrets."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a log, as it was printed."""

    file: str
    number: int | None  # from 1; None if the lines before it were not counted
    text: str


@dataclass(frozen=True, slots=True)
class EarlierLog:
    """What a log held before the job started: with ``--open-mode=append`` it stays in the file."""

    lines: int
    last_line: str  # a hash of it, to notice that the file was replaced


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why a job failed, with evidence. ``cause`` is None if nothing failed or the cause is unknown."""

    JSON_KEYS: ClassVar[dict[str, str]] = {"what_failed": "fact"}

    # id of the pattern or of the cause in ``exit_causes``, or INCOMPLETE, MISSING_OUTPUTS,
    # DAMAGED_OUTPUTS or LOST_WORKER
    cause: str | None
    title: str
    explanation: str
    advice: str
    evidence: tuple[Line, ...] = ()  # the lines that prove the cause; without proof the last ones of the log
    symptoms: tuple[str, ...] = ()  # ids of the other patterns that matched
    log_path: str = ""  # the log to read first
    note: str = ""  # what made the analysis incomplete, e.g. that no log was found
    # from ``patterns.LABELS`` or a pattern of the user; None if the cause is unknown
    label: str | None = None
    confidence: float = 0.0  # 0 to 1
    fingerprint: str = ""  # equal for the same failure of other jobs; empty without a cause
    is_proved: bool = False  # whether the evidence proves the cause
    # the failure in the log's words, e.g. ``KeyError: 'lr'``; empty if the title says more
    what_failed: str = ""
    work: str = ""  # how far the run came, e.g. ``reached step 4,200 of 10,000 (42%)``; empty if not known
    figures: str = ""  # the last loss and metrics of the log, e.g. ``loss 0.412, accuracy 0.93``
    also_seen: tuple[str, ...] = ()  # titles of those ``symptoms`` that say more than that a process ended
    # what changed since the job last worked, e.g. ``since 8101 succeeded: torch 2.3 -> 2.4``
    changes: str = ""
    has_course: bool = False  # the course of the run was recorded, so that a report about it has charts
    outputs: str = ""  # what became of the outputs, e.g. ``8 of 8 shards, 1.2 GiB``; empty if not known
    outputs_verified: bool = False  # all that was named is there, and nothing that was checked is damaged
    results: tuple[Quote, ...] = ()  # what the files that the user named as results say
    bundle: str = ""  # the path of the diagnostics bundle; empty if there is none
    measured: MeasuredUse | None = None  # what agents measured of the run; None without any

    @property
    def headline(self) -> str:
        """What happened, as precisely as it is known."""
        return self.what_failed or self.title

    @property
    def doubt(self) -> str:
        """What speaks against the success of a job that has a ``cause``, as the end of a sentence."""
        if self.cause == INCOMPLETE:
            return f"{self.headline[:1].lower()}{self.headline[1:]}"
        if self.cause in (MISSING_OUTPUTS, DAMAGED_OUTPUTS, LOST_WORKER):
            return self.headline
        if self.cause == NAN_LOSS:
            return "its last loss is NaN"
        if self.cause == ERRORED_TRIALS:
            return f"Ray Tune reports: {self.headline[:1].lower()}{self.headline[1:]}"
        return f"its log ends in {self.headline}"

    def with_note(self, note: str) -> Diagnosis:
        """Return the diagnosis with one more note; an empty one adds nothing."""
        return replace(self, note="; ".join(filter(None, (self.note, note))))


@dataclass(frozen=True, slots=True)
class SlurmEvidence:
    """What Slurm, or what ran the job instead, reports about one run. None and "" mean "not known"."""

    state: JobState = JobState.UNKNOWN
    exit_code: int | None = None  # the program's, 0 to 255
    exit_code_exact: bool = True  # False if sacct may have subtracted 128: see JobRow
    signal: int | None = None  # the number after the colon of Slurm's exit code
    derived_exit_code: int | None = None  # the highest exit code of the job's steps
    reason: str = ""  # Slurm's reason, e.g. NonZeroExitCode
    max_rss_bytes: int | None = None  # sampled peak memory: short peaks are missed
    requested_bytes: int | None = None
    step_cpu_s: float | None = None  # CPU time of the steps that srun started; None without such steps
    elapsed_s: float | None = None
    ended_s: float | None = None  # Unix seconds
    silent_s: float | None = None  # how long the program had printed nothing when it ended
    limit_s: float | None = None
    nodes: str = ""
    dependency: str = ""  # as Slurm writes it, e.g. ``afternotok:12(failed)``
    log_obstacle: str = ""  # why no log can be at its path, e.g. ``/home/ada/logs is a folder``
    has_script: bool | None = None  # False for a command of srun or salloc
    canceller: str = ""  # who cancelled the job, e.g. ``ada``; ``you`` if it was the user of jobmon
    is_local: bool = False  # the job ran without Slurm

    @property
    def is_success(self) -> bool:
        """Whether the job is reported as completed."""
        return self.state is JobState.COMPLETED and not self.exit_code
