"""Measures the workers of a task from one round to the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.agent import proc
from jobmon_core.domain.telemetry.measuring.ranks import rank_groups
from jobmon_core.domain.telemetry.measuring.rates import bytes_moved, cpu_seconds
from jobmon_core.domain.telemetry.measuring.workers import Gone, Group, find_workers, still_missed
from jobmon_core.domain.telemetry.model import Gpu, RankGroup, Worker, WorkerStatus

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from jobmon_core.domain.telemetry.measuring.processes import Process, Usage

_STATUS = {
    "R": WorkerStatus.RUNNING,
    "D": WorkerStatus.BLOCKED,
    "T": WorkerStatus.STOPPED,
    "t": WorkerStatus.STOPPED,
    "Z": WorkerStatus.ZOMBIE,
    "X": WorkerStatus.DEAD,
}
_BUSY_PERCENT = 5.0  # of a core; a worker that uses it counts as running, even if its main thread waits
_NOTABLE_S = 10.0  # a program without a rank that ran for less is not listed as dead when it ends
_MAX_WORKERS = 64

Key = tuple[int, int]


class Span(NamedTuple):
    """The time between two rounds."""

    end_s: float  # Unix seconds
    seconds: float
    since_ticks: int | None  # clock ticks from boot to its start; None in the first round


class WorkerMeter:
    """The workers of a task."""

    def __init__(self, expected_pids: Collection[int], boot_s: float) -> None:
        """Begin; ``expected_pids`` are the task's first processes, ``boot_s`` is when the host started."""
        self.ranks: tuple[RankGroup, ...] = ()  # as of the latest reading, also of workers beyond the limit
        self._missing = set(expected_pids)
        self._boot_s = boot_s
        self._groups: tuple[Group, ...] = ()
        self._gone: tuple[Gone, ...] = ()
        self._states: dict[Key, list[str]] = {}
        self._active_s: dict[Key, float] = {}
        self._before: dict[Key, dict[Key, Usage]] = {}  # what each process of a worker had used

    def look(self) -> None:
        """Look at the states of the main processes."""
        for group in self._groups:
            if stat := proc.read_stat(group.main.pid):
                self._states.setdefault(group.top.key, []).append(stat.state)

    def read(self, processes: Mapping[int, Process], span: Span, gpus: tuple[Gpu, ...]) -> tuple[Worker, ...]:
        """Return the workers among the processes of the task over a span; ``gpus`` are those of the task."""
        self._missing -= processes.keys()
        on_gpus = {pid for gpu in gpus for pid in gpu.own_pids}
        found = find_workers(processes, on_gpus)
        self.ranks = rank_groups(found, self.ranks)
        earlier, self._groups = self._groups, found[:_MAX_WORKERS]
        self._note_ended(earlier, {process.key for process in processes.values()}, span.end_s)
        workers = [self._worker(group, span, gpus) for group in self._groups]
        self._states.clear()
        self._before = {
            group.top.key: {member.key: member.usage for member in group.members} for group in self._groups
        }
        self._active_s = {key: at_s for key, at_s in self._active_s.items() if key in self._before}
        absent = [Worker(pid, status=WorkerStatus.NOT_FOUND) for pid in sorted(self._missing)]
        return (*workers, *(self._dead(gone) for gone in self._gone), *absent)

    def _note_ended(self, earlier: tuple[Group, ...], present: set[Key], now_s: float) -> None:
        ended = [
            Gone(group.main.pid, group.name, group.rank, group.top.start_ticks, now_s)
            for group in earlier
            if group.top.key not in present and (group.rank is not None or len(earlier) > 1)
            if group.rank is not None or now_s - self._started_s(group.top.start_ticks) >= _NOTABLE_S
        ]
        self._gone = still_missed((*self._gone, *ended), self._groups)

    def _worker(self, group: Group, span: Span, gpus: tuple[Gpu, ...]) -> Worker:
        main, key = group.main, group.top.key
        states = [*self._states.get(key, ()), main.state]
        percent, read, written = self._rates(group, span)
        if percent or read or written:
            self._active_s[key] = span.end_s
        pids = {member.pid for member in group.members}
        # OMP_NUM_THREADS may list a number for each level of nesting
        omp_threads = (main.environment or {}).get("OMP_NUM_THREADS", "").partition(",")[0]
        return Worker(
            main.pid,
            group.name,
            group.rank,
            _status(states, percent),
            self._started_s(main.start_ticks),
            percent,
            sum(member.memory for member in group.members),
            main.threads,
            len(group.members) - 1,
            100 * states.count("D") / len(states),
            self._active_s.get(key),
            tuple(gpu.index for gpu in gpus if not pids.isdisjoint(gpu.own_pids)),
            read,
            written,
            int(omp_threads) if omp_threads.isdecimal() else None,
            sum(member.state == "Z" for member in group.members if member is not main),
        )

    def _rates(self, group: Group, span: Span) -> tuple[float | None, float | None, float | None]:
        """Return the CPU use in percent of a core, and the bytes read and written per second."""
        before = self._before.get(group.top.key)
        if span.since_ticks is None or (before is None and group.top.start_ticks < span.since_ticks):
            return None, None, None
        read, written = bytes_moved(before or {}, group.members, span.since_ticks)
        return (
            100 * cpu_seconds(before or {}, group.members, span.since_ticks) / span.seconds,
            read / span.seconds if read is not None else None,
            written / span.seconds if written is not None else None,
        )

    def _dead(self, gone: Gone) -> Worker:
        return Worker(
            gone.pid,
            gone.name,
            gone.rank,
            WorkerStatus.DEAD,
            self._started_s(gone.start_ticks),
            last_activity_s=gone.ended_s,
        )

    def _started_s(self, start_ticks: int) -> float:
        return round(self._boot_s + start_ticks / proc.TICKS_PER_S, 1)


def _status(states: list[str], percent: float | None) -> WorkerStatus:
    """Return the status by the latest state; a sleeping worker that was busy before counts as running."""
    status = _STATUS.get(states[-1], WorkerStatus.SLEEPING)
    is_busy = "R" in states or (percent or 0.0) >= _BUSY_PERCENT
    return WorkerStatus.RUNNING if status is WorkerStatus.SLEEPING and is_busy else status
