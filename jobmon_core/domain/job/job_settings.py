"""What the user says about one job, in a file such as ``jobmon.yaml`` or by options.

It is not in `job_config` because monitors load it; only commands check a configuration.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from jobmon_core.domain.node.triage.state import Thresholds

_THRESHOLDS = Thresholds()
MAX_GROUPS = 2  # of a progress pattern: the current value and the total
_ANY_LOG = "*.log"
_ANY_OUTPUT = "*"
_ANY_CHECKPOINT = (  # the names that frameworks give; those that end with / are folders
    *("*.ckpt", "*.pth*", "*.keras", "*.cpt", "ckpt-*.index", "checkpoint*.pt", "ckpt*.pt", "epoch*.pt"),
    *("step*.pt", "iter*.pt", "model*.pt", "last.pt", "best.pt"),
    *("checkpoint[-_]*/", "global_step*/", "iter_*/", "step[-_]*/", "epoch[-_]*/"),
)
FIRST_DELAY_S: Final = 60.0
MAX_DELAY_S: Final = 3600.0


@dataclass(frozen=True, slots=True)
class ErrorPattern:
    """A regex that shows a failure of this job."""

    regex: str  # in RE2 syntax, which was checked
    is_warning: bool = False  # else the failure is critical


@dataclass(frozen=True, slots=True)
class Done:
    """What shows that a job has done its work: all that is named here, written since its start."""

    marker: str = ""  # the absolute path of a file; may contain Slurm's ``%`` patterns
    log: str = ""  # a regex that a line of its logs matches
    artifact: str = ""  # an absolute glob of the file that it produces; may contain Slurm's ``%`` patterns
    log_sizes: dict[str, int] = field(default_factory=dict)  # bytes when `watch --pid` began, by path


@dataclass(frozen=True, slots=True)
class TrackSettings:
    """Where the trackers of a job keep what it logs, and what of that is shown."""

    places: dict[str, str] = field(
        default_factory=dict
    )  # absolute paths by `Tracker`; may contain ``%`` patterns
    metrics: tuple[str, ...] = ()  # names of those to show beside the loss; empty: jobmon chooses
    loss: str = ""  # the name of the metric that is the loss; empty: jobmon chooses


@dataclass(frozen=True, slots=True)
class ChainStage:
    """The place of a job in a chain, in which each stage starts when the one before it has succeeded."""

    number: int  # from 1
    total: int
    stage: str  # as given to `jobmon chain`
    later: tuple[str, ...] = ()  # the stages after it, likewise
    options: str = ""  # of that command, e.g. ``--backend local``
    folder: str = ""  # where that command ran


@dataclass(frozen=True, slots=True)
class JobSettings:
    """What the user says about one job; None and what is empty mean "not given".

    Folders are absolute, and may contain Slurm's ``%`` patterns. Name patterns are globs for files in the
    folder, e.g. ``worker_*.log``; the regexes are in RE2 syntax and were checked.
    """

    source: str = ""  # the path of the job configuration
    name: str = ""
    run: str = ""  # its name in a group of runs, e.g. "sweep1/lr0.1"
    num_workers: int | None = None
    gpu_ids: tuple[int, ...] = ()
    total_items: int | None = None  # units of work of all workers together
    output_dir: str = ""
    log_dir: str = ""
    checkpoint_dir: str = ""
    output_pattern: str = ""
    log_pattern: str = ""
    checkpoint_pattern: str = ""
    results: tuple[str, ...] = ()  # globs of files that the final message quotes; absolute
    expected_outputs: int | None = None
    min_growth_bytes: float | None = None  # outputs that grow less in a check interval count as stalled
    progress_patterns: dict[str, str] = field(default_factory=dict)  # regexes by name, e.g. "throughput"
    error_patterns: tuple[ErrorPattern, ...] = ()
    check_interval_s: float | None = None  # between two looks at the progress
    launch_timeout_s: float | None = None  # from the start until all workers, GPUs and logs are there
    progress_every_s: float | None = None  # between two messages about how far it is; 0: there are none
    stall_timeout_s: float | None = None  # warn after this long with neither progress nor output
    slowdown_percent: float | None = None  # warn if the speed falls by more than this
    stacks_on_stall: bool = False  # whether agents save the stacks of the processes at a stall
    on_notice: str = ""  # a signal for its processes, once their cloud announces the end of their node
    no_agent: bool = False  # whether nothing is to run beside the job
    thresholds: Thresholds = _THRESHOLDS  # of the verdicts about what agents measure
    chain: ChainStage | None = None  # None: it is part of no chain
    done: Done | None = None
    track: TrackSettings | None = None
    restart: RestartSettings | None = None  # None: it is never started again
    attempt: AttemptPlace | None = None  # None: it is part of no lineage

    @property
    def names_results(self) -> bool:
        """Whether the user named what a successful run has done or written."""
        named = (self.total_items, self.done, self.expected_outputs, self.results, self.output_names)
        return any(named) or bool(self.checkpoint_names)

    @property
    def log_name(self) -> str:
        """The glob for the names of further logs, e.g. one of each worker."""
        return self.log_pattern or _ANY_LOG

    @property
    def log_files(self) -> str:
        """The glob of the further logs, without a folder relative to the working directory; may be empty."""
        if self.log_dir:
            return f"{self.log_dir}/{self.log_name}"
        return self.log_pattern

    @property
    def output_names(self) -> tuple[str, ...]:
        """The globs for the names of outputs; empty if the user named none."""
        default = (_ANY_OUTPUT,) if self.output_dir else ()
        if self.output_pattern:
            return (self.output_pattern,)
        return default

    @property
    def checkpoint_names(self) -> tuple[str, ...]:
        """The globs for the names of checkpoints; empty if the user named none."""
        default = _ANY_CHECKPOINT if self.checkpoint_dir or self.output_dir else ()
        if self.checkpoint_pattern:
            return (self.checkpoint_pattern,)
        return default


class RestartMode(StrEnum):
    """What jobmon does after an end."""

    OFF = "off"
    OBSERVE = "observe"  # it only says what it would have done, and why
    ON = "on"


@dataclass(frozen=True, slots=True)
class RestartSettings:
    """When a job is started again, and how. Without these settings it never is."""

    mode: RestartMode = RestartMode.OFF
    on: tuple[str, ...] = ()  # names of budgets or labels of causes; empty: all that the rules restart
    max_restarts: int | None = None  # over all causes; None: only the budgets count
    budgets: dict[str, int] = field(default_factory=dict)  # in place of those of the rules, by name
    delay_s: float = FIRST_DELAY_S  # before the first restart; it doubles with each without progress
    max_delay_s: float = MAX_DELAY_S
    resume_arg: str = ""  # words for the script from the second attempt on; ``{path}`` is the checkpoint
    never_on_exit: tuple[int, ...] = (93,)  # exit codes; 93 as of NVIDIA's ft_launcher
    again_on_exit: tuple[int, ...] = (75, 85, 99)  # EX_TEMPFAIL, HTCondor's checkpoint, Grid Engine's requeue
    grow_memory: float = 1.0  # factor after a proven lack of memory; 1: the request stays as it is
    grow_time: float = 1.0  # factor after a proven time-out
    set_aside: bool = False  # rename a newest checkpoint that is incomplete
    stall_is_failure_s: float | None = None  # cancel an attempt that stalls for so long
    current_script: bool = False  # submit the script as it is then, not as it was recorded

    @property
    def stall_limit_s(self) -> float | None:
        """After how many seconds a stalled attempt is cancelled; None: it never is."""
        if self.mode is RestartMode.ON:
            return self.stall_is_failure_s
        return None


@dataclass(frozen=True, slots=True)
class AttemptPlace:
    """The place of a job in a lineage."""

    lineage: str  # its id
    number: int = 0  # of the attempt, from 0
    resume_from: str = ""  # the checkpoint that it resumes from
    resume_step: int | None = None  # its step


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How `jobmon run` ran a command, on this machine or on a host."""

    output: str = ""  # as the user named the logs on this machine
    error: str = ""
    workdir: str = ""  # on the host
    output_dir: str = ""  # likewise, for its outputs
