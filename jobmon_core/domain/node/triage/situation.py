"""What is known about a running task at one moment, and what rules find in it. Times are Unix seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jobmon_core.domain.artifacts.model import Artifacts
from jobmon_core.domain.finding import Finding
from jobmon_core.domain.logs.progress.events.event import Event, EventKind
from jobmon_core.domain.logs.progress.events.ongoing import unusual_pause_s
from jobmon_core.domain.logs.progress.model import Estimate, History, Progress
from jobmon_core.domain.node.telemetry.model import GONE, Notice, RankGroup, Sample, Worker
from jobmon_core.domain.node.triage.stacks import Stacks
from jobmon_core.domain.node.triage.state import Thresholds

_MIN_AGE_S = 60.0  # a report may be so late
_MIN_STEPS = 3  # with fewer samples, nothing is known about pauses
# a standstill lasts at least so many times the longest and the median pause
_LONGEST_PAUSES, _MEDIAN_PAUSES = 3, 10
_NO_ARTIFACTS, _NO_ESTIMATE, _NO_HISTORY, _DEFAULTS = Artifacts(), Estimate(), History(), Thresholds()


@dataclass(frozen=True, slots=True)
class NodeView:
    """What the agent on one node measured."""

    name: str
    samples: tuple[Sample, ...] = ()  # of this run, oldest first
    unavailable: tuple[str, ...] = ()  # and why
    ranks: tuple[RankGroup, ...] = ()  # of each launcher
    notice: Notice | None = None  # that its cloud will end it
    ends_at: str = ""  # as the notice says, e.g. ``12:04:24`` by the clock of this host

    @property
    def latest(self) -> Sample:
        """An empty one if there is none."""
        if self.samples:
            return self.samples[-1]
        return Sample()


@dataclass(frozen=True, slots=True)
class Situation:
    """A running task at one moment. None means "not known"."""

    now_s: float
    started_s: float  # or was resumed
    nodes: tuple[NodeView, ...] = ()
    progress: Progress | None = None
    history: History = _NO_HISTORY
    estimate: Estimate = _NO_ESTIMATE
    limit_s: float | None = None  # when it ends the task
    num_workers: int | None = None  # as the job configuration says
    has_output: bool = False  # to its logs
    log_idle_s: float | None = None  # since the last write to its logs, or since its start
    artifacts: Artifacts = _NO_ARTIFACTS
    thresholds: Thresholds = _DEFAULTS
    xids: Mapping[int, Finding] = field(default_factory=dict)
    # by the own log of an ended worker: whether it shows that the worker had done its share
    own_logs: Mapping[str, bool] = field(default_factory=dict)
    step_errors: Mapping[int, str] = field(default_factory=dict)  # by rank: the line that srun printed
    stacks: Stacks | None = None  # at the stall that still lasts
    since: Mapping[str, float] = field(default_factory=dict)  # a reported finding holds, by name

    @property
    def age_s(self) -> float:
        """For how long it has run."""
        return self.now_s - self.started_s

    def is_starting(self, seconds: float = 0.0) -> bool:
        """Whether its speed over the last ``seconds`` would include that of its start."""
        return self.age_s < self.thresholds.startup_s + seconds

    @property
    def workers(self) -> tuple[tuple[NodeView, Worker], ...]:
        """As of the latest samples."""
        return tuple((node, worker) for node in self.nodes for worker in node.latest.workers)

    @property
    def living_workers(self) -> tuple[tuple[NodeView, Worker], ...]:
        """Those that have not ended."""
        return tuple((node, worker) for node, worker in self.workers if worker.status not in GONE)

    @property
    def is_alive(self) -> bool:
        """Whether a recent report shows a worker that runs."""
        max_age_s = max(self.thresholds.must_last_s, _MIN_AGE_S)
        return any(self.now_s - node.latest.at_s <= max_age_s for node, _ in self.living_workers)

    @property
    def at_end(self) -> bool:
        """Whether its log shows that its work is done."""
        progress = self.progress
        return progress is not None and (progress.fraction == 1.0 or bool(progress.end_marker))

    @property
    def pause_s(self) -> float | None:
        """For how long it has made no progress, if that is far longer than ever and its logs are silent."""
        if len(self.history.samples) < _MIN_STEPS or self.at_end or self.log_idle_s is None:
            return None
        pause_s = min(self.now_s - self.history.samples[-1].at_s, self.log_idle_s, self.age_s)
        needed_s = max(
            2 * self.thresholds.must_last_s,
            _LONGEST_PAUSES * self.history.longest_pause_s,
            _MEDIAN_PAUSES * self.history.median_pause_s,
        )
        if pause_s >= needed_s:
            return pause_s
        return None

    @property
    def standstill_s(self) -> float | None:
        """For how long it has made no progress, or has been silent if it has never shown any.

        A program may hang before its first step, and many show no steps. So while fewer than three samples
        show its pace, only a silence of `Thresholds.idle_s` counts.
        """
        if len(self.history.samples) >= _MIN_STEPS or self.log_idle_s is None:
            return self.pause_s
        silence_s = min(
            self.log_idle_s, self.age_s, self.age_s if self.outputs_idle_s is None else self.outputs_idle_s
        )
        if silence_s >= self.thresholds.idle_s:
            return silence_s
        return None

    @property
    def is_advancing(self) -> bool:
        """Whether its log shows that it makes progress as usual."""
        samples = self.history.samples
        if len(samples) < _MIN_STEPS or unusual_pause_s(self.history, self.now_s) is not None:
            return False
        return self.now_s - samples[-1].at_s <= max(self.thresholds.must_last_s, self.history.longest_pause_s)

    @property
    def outputs_idle_s(self) -> float | None:
        """Since the last write to a named output or checkpoint of this run."""
        written_s = self.artifacts.written_s
        if written_s is None or written_s < self.started_s:
            return None
        return self.now_s - written_s

    def since_s(self, name: str, at_s: float) -> float:
        """Return since when a finding holds: ``at_s``, or earlier if it was found before."""
        return min(at_s, self.since.get(name, at_s))

    def finding(
        self,
        name: str,
        title: str,
        text: str,
        evidence: tuple[str, ...] = (),
        advice: str = "",
        *,
        lasting_s: float = 0.0,
        is_critical: bool = False,
        is_quiet: bool = False,
        is_permanent: bool = False,
    ) -> Event:
        """Return what a rule found, e.g. with the name ``memory-leak``.

        The text goes on from the name of the job. What was found before lasts longer than ``lasting_s``.
        """
        since_s = self.since_s(name, self.now_s - lasting_s)
        return Event(
            self.now_s,
            EventKind.TROUBLE,
            text,
            subject=name,
            is_critical=is_critical,
            advice=advice,
            evidence=evidence,
            title=title,
            is_quiet=is_quiet,
            lasting_s=(self.now_s - since_s,),
            is_permanent=is_permanent,
        )
