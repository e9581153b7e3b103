"""What earlier jobs like one say about the next: by what it will probably fail, and what it needs.

The forecast was measured on simulated users whose failures are independent: if one cause ends three jobs of
ten, 2.5 % of jobs get a forecast by chance; with three of five instead of four, 10 % would. Of jobs that fail
by one cause nine times of ten, 86 % get one.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.job.history.baseline import agree
from jobmon_core.domain.job.history.nodes import is_node_failure
from jobmon_core.domain.logs.diagnosis.patterns import label_of
from jobmon_core.domain.slurm.rows import node_names
from jobmon_core.domain.slurm.states import JobState, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jobmon_core.domain.job.history.record import HistoryRecord

COUNTED = 5  # the latest earlier jobs that count
LEAST_FAILED = 4  # of these, by one cause, the latest among them
NEEDS_OF = 10  # the latest runs that show what the next one needs
_LEAST_RUNS = 3  # successful ones
MEMORY, TIME, GPU_MEMORY = "host_oom_kill", "slurm_timeout", "cuda_oom"
PYTHON_MEMORY = "python_memory_error"
_BY_STATE = {JobState.OUT_OF_MEMORY: MEMORY, JobState.TIMEOUT: TIME}  # accounting alone knows no cause
_WORDS = {
    MEMORY: "ran out of memory",
    PYTHON_MEMORY: "ran out of memory",
    GPU_MEMORY: "ran out of GPU memory",
    TIME: "reached their time limit",
}


class Forecast(NamedTuple):
    """By what most of the last jobs failed."""

    cause: str  # a label, see `LABELS`, or a variant of it that has another remedy
    failures: int
    jobs: int
    latest: HistoryRecord  # the latest run that failed by it
    memory: int  # the most that one of these runs had requested, in bytes; 0: not known
    limit_s: int  # their longest time limit; 0: not known

    @property
    def sentence(self) -> str:
        """What is known."""
        words = _WORDS.get(self.cause, f"failed with {self.cause}")
        if self.jobs == 1:
            return f"the last run, {self.latest.ref}, {words.replace('their', 'its')}"
        return f"{self.failures} of the last {self.jobs} jobs of this name or script {words}"


class Needs(NamedTuple):
    """The most that successful runs took; None: not known, or they differ too much."""

    runs: int  # successful ones
    time_s: float | None = None
    memory: int | None = None  # bytes, of runs on one node
    cpus: float | None = None  # busy at the same time, in the mean of a run


def forecast(alike: Iterable[HistoryRecord]) -> Forecast | None:
    """Return by what the next job will probably fail, given earlier runs like it, the latest first.

    An array or a job that was requeued counts once, by what at least half of its runs failed. Runs that were
    cancelled or preempted, or that a node failed, say nothing about the next one.
    """
    last = _last_jobs(alike)
    causes = [_common_cause(runs) for runs in last]
    cause = next(iter(causes), "")
    failures = causes.count(cause)
    if not cause or failures < LEAST_FAILED:
        return None
    failed = [run for runs in last for run in runs if cause_of_failure(run) == cause]
    memory = max(run.memory_requested or 0 for run in failed)
    limit_s = max(run.limit_s or 0 for run in failed)
    return Forecast(cause, failures, len(last), failed[0], memory, limit_s)


def last_failure(alike: Iterable[HistoryRecord]) -> Forecast | None:
    """Return by what the last run failed, if it lacked something: the next one may lack it too."""
    last = next((run for run in alike if run.started_s), None)
    if last is None or (cause := cause_of_failure(last)) not in _WORDS:
        return None
    return Forecast(cause, 1, 1, last, last.memory_requested or 0, last.limit_s or 0)


def _last_jobs(alike: Iterable[HistoryRecord]) -> list[list[HistoryRecord]]:
    jobs: dict[tuple[str, int], list[HistoryRecord]] = {}
    for run in alike:
        if run.outcome in (Outcome.SUCCESS, Outcome.FAILURE) and not _is_of_cluster(run):
            jobs.setdefault((run.cluster, run.job_id), []).append(run)
    return [*islice(jobs.values(), COUNTED)]


def _is_of_cluster(run: HistoryRecord) -> bool:
    return is_node_failure(run) or run.state in (JobState.PREEMPTED, JobState.REVOKED)


def _common_cause(runs: Sequence[HistoryRecord]) -> str:
    cause, number = Counter(map(cause_of_failure, runs)).most_common(1)[0]
    return cause if 2 * number >= len(runs) else ""


def cause_of_failure(run: HistoryRecord) -> str:
    """Return the cause of a failure; empty for a success, and for one whose cause is not known."""
    if run.outcome != Outcome.FAILURE:
        return ""
    label = label_of(run.cause)
    if label == TIME and run.cause != TIME:
        return run.cause  # e.g. a hang, against which more time does not help
    return label or _BY_STATE.get(JobState.from_slurm(run.state), "")


def needs(alike: Iterable[HistoryRecord]) -> Needs:
    """Return what the next run needs, given earlier runs like it, the latest first.

    Nothing is said about time or memory if one of the last runs had too little of it.
    """
    last = [*islice(alike, NEEDS_OF)]
    good = [run for run in last if run.outcome == Outcome.SUCCESS and not run.doubtful]
    lacked = {cause_of_failure(run).partition(".")[0] for run in last}
    here = [run for run in good if len(node_names(run.nodes)) == 1]
    memory = _highest(run.memory_peak for run in here)
    return Needs(
        len(good),
        time_s=None if TIME in lacked else _highest(run.run_s for run in good),
        memory=None if memory is None or MEMORY in lacked else int(memory),
        cpus=_highest(_busy_cpus(here)),
    )


def _busy_cpus(runs: Iterable[HistoryRecord]) -> Iterator[float]:
    yield from (run.cpu_s / run.run_s for run in runs if run.cpu_s and run.run_s)


def _highest(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value]
    return max(known) if len(known) >= _LEAST_RUNS and agree(known) else None
