"""The diagnosis of a failed job, as it is stored, and what Slurm and agents contribute to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Final, NamedTuple

from jobmon_core.domain.slurm.rows import GpuUsage
from jobmon_core.domain.slurm.states import JobState


@dataclass(frozen=True, slots=True)
class MeasuredUse:
    """What a run used, as far as it was measured."""

    gpus: int | None = None  # how many the agents saw
    gpu: GpuUsage | None = None
    node_peak_bytes: int | None = None  # of memory


class StepUsage(NamedTuple):
    """What all steps of a task use."""

    memory: int | None = None  # bytes, in the latest sample
    cpu_s: float | None = None

    def plus(self, other: StepUsage) -> StepUsage:
        """Return the sum; one that is known counts alone."""
        memory = [each for each in (self.memory, other.memory) if each is not None]
        cpu_s = [each for each in (self.cpu_s, other.cpu_s) if each is not None]
        return StepUsage(sum(memory) if memory else None, sum(cpu_s) if cpu_s else None)


# causes of doubtful successes
INCOMPLETE: Final = "incomplete"  # it did less than the user said there is to do
MISSING_OUTPUTS: Final = "missing_outputs"
DAMAGED_OUTPUTS: Final = "damaged_outputs"  # one is truncated, corrupt or empty
LOST_WORKER: Final = "lost_worker"  # one died, or ended without having done its share, before its peers
# the pattern of failed trials of Ray Tune: they count even if the program went on
ERRORED_TRIALS: Final = "python_exception_other.ray_trials"
KILLED_FOR_MEMORY: Final = "host_oom_kill"  # the kernel or Slurm says so; its variants are suspicions
NAN_LOSS: Final = "nan_loss.metric"  # the pattern of a training loss


@dataclass(frozen=True, slots=True)
class Quote:
    """What a file says, or a part of it, without secrets."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run cost, at the prices of its end."""

    amount: float
    currency: str


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a log, as it was printed."""

    file: str
    number: int | None  # from 1, if the lines before it were counted
    text: str


@dataclass(frozen=True, slots=True)
class EarlierLog:
    """What a log held before the job started, for ``--open-mode=append``."""

    lines: int
    last_line: str  # a hash, to notice that the file was replaced


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Why a job failed, with evidence."""

    JSON_KEYS: ClassVar[dict[str, str]] = {"what_failed": "fact"}

    # the id of a pattern, of a cause in `exit_causes` or above; None if nothing failed or it is unknown
    cause: str | None
    title: str
    explanation: str
    advice: str
    evidence: tuple[Line, ...] = ()  # the lines that prove the cause, else the last ones of the log
    symptoms: tuple[str, ...] = ()  # ids of the other patterns that matched
    log_path: str = ""  # the log to read first
    note: str = ""  # what made the analysis incomplete
    label: str | None = None  # from `patterns.LABELS` or a pattern of the user
    confidence: float = 0.0  # 0 to 1
    fingerprint: str = ""  # equal for the same failure of other jobs
    is_proved: bool = False
    what_failed: str = ""  # in the log's words, e.g. ``KeyError: 'lr'``; empty if the title says more
    work: str = ""  # how far the run came, e.g. ``reached step 4,200 of 10,000 (42%)``
    figures: str = ""  # the last ones of the log, e.g. ``loss 0.412, accuracy 0.93``
    also_seen: tuple[str, ...] = ()  # titles of those ``symptoms`` that say more than that a process ended
    changes: str = ""  # since the job last worked, e.g. ``since 8101 succeeded: torch 2.3 -> 2.4``
    compared: str = ""  # in what the run stands out among earlier ones of its name; a node that kills runs
    tracker: str = ""  # the runs of trackers to which it logged, with the addresses of their pages
    tracker_says: str = ""  # in what they contradict the scheduler, and what to do
    has_course: bool = False  # it was recorded, so that a report has charts
    outputs: str = ""  # what became of them, e.g. ``8 of 8 shards, 1.2 GiB``
    outputs_verified: bool = False  # all that was named is there, and nothing that was checked is damaged
    results: tuple[Quote, ...] = ()  # of the files that the user named
    bundle: str = ""  # the path of the diagnostics
    measured: MeasuredUse | None = None
    cost: Cost | None = None  # None: without prices

    @property
    def headline(self) -> str:
        """What happened, as precisely as it is known."""
        return self.what_failed or self.title

    @property
    def doubt(self) -> str:
        """What speaks against the success of a job, as the end of a sentence."""
        first = self.headline.partition(" ")[0]
        if self.cause == INCOMPLETE and first != first.capitalize():
            return self.headline  # which begins with a name, e.g. MLflow
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
        """Return the diagnosis with one more note."""
        return replace(self, note="; ".join(filter(None, (self.note, note))))


@dataclass(frozen=True, slots=True)
class SlurmEvidence:
    """What Slurm, or what ran the job instead, reports about one run."""

    state: JobState = JobState.UNKNOWN
    exit_code: int | None = None  # 0 to 255
    exit_code_exact: bool = True  # False if sacct may have subtracted 128: see JobRow
    signal: int | None = None  # the number after the colon of Slurm's exit code
    derived_exit_code: int | None = None  # the highest exit code of the job's steps
    reason: str = ""  # Slurm's reason, e.g. NonZeroExitCode
    max_rss_bytes: int | None = None  # sampled peak memory: short peaks are missed
    requested_bytes: int | None = None
    step_cpu_s: float | None = None  # of the steps that srun started
    elapsed_s: float | None = None
    ended_s: float | None = None  # Unix seconds
    silent_s: float | None = None  # without output before the end
    limit_s: float | None = None
    nodes: str = ""
    dependency: str = ""  # as Slurm writes it, e.g. ``afternotok:12(failed)``
    log_obstacle: str = ""  # why no log can be at its path, e.g. ``/home/ada/logs is a folder``
    has_script: bool | None = None  # False for a command of srun or salloc
    canceller: str = ""  # e.g. ``ada``; ``you``: the user of jobmon
    is_local: bool = False  # the job ran without Slurm

    @property
    def is_success(self) -> bool:
        """Whether it is reported as completed."""
        return self.state is JobState.COMPLETED and not self.exit_code
