"""What the runs of a day or a week took, what went wrong, and what was forgotten, in a few figures."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.many.autostart.command import RegularCommand
from jobmon_core.domain.slurm.states import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from jobmon_core.domain.job.history.record import HistoryRecord

_HOUR_S = 3600.0
_OUTCOMES = frozenset(Outcome)  # a later version may know others
NO_CAUSE = "no known cause"


class Most(NamedTuple):
    """What has the largest part of something."""

    what: str = ""
    hours: float = 0.0
    runs: int = 0


class Digest(NamedTuple):
    """The runs that ended in a time, and what was forgotten. Hours are those of allocated resources."""

    since_s: float  # Unix seconds
    until_s: float
    outcomes: dict[str, int]  # the number of runs by `Outcome`; empty if none ended
    doubtful: int  # of the successes
    gpu_hours: float
    cpu_hours: float
    costs: dict[str, float]  # by currency
    lost_gpu_hours: float  # of runs that did not succeed
    lost_cpu_hours: float
    most_lost: Most  # the cause; of GPU hours, else of CPU hours
    idle_gpu_hours: float  # as agents measured it
    most_idle: Most  # the name of the runs
    slower: tuple[str, ...] = ()  # a sentence about each name whose latest run was slower than usual
    suspects: tuple[str, ...] = ()  # a sentence about each node that kills runs
    failures: tuple[str, ...] = ()  # jobs that failed in this time, and that nobody acknowledged
    idle_jobs: tuple[str, ...] = ()  # jobs that run and leave what they hold idle

    @property
    def runs(self) -> int:
        """The number of runs that ended."""
        return sum(self.outcomes.values())


def digest_of(runs: Sequence[HistoryRecord], since_s: float, until_s: float) -> Digest:
    """Return what these runs took, all of which ended in this time."""
    lost = [run for run in runs if run.outcome != Outcome.SUCCESS]
    costs: dict[str, float] = {}
    for run in runs:
        if run.cost is not None:
            costs[run.currency] = costs.get(run.currency, 0.0) + run.cost
    lost_gpu_hours = sum(run.gpu_hours for run in lost)
    lost_hours = _gpu_hours if lost_gpu_hours else _cpu_hours
    return Digest(
        since_s,
        until_s,
        dict(Counter(run.outcome if run.outcome in _OUTCOMES else "unknown" for run in runs)),
        sum(run.doubtful for run in runs),
        sum(run.gpu_hours for run in runs),
        sum(run.cpu_hours for run in runs),
        costs,
        lost_gpu_hours,
        sum(run.cpu_hours for run in lost),
        _most(lost, lambda run: run.cause or NO_CAUSE, lost_hours),
        sum(map(_idle_hours, runs)),
        _most(runs, lambda run: run.run or run.name, _idle_hours),
    )


def _gpu_hours(run: HistoryRecord) -> float:
    return run.gpu_hours


def _cpu_hours(run: HistoryRecord) -> float:
    return run.cpu_hours


def _idle_hours(run: HistoryRecord) -> float:
    return run.gpu_idle_s / _HOUR_S


def _most(
    runs: Iterable[HistoryRecord],
    label: Callable[[HistoryRecord], str],
    hours: Callable[[HistoryRecord], float],
) -> Most:
    parts: dict[str, Most] = {}
    for run in runs:
        what, part = label(run), hours(run)
        if part > 0:
            before = parts.get(what, Most(what))
            parts[what] = Most(what, before.hours + part, before.runs + 1)
    return max(parts.values(), key=lambda each: each.hours, default=Most())


def digest_command(channel: str, *, weekly: bool) -> RegularCommand:
    """Return the command that an installed digest runs: each hour of a day, since a machine may be down.

    It sends a digest once for each day or week.
    """
    period = "--weekly" if weekly else "--daily"
    return RegularCommand(
        "jobmon digest",
        ("digest", period, "--unattended", "--to", channel),
        "3 7-22 * * *",
        "7..22:03",
        "send what all runs took",
        marker_suffix="-digest",
    )
