"""Measures a task by what /proc, the cgroups, the GPU driver and the file systems show."""

from __future__ import annotations

import dataclasses
import os
import time
from typing import TYPE_CHECKING

from jobmon_core.agent import cgroup, proc
from jobmon_core.agent.fabric import FabricMeter
from jobmon_core.agent.gpu_meter import GpuMeter
from jobmon_core.agent.proc import Background
from jobmon_core.agent.processes import TaskProcesses
from jobmon_core.agent.worker_meter import Span, WorkerMeter
from jobmon_core.domain.node.telemetry.mean import rounded
from jobmon_core.domain.node.telemetry.model import (
    GONE,
    AgentReport,
    Cpu,
    Folder,
    Memory,
    Sample,
    is_memory_short,
)
from jobmon_core.domain.node.telemetry.processes import cpu_seconds

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from jobmon_core.domain.artifacts.disk import Disk
    from jobmon_core.domain.node.telemetry.processes import MeasuredTask, Process, Usage

_SLOW_S = 30.0  # between two looks at disks, and at which cgroups the task is in
_DISK_TIMEOUT_S = 0.1
_MANY_THREADS, _BUSY_PERCENT = 4, 20.0  # for each core: below either, threads hardly compete for it
_NO_REPORT = AgentReport()


class TaskMeter:
    """Measures a task from one round to the next."""

    def __init__(
        self,
        target: MeasuredTask,
        node_name: str,
        disks: tuple[str, ...],
        now_s: float,
        earlier: AgentReport = _NO_REPORT,
    ) -> None:
        """Begin."""
        self._gpus = GpuMeter()
        self._processes = TaskProcesses(target)
        self._workers = WorkerMeter(target.pids, proc.boot_s(now_s))
        self._node_name = node_name
        self._node_before = proc.read_counters()
        self._resources = _Resources(earlier)
        self._disks = _Disks(disks)
        self._fabric = FabricMeter()
        self._before: dict[tuple[int, int], Usage] = {}
        self._since_ticks: int | None = None
        self._since_s = time.monotonic()

    def look(self) -> None:
        """Note the use of GPUs and workers at this moment."""
        self._gpus.look()
        self._workers.look()

    @property
    def process_keys(self) -> Collection[tuple[int, int]]:
        """The keys of the processes at the last `read`."""
        return self._before.keys()

    def read(self, now_s: float) -> tuple[AgentReport, int]:
        """Return the figures since the last call, and how many processes the task has, without zombies."""
        at_s, now_ticks = time.monotonic(), proc.uptime_ticks()
        span = Span(now_s, max(at_s - self._since_s, 0.001), self._since_ticks)
        processes = self._processes.look(now_ticks)
        environments = [process.environment for process in processes.values() if process.environment]
        gpus = self._gpus.read(environments, processes.keys())
        counters = proc.read_counters()
        sample = Sample(
            round(now_s, 1),
            round(span.seconds, 1),
            rounded(proc.node(self._node_name, self._node_before, counters, span.seconds)),
            tuple(rounded(worker) for worker in self._workers.read(processes, span, gpus)),
            tuple(rounded(gpu) for gpu in gpus),
            self._resources.memory(processes, at_s),
            rounded(self._resources.cpu(processes, self._used_percent(processes, span))),
            self._disks.read(at_s),
        )
        self._node_before, self._since_ticks, self._since_s = counters, now_ticks, at_s
        self._before = {process.key: process.usage for process in processes.values()}
        report = AgentReport(
            sample,
            ranks=self._workers.ranks,
            folders=self._disks.folders,
            fabric=self._fabric.read(at_s),
            unavailable=(*self._gpus.unavailable, *self._disks.unavailable),
            is_memory_short=is_memory_short(sample),
        )
        return report, sum(process.state != "Z" for process in processes.values())

    def _used_percent(self, processes: Mapping[int, Process], span: Span) -> float | None:
        if span.since_ticks is None:
            return None
        return 100 * cpu_seconds(self._before, processes.values(), span.since_ticks) / span.seconds


