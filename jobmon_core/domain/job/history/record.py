"""The record of one ended run: a line of the history. A later line with the same key corrects it.

Times are Unix seconds, durations seconds, sizes bytes. None, "" and 0 of a count mean "not known". Fields may
be added, but never renamed: every later version reads these lines.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.backends import DEFAULT_BACKEND
from jobmon_core.domain.job.efficiency.model import IDLE_PERCENT
from jobmon_core.domain.logs.diagnosis.model import MeasuredUse
from jobmon_core.domain.slurm.job_ids import JobRef, ref_of
from jobmon_core.domain.slurm.states import outcome_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.domain.job.history.prices import Prices
    from jobmon_core.domain.job.report.usage import NodeHistory
    from jobmon_core.domain.job.tracking.model import End, Task, WatchedJob
    from jobmon_core.domain.logs.diagnosis.model import Diagnosis
    from jobmon_core.domain.logs.progress.model import History, Sample, TaskProgress
    from jobmon_core.domain.slurm.rows import GpuUsage, JobRow

BUSY_CLASSES = 10  # of GPU utilisation: below 10 %, below 20 % ...
NAMES_OF_SBATCH = ("wrap", "sbatch")  # for commands, and scripts from stdin, that have nothing in common
MAX_RESULTS = 12  # values of one run that are kept
_HOUR_S = 3600.0
_FASTER = 1.25  # than its median pace a run may be at first
# what accounting knows of a run, and jobmon may lack if accounting was late
_OF_ACCOUNTING = (
    *("gpu", "gpus", "cpus", "eligible_s", "started_s", "ended_s", "limit_s", "nodes", "cpu_s"),
    *("memory_requested", "memory_peak", "gpu_percent"),
)


# what distinguishes runs: the cluster, the job id, which is used again, the part, and when it was submitted:
# a requeue is a new submission under the old id
HistoryKey = tuple[str, int, str, int]


class HistoryRecord(NamedTuple):
    """One ended run: one execution of a job, an array task or a component of a het job."""

    job_id: int
    submit_s: int  # of this run
    noted_s: float  # when the line was written: of two lines with one key, the later one counts
    cluster: str = ""
    backend: str = ""  # empty: slurm
    task: str = ""  # see `JobRef.key`
    state_id: str = ""  # of the state file; empty if the record comes from accounting alone
    name: str = ""
    run: str = ""  # in a group of runs, e.g. "sweep1/lr0.1"
    group: str = ""
    user: str = ""
    partition: str = ""
    lineage: str = ""
    attempt: int = 0  # of the lineage, from 0
    state: str = ""  # see `JobState`
    outcome: str = ""  # see `Outcome`
    doubtful: bool = False  # the scheduler reports success, but the log or the outputs show otherwise
    exit_code: int | None = None
    signal: int | None = None
    cause: str = ""  # the id of the pattern or rule
    fingerprint: str = ""  # see `Diagnosis`
    script: str = ""  # a digest of its text
    commit: str = ""
    nodes: str = ""  # as Slurm writes them, e.g. "n[1-4]"
    gpu: str = ""  # the type of its GPUs
    gpus: int = 0
    cpus: int = 0
    eligible_s: int | None = None
    started_s: int | None = None  # None: it never started
    ended_s: int | None = None
    limit_s: int | None = None
    run_s: float = 0.0  # how long it held its resources, without the time in which it was suspended
    cpu_s: float | None = None
    memory_requested: int | None = None
    memory_peak: int | None = None
    node_peak: int | None = None  # likewise of one node, and only as agents measured it
    gpu_percent: float | None = None  # mean utilisation
    gpu_busy_s: tuple[int, ...] = ()  # GPU-seconds by utilisation, in `BUSY_CLASSES` classes
    gpu_idle_s: int = 0  # GPU-seconds with a utilisation below `IDLE_PERCENT`
    done: float | None = None  # units of work
    total: float | None = None
    began: float | None = None  # the units that were done before it
    unit: str = ""
    step_s: float | None = None  # median seconds per unit
    first_progress_s: float | None = None  # from its start until its log showed progress
    results: dict[str, float] = {}  # noqa: RUF012 - of a named tuple, never changed
    rate: float | None = None  # the price of an hour of its resources, as configured when it ended
    currency: str = ""
    deleted: bool = False  # by the user: then the history has no such run

    @property
    def key(self) -> HistoryKey:
        """What distinguishes it from all other runs."""
        return self.cluster, self.job_id, self.task, self.submit_s

    @property
    def precedence(self) -> tuple[bool, float]:
        """Of lines with one key, the highest counts: accounting alone never corrects what jobmon saw."""
        return bool(self.state_id) or self.deleted, float(self.noted_s)

    @property
    def ref(self) -> JobRef:
        """What commands call it."""
        return ref_of(self.job_id, self.task)

    @property
    def label(self) -> str:
        """The name of the job, or of its run in a group."""
        return self.run or self.name

    @property
    def wait_s(self) -> float | None:
        """How long it waited since it could have started; None if it never started."""
        if self.started_s is None:
            return None
        return max(0.0, self.started_s - (self.eligible_s or self.submit_s))

    @property
    def idle_percent(self) -> float | None:
        """For how much of the time its GPUs did nothing."""
        if self.gpu_percent is None:
            return None
        return 100.0 - self.gpu_percent

    @property
    def lacks_hours(self) -> bool:
        """Whether accounting had not told yet what it held when jobmon noted its end."""
        return bool(self.state_id and self.run_s) and not self.cpus and self.backend in ("", DEFAULT_BACKEND)

    @property
    def gpu_hours(self) -> float:
        """The time for which GPUs were allocated, in hours."""
        return self.run_s * self.gpus / _HOUR_S

    @property
    def cpu_hours(self) -> float:
        """The time for which CPUs were allocated, in hours."""
        return self.run_s * self.cpus / _HOUR_S

    @property
    def cost(self) -> float | None:
        """What it cost at the prices of its end; None if there were none."""
        if self.rate is None:
            return None
        return self.rate * self.run_s / _HOUR_S

    @property
    def idle_share(self) -> float:
        """The share of the time of its GPUs in which they were idle, as agents measured it, 0 to 1."""
        gpu_s = self.run_s * self.gpus
        return min(1.0, self.gpu_idle_s / gpu_s) if gpu_s > 0 else 0.0

    @property
    def own_done(self) -> float | None:
        """The units of work that it did itself."""
        if self.done is None or self.began is None:
            return None
        return max(0.0, self.done - self.began)

    def deletion(self, now_s: float) -> HistoryRecord:
        """Return the later line that deletes it, and keeps its name alone."""
        bare = HistoryRecord(self.job_id, self.submit_s, self._later(now_s), self.cluster)
        return bare._replace(task=self.task, name=self.name, ended_s=self.ended_s, deleted=True)

    def completed(self, found: HistoryRecord, now_s: float) -> HistoryRecord:
        """Return the later line with what accounting told of it only after its end."""
        known = {name: getattr(found, name) for name in _OF_ACCOUNTING if not getattr(self, name)}
        if found.rate is not None:
            known |= {"rate": found.rate, "currency": found.currency}
        return self._replace(noted_s=self._later(now_s), run_s=found.run_s, **known)

    def _later(self, now_s: float) -> float:
        return round(max(now_s, self.noted_s), 3)

    @property
    def cost_per_unit(self) -> float | None:
        """What a unit of work cost; None if it did less than one."""
        return cost_per_unit(self.cost, self.own_done, self.unit)


class Surroundings(NamedTuple):
    """What files beside the state file say about one run."""

    group: str = ""
    progress: TaskProgress | None = None
    nodes: Sequence[NodeHistory] = ()  # what agents measured
    script: str = ""
    commit: str = ""
    prices: Prices | None = None


def cost_per_unit(cost: float | None, done: float | None, unit: str) -> float | None:
    """Return what a unit of work cost; None below one unit, and if the unit is a share of the work."""
    if cost is None or done is None or done < 1 or unit == "%":
        return None
    return cost / done


def record_of(job: WatchedJob, task: Task, end: End, around: Surroundings, now_s: float) -> HistoryRecord:
    """Return the record of the latest run of an ended task."""
    found = task.diagnosis
    measured = found.measured if found and found.measured else MeasuredUse()
    record = HistoryRecord(
        job_id=job.job_id,
        submit_s=task.submit_s or job.submitted_s or int(job.registered_s),
        noted_s=round(now_s, 3),
        cluster=job.cluster,
        backend=job.backend,
        task=task.key,
        state_id=job.id,
        name=job.name,
        run=job.own_settings.run,
        group=around.group,
        user=job.user,
        partition=job.partition,
        lineage=job.attempt.lineage if job.attempt else "",
        attempt=job.attempt.number if job.attempt else 0,
        outcome=str(end.outcome),
        doubtful=task.is_doubtful_success,
        script=around.script,
        commit=around.commit,
        gpus=measured.gpus or 0,
        started_s=end.started_s,
        ended_s=end.ended_s,
        node_peak=measured.node_peak_bytes,
        gpu_percent=_mean_percent(measured.gpu),
    )
    record = _with_held(_with_gpus(record, around.nodes), end, around.prices)
    if around.progress:
        record = _with_progress(record, around.progress)
        resumed_at = job.attempt.resume_step if job.attempt else None
        record = record._replace(began=_began(record, around.progress.history.samples, resumed_at))
    return _with_diagnosis(record, found) if found else record


def record_of_row(row: JobRow, now_s: float, prices: Prices | None = None) -> HistoryRecord | None:
    """Return what accounting alone says about a run; None of one that has not ended, or without a time."""
    if row.submit_s is None or row.end_s is None or not row.ref.job_id:
        return None
    record = HistoryRecord(
        job_id=row.ref.job_id,
        submit_s=row.submit_s,
        noted_s=round(now_s, 3),
        cluster=row.cluster,
        task=row.ref.key,
        name=row.name,
        user=row.user,
        partition=row.partition,
        outcome=str(outcome_of(row.state, row.exit_code)),
        started_s=row.start_s,
        ended_s=row.end_s,
    )
    return _with_held(record, row, prices)


def _with_held(record: HistoryRecord, told: End | JobRow, prices: Prices | None) -> HistoryRecord:
    """Add how a run ended, what it held and used, and what an hour of that costs."""
    usage = told.usage
    types = (usage.gpu_types, record.gpu)
    record = record._replace(
        state=str(told.state),
        exit_code=told.exit_code,
        signal=told.signal,
        nodes=told.nodes,
        gpu=record.gpu or usage.gpu_types,
        gpus=usage.gpus or record.gpus,
        cpus=usage.cpus or 0,
        eligible_s=told.eligible_s,
        limit_s=told.limit_s,
        run_s=float(_first(usage.run_s, told.elapsed_s, 0)),
        cpu_s=usage.cpu_s,
        memory_requested=usage.requested_bytes,
        memory_peak=usage.max_rss_bytes,
        gpu_percent=_mean_percent(usage.gpu) if record.gpu_percent is None else record.gpu_percent,
    )
    if prices is None:
        return record
    rate = prices.rate(record.gpus, types, record.cpus, usage.billing)
    if record.started_s is None:
        rate = 0.0
    return record if rate is None else record._replace(rate=rate, currency=prices.currency)


def _began(record: HistoryRecord, samples: Sequence[Sample], resumed_at: int | None) -> float | None:
    """Return the count of units at its start; None if that is not known.

    It is 0 if the first count in its log can have been reached since its start, at its own pace. Without a
    checkpoint that jobmon picked, it is not known where another one went on.
    """
    if samples and resumed_at is not None and record.unit == "step":
        return min(samples[0].current, resumed_at)
    if not samples or record.step_s is None or record.started_s is None:
        return None
    elapsed_s = max(0.0, samples[0].at_s - record.started_s)
    return 0.0 if samples[0].current <= _FASTER * elapsed_s / record.step_s + 1 else None


def _with_gpus(record: HistoryRecord, nodes: Sequence[NodeHistory]) -> HistoryRecord:
    """Add the types of the GPUs, and for how long they were how busy."""
    gpus = [gpu for node in nodes for sample in node.samples for gpu in sample.gpus]
    busy_s, idle_s = gpu_busy_s(nodes)
    types = dict.fromkeys(gpu.name for gpu in gpus if gpu.name)
    return record._replace(gpu="+".join(types), gpu_busy_s=busy_s, gpu_idle_s=idle_s)


def gpu_busy_s(nodes: Sequence[NodeHistory]) -> tuple[tuple[int, ...], int]:
    """Return GPU-seconds by utilisation, in `BUSY_CLASSES` classes, and those below `IDLE_PERCENT`."""
    known = [
        (gpu.utilization_percent, sample.span_s)
        for node in nodes
        for sample in node.samples
        for gpu in sample.gpus
        if gpu.utilization_percent is not None
    ]
    if not known:
        return (), 0
    busy_s = [0.0] * BUSY_CLASSES
    for percent, span_s in known:
        busy_s[min(BUSY_CLASSES - 1, max(0, int(percent * BUSY_CLASSES / 100)))] += span_s
    idle_s = sum(span_s for percent, span_s in known if percent < IDLE_PERCENT)
    return tuple(map(round, busy_s)), round(idle_s)


def _with_progress(record: HistoryRecord, followed: TaskProgress) -> HistoryRecord:
    """Add how far the run came, how fast it was, and the last values that its log printed."""
    progress = followed.progress
    if progress is None:
        return record
    results = {"loss": progress.loss, **progress.metrics}
    known = [(name, value) for name, value in results.items() if value is not None and value - value == 0]
    return record._replace(
        done=progress.current,
        total=progress.total,
        unit=progress.unit,
        step_s=_rounded(step_s(followed.history.samples)),
        first_progress_s=_rounded(first_progress_s(followed.history, record.started_s)),
        results=dict(known[:MAX_RESULTS]),
    )


def _with_diagnosis(record: HistoryRecord, found: Diagnosis) -> HistoryRecord:
    quoted: dict[str, float] = {}
    for quote in found.results:
        try:
            quoted[quote.name] = float(quote.text)
        except ValueError:  # not a number: a text is no result to compare
            continue
    results = dict([*quoted.items(), *record.results.items()][:MAX_RESULTS])
    return record._replace(cause=found.cause or "", fingerprint=found.fingerprint, results=results)


def median(values: Sequence[float]) -> float:
    """Return the median of at least one value; loading `statistics` for it takes longer than all the rest."""
    ordered, middle = sorted(values), len(values) // 2
    return (ordered[middle] + ordered[-1 - middle]) / 2


def step_s(samples: Sequence[Sample]) -> float | None:
    """Return the median of the seconds per unit between samples; None if the count did not move."""
    paces = [
        (later.at_s - earlier.at_s) / (later.current - earlier.current)
        for earlier, later in pairwise(samples)
        if later.current > earlier.current and later.at_s > earlier.at_s
    ]
    return median(paces) if paces else None


def first_progress_s(history: History, started_s: float | None) -> float | None:
    """Return how long after its start a run showed progress; None if it was seen once or began again."""
    is_of_run = history.started_s in (None, started_s)
    if started_s is None or not is_of_run or not history.samples[1:]:
        return None
    return max(0.0, history.samples[0].at_s - started_s)


def _first(*values: float | None) -> float:
    return next(value for value in values if value is not None)


def _mean_percent(gpu: GpuUsage | None) -> float | None:
    return _rounded(gpu.percent) if gpu and gpu.is_mean else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}")
