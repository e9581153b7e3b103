"""Measures the workers of a task from one round to the next."""

from __future__ import annotations

import fcntl
import os
import struct
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.agent import proc
from jobmon_core.domain.node.telemetry.model import Gpu, RankGroup, Worker, WorkerStatus
from jobmon_core.domain.node.telemetry.processes import bytes_moved, cpu_seconds, is_pool, starts_others
from jobmon_core.domain.node.telemetry.workers import (
    Gone,
    WorkerGroup,
    find_workers,
    rank_groups,
    still_missed,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from jobmon_core.domain.node.telemetry.processes import Process, Usage

_STATUS = {
    "R": WorkerStatus.RUNNING,
    "D": WorkerStatus.BLOCKED,
    "T": WorkerStatus.STOPPED,
    "t": WorkerStatus.STOPPED,
    "Z": WorkerStatus.ZOMBIE,
    "X": WorkerStatus.DEAD,
}
_BUSY_PERCENT = 5.0  # of a core; then a worker counts as running, even if its main thread waits
_NOTABLE_S = 10.0  # a program without a rank that ran for less is not listed as dead
_MAX_WORKERS = 64

Key = tuple[int, int]


class Span(NamedTuple):
    """The time between two rounds."""

    end_s: float  # Unix seconds
    seconds: float
    since_ticks: int | None  # since boot; None in the first round


_INFO_BYTES, _MASK_EXIT, _STATUS_AT = 64, 1 << 3, 60
_GET_INFO = (3 << 30) | (_INFO_BYTES << 16) | (0xFF << 8) | 11  # _IOWR(0xFF, 11, struct pidfd_info)


Exit = tuple[int | None, int | None]  # the exit code and the signal of a process
NOT_KNOWN: Exit = (None, None)


class ProcessHandle:
    """A running process, also for the time after its end."""

    def __init__(self, pid: int) -> None:
        """Of a process that has just ended, nothing is known."""
        self.pid = pid
        self.output = ""  # the file that it prints to; empty if that is a pipe or a device
        self.is_pooled = False  # see `Worker.is_pooled`
        self._fd: int | None = None
        with suppress(OSError):
            self._fd = os.pidfd_open(pid)

    def note(self, *, is_pooled: bool) -> None:
        """Note what can be seen only while it runs."""
        self.is_pooled = is_pooled
        with suppress(OSError):
            path = os.readlink(f"{proc.PROC}/{self.pid}/fd/1")  # noqa: PTH115 - paths are texts here
            is_file = path.startswith("/") and not path.startswith("/dev/")
            self.output = path.removesuffix(" (deleted)") if is_file else ""

    def exit(self) -> Exit:
        """Return how it ended, once its parent has read that, and close the handle."""
        if self._fd is None:
            return NOT_KNOWN
        info = bytearray(_INFO_BYTES)
        struct.pack_into("=Q", info, 0, _MASK_EXIT)
        try:
            fcntl.ioctl(self._fd, _GET_INFO, info)
        except OSError:
            return NOT_KNOWN
        finally:
            self.close()
        has_status = struct.unpack_from("=Q", info)[0] & _MASK_EXIT
        if has_status:
            return exit_of(struct.unpack_from("=i", info, _STATUS_AT)[0])
        return NOT_KNOWN

    def close(self) -> None:
        """Release the handle."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def exit_of(wait_status: int) -> Exit:
    """Return what a wait status says."""
    if os.WIFSIGNALED(wait_status):
        return None, os.WTERMSIG(wait_status)
    return os.waitstatus_to_exitcode(wait_status), None


class WorkerMeter:
    """The workers of a task."""

    def __init__(self, expected_pids: Collection[int], boot_s: float) -> None:
        """Begin."""
        self.ranks: tuple[RankGroup, ...] = ()
        self._missing = set(expected_pids)
        self._boot_s = boot_s
        self._groups: tuple[WorkerGroup, ...] = ()
        self._gone: tuple[Gone, ...] = ()
        self._states: dict[Key, list[str]] = {}
        self._active_s: dict[Key, float] = {}
        self._before: dict[Key, dict[Key, Usage]] = {}  # of each process of a worker
        self._pools: set[str] = set()  # programs of which a new one starts whenever one has ended
        self._handles: dict[Key, ProcessHandle] = {}
        self._orphans: set[Key] = set()

    def look(self) -> None:
        """Note the states of the main processes."""
        for group in self._groups:
            if stat := proc.read_stat(group.main.pid):
                self._states.setdefault(group.top.key, []).append(stat.state)

    def read(self, processes: Mapping[int, Process], span: Span, gpus: tuple[Gpu, ...]) -> tuple[Worker, ...]:
        """Return the workers over a span; ``processes`` and ``gpus`` are those of the task."""
        self._missing -= processes.keys()
        present = {process.key for process in processes.values()}
        self._note_orphans(present)
        found = find_workers(processes, self._on_gpus(processes, gpus))
        found = tuple(group for group in found if group.top.key not in self._orphans) or found
        self.ranks = rank_groups(found, self.ranks)
        earlier, self._groups = self._groups, found[:_MAX_WORKERS]
        self._note_ended(earlier, present, span)
        self._note_handles(processes)
        workers = [self._worker(group, span, gpus) for group in self._groups]
        self._states.clear()
        self._before = {
            group.top.key: {member.key: member.usage for member in group.members} for group in self._groups
        }
        self._active_s = {key: at_s for key, at_s in self._active_s.items() if key in self._before}
        absent = [Worker(pid, status=WorkerStatus.NOT_FOUND) for pid in sorted(self._missing)]
        return (*workers, *(gone.worker for gone in self._gone), *absent)

    def _on_gpus(self, processes: Mapping[int, Process], gpus: tuple[Gpu, ...]) -> set[int]:
        # an ended worker holds no GPU any more
        tops = (processes.get(group.top.pid) for group in self._groups)
        ended = {top.pid for top in tops if top and top.state == "Z"}
        return ended | {pid for gpu in gpus for pid in gpu.own_pids}

    def _note_orphans(self, present: set[Key]) -> None:
        mains = {group.main.key for group in self._groups}
        left = {key for top, members in self._before.items() if top not in present for key in members}
        self._orphans = (self._orphans | (left - mains)) & present

    def _note_handles(self, processes: Mapping[int, Process]) -> None:
        for group in self._groups:
            main, handle = group.main, self._handles.get(group.top.key)
            is_program = not starts_others(main.argv, main.command)
            if main.state == "Z" or (handle and handle.pid != main.pid and not is_program):
                continue
            if handle is None or handle.pid != main.pid:
                if handle:
                    handle.close()
                handle = self._handles[group.top.key] = ProcessHandle(main.pid)
            parent = processes.get(group.top.parent)
            handle.note(is_pooled=parent is not None and is_pool(parent.argv, parent.command))
        for key in self._handles.keys() - {group.top.key for group in self._groups}:
            self._handles.pop(key).close()

    def _note_ended(self, earlier: tuple[WorkerGroup, ...], present: set[Key], span: Span) -> None:
        ended = [
            self._gone_worker(group, span)
            for group in earlier
            if group.top.key not in present and (group.rank is not None or len(earlier) > 1 or self._gone)
            if group.rank is not None or span.end_s - self._started_s(group.top.start_ticks) >= _NOTABLE_S
        ]
        gone = (*self._gone, *ended)
        self._gone = still_missed(gone, self._groups)
        self._pools |= {
            each.worker.name
            for each in set(gone) - set(self._gone)
            for group in self._groups
            if group.name == each.worker.name
            and group.rank is None
            and group.top.start_ticks <= each.start_ticks
        }

    def _gone_worker(self, group: WorkerGroup, span: Span) -> Gone:
        handle = self._handles.get(group.top.key)
        code, signal = handle.exit() if handle else NOT_KNOWN
        worker = Worker(
            group.main.pid,
            group.name,
            group.rank,
            WorkerStatus.DEAD,
            self._started_s(group.top.start_ticks),
            last_activity_s=span.end_s,
            exit_code=code,
            signal=signal,
            log=self._own_log(group.top.key),
            is_pooled=group.name in self._pools or (handle is not None and handle.is_pooled),
        )
        return Gone(worker, group.top.start_ticks, span.since_ticks or 0)

    def _own_log(self, key: Key) -> str:
        outputs = [handle.output for handle in self._handles.values()]
        handle = self._handles.get(key)
        if handle and outputs.count(handle.output) == 1:
            return handle.output
        return ""

    def _worker(self, group: WorkerGroup, span: Span, gpus: tuple[Gpu, ...]) -> Worker:
        main, key = group.main, group.top.key
        states = [*self._states.get(key, ()), main.state]
        percent, read, written = self._rates(group, span)
        if percent or read or written:
            self._active_s[key] = span.end_s
        pids = {member.pid for member in group.members}
        # it may list a number for each level of nesting
        omp_threads = (main.environment or {}).get("OMP_NUM_THREADS", "").partition(",")[0]
        code, signal = NOT_KNOWN if main.wait_status is None else exit_of(main.wait_status)
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
            code,
            signal,
            self._own_log(key) if main.state == "Z" else "",
        )

    def _rates(self, group: WorkerGroup, span: Span) -> tuple[float | None, float | None, float | None]:
        before = self._before.get(group.top.key)
        if span.since_ticks is None or (before is None and group.top.start_ticks < span.since_ticks):
            return None, None, None
        read, written = bytes_moved(before or {}, group.members, span.since_ticks)
        return (
            100 * cpu_seconds(before or {}, group.members, span.since_ticks) / span.seconds,
            read / span.seconds if read is not None else None,
            written / span.seconds if written is not None else None,
        )

    def _started_s(self, start_ticks: int) -> float:
        return round(self._boot_s + start_ticks / proc.TICKS_PER_S, 1)


def _status(states: list[str], percent: float | None) -> WorkerStatus:
    status = _STATUS.get(states[-1], WorkerStatus.SLEEPING)
    is_busy = "R" in states or (percent or 0.0) >= _BUSY_PERCENT
    if status is WorkerStatus.SLEEPING and is_busy:
        return WorkerStatus.RUNNING
    return status