class _Resources:
    def __init__(self, earlier: AgentReport) -> None:
        try:
            text = proc.read_file("/proc/self/mountinfo").decode(errors="replace")
        except OSError:
            text = ""
        self._mounted = cgroup.hierarchies(text)
        self._memory_group: cgroup.Cgroup | None = None
        self._cpu_group: cgroup.Cgroup | None = None
        self._found_s: float | None = None
        self._quota: cgroup.CpuQuota | None = None
        self._is_shared = False
        self._earlier: AgentReport | None = earlier  # None once its OOM kills are counted
        self._oom_kills = self._agent_kills = 0

    def memory(self, processes: Mapping[int, Process], at_s: float) -> Memory | None:
        """Return the memory of the cgroup of these processes, else their own."""
        if not processes:
            self._found_s = None
            return None
        if self._found_s is None or at_s - self._found_s >= _SLOW_S:
            self._memory_group = cgroup.memory_cgroup(processes, self._mounted)
            self._cpu_group = cgroup.cpu_cgroup(processes, self._mounted)
            own = {*processes, os.getpid()}
            self._is_shared = self._memory_group is not None and cgroup.is_shared(self._memory_group, own)
            self._found_s = at_s
        found = None
        if self._memory_group:
            found = cgroup.memory(self._memory_group)
        resident = sum(process.memory for process in processes.values())
        if found is None:
            return Memory(resident, source="processes")
        if self._is_shared:
            return cgroup.share_of(found, resident)
        if found.oom_kills is None:
            return found
        # the cgroups of ended steps disappear with their counters
        self._oom_kills = max(self._oom_kills, found.oom_kills)
        if self._earlier is not None:
            self._agent_kills = kills_of_agents(self._earlier, self._oom_kills, processes)
            self._earlier = None
        own_kills = self._oom_kills - self._agent_kills
        return dataclasses.replace(found, oom_kills=own_kills, agent_kills=self._agent_kills)

    def cpu(self, processes: Mapping[int, Process], used_percent: float | None) -> Cpu:
        """Return the cores that these processes may use, and how far they do."""
        allowed: set[int] = set()
        for pid in processes:
            try:
                allowed |= os.sched_getaffinity(pid)
            except OSError:
                continue
        cores, throttled = float(len(allowed) or os.cpu_count() or 1), None
        before, self._quota = self._quota, cgroup.cpu_quota(self._cpu_group) if self._cpu_group else None
        if self._quota:
            cores = min(cores, self._quota.cores)
            periods = self._quota.periods - before.periods if before else 0
            if before and periods > 0:
                throttled = 100 * (self._quota.throttled_periods - before.throttled_periods) / periods
        threads = sum(process.threads for process in processes.values())
        is_crowded = threads >= _MANY_THREADS * cores and (used_percent or 0.0) >= _BUSY_PERCENT * cores
        runnable = None
        if is_crowded:
            runnable = proc.runnable_threads(processes, threads)
        return Cpu(cores, used_percent, throttled, threads, runnable)


class _Disks:
    def __init__(self, paths: tuple[str, ...]) -> None:
        self._calls = {path: Background() for path in paths}
        self._found: dict[str, Disk] = {}
        self._folders: dict[str, Folder] = {}
        self._silent: tuple[str, ...] = ()
        self._read_s: float | None = None

    @property
    def unavailable(self) -> tuple[str, ...]:
        return tuple(f"disk {path}: the file system does not answer" for path in self._silent)

    @property
    def folders(self) -> tuple[Folder, ...]:
        return tuple(self._folders[path] for path in self._calls if path in self._folders)

    def read(self, at_s: float) -> tuple[Disk, ...]:
        if self._read_s is None or at_s - self._read_s >= _SLOW_S:
            self._read_s = at_s
            self._silent = tuple(path for path in self._calls if not self._ask(path))
        return tuple(self._found[path] for path in self._calls if path in self._found)

    def _ask(self, path: str) -> bool:
        def read() -> None:
            disk = proc.read_disk(path)
            if disk:
                self._found[path] = disk
            self._folders[path] = proc.read_folder(path)

        self._found.pop(path, None)
        self._folders.pop(path, None)
        return self._calls[path].run(read, _DISK_TIMEOUT_S)


def kills_of_agents(earlier: AgentReport, kills: int, living: Collection[int]) -> int:
    """Return how many of the processes that were killed in the cgroup of a task were agents.

    The kernel kills agents first. So if the earlier agent ended without a last report, all processes killed
    since then were agents: that one, and later ones at their start. If a worker has ended, too, only one was.
    """
    memory = earlier.latest.memory
    if memory is None or memory.oom_kills is None:
        return 0
    new = kills - memory.oom_kills - memory.agent_kills
    if new < 0:  # another cgroup, e.g. after a requeue
        return 0
    if earlier.ended_s is not None:
        return memory.agent_kills
    workers = [worker for worker in earlier.latest.workers if worker.status not in GONE]
    is_only_agents = all(worker.pid in living for worker in workers)
    return memory.agent_kills + (new if is_only_agents else min(new, 1))
