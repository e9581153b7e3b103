"""The workers of a program on this host, looked at again and again."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon_core.domain.node.health.pods import read_gpus, read_processes
from jobmon_core.domain.node.telemetry.model import Gpu, Worker, WorkerStatus
from jobmon_core.scheduler.process.find import find_process, find_processes, find_started_by
from jobmon_core.system.process import descendants, read_stat
from jobmon_core.system.runner import Runner, succeeded

if TYPE_CHECKING:
    from jobmon_core.scheduler.process.client import WatchedProcess
    from jobmon_core.system.process import ProcStat

_SMI_TIMEOUT_S = 10.0
_GPU_FIELDS = "index,uuid,name,utilization.gpu,memory.used,memory.total"
_PROCESS_FIELDS = "gpu_uuid,pid,process_name,used_memory"
_STATUSES = {"Z": WorkerStatus.ZOMBIE, "T": WorkerStatus.STOPPED, "t": WorkerStatus.STOPPED}


_ABSENT = Worker(0, status=WorkerStatus.NOT_FOUND)
WorkerNow = tuple[Worker, Gpu | None, int | None]  # with the GPU that it uses, and its memory on it (bytes)


@dataclass(slots=True)
class _Known:
    process: WatchedProcess
    cpu_s: float = 0.0
    at_s: float = 0.0
    last_activity_s: float | None = None


@dataclass(slots=True)
class Workers:
    """Workers of a program, each in a place of its own; a new one may take that of one that has ended."""

    name: str
    expected: int
    pids: tuple[int, ...] = ()
    runner: Runner = field(default_factory=Runner)
    _places: list[_Known] = field(default_factory=list, init=False)

    def look(self) -> list[WorkerNow]:
        """Return what each worker does now; one that was seen and has ended is dead."""
        self._assign(self._processes())
        now_s = time.time()
        found = [_look(known, now_s) for known in self._places]
        found += [_ABSENT] * (self.expected - len(found))
        return _with_gpus(found, self.runner)

    def _processes(self) -> list[WatchedProcess]:
        if self.pids:
            return [process for pid in self.pids if (process := find_process(pid))]
        found = find_processes(self.name)
        if 0 < len(found) < self.expected:
            started = find_started_by(found, self.name)
            if len(started) > len(found):
                return started
            return found
        return found

    def _assign(self, processes: list[WatchedProcess]) -> None:
        known = {each.process.id for each in self._places}
        running = {process.id for process in processes}
        for process in processes:
            if process.id in known:
                continue
            ended = next(
                (
                    number
                    for number, each in enumerate(self._places)
                    if each.process.id not in running and not _stat(each.process)
                ),
                None,
            )
            if len(self._places) < self.expected or ended is None:
                self._places.append(_Known(process))
            else:
                self._places[ended] = _Known(process)


def _look(known: _Known, now_s: float) -> Worker:
    process = known.process
    stat = _stat(process)
    if not stat:
        return Worker(
            process.id.pid,
            status=WorkerStatus.DEAD,
            started_s=process.started_s,
            last_activity_s=known.last_activity_s,
        )
    family = (process.id.pid, *descendants(process.id.pid, -1))
    cpu_s = sum(each.cpu_s for pid in family if (each := read_stat(pid)))
    since_s = known.at_s or process.started_s
    used_s = cpu_s - known.cpu_s
    percent = None
    if now_s > since_s:
        percent = 100 * max(0.0, used_s) / (now_s - since_s)
    if used_s > 0:
        known.last_activity_s = now_s
    known.cpu_s, known.at_s = cpu_s, now_s
    status = _STATUSES.get(stat.state, WorkerStatus.RUNNING)
    return Worker(
        process.id.pid,
        status=status,
        started_s=process.started_s,
        cpu_percent=percent,
        last_activity_s=known.last_activity_s,
    )


def _stat(process: WatchedProcess) -> ProcStat | None:
    stat = read_stat(process.id.pid)
    if stat and stat.start_ticks == process.id.start_ticks:
        return stat
    return None


def _with_gpus(workers: list[Worker], runner: Runner) -> list[WorkerNow]:
    processes = _smi(runner, f"--query-compute-apps={_PROCESS_FIELDS}")
    gpus = ""
    if processes:
        gpus = _smi(runner, f"--query-gpu={_GPU_FIELDS}")
    by_uuid = {gpu.uuid: gpu for gpu in read_gpus(gpus)}
    users = {each.pid: each for each in read_processes(processes)}
    found = []
    for worker in workers:
        family = [worker.pid, *descendants(worker.pid, -1)] if worker.pid and users else []
        used = next((users[pid] for pid in family if pid in users), None)
        gpu = None
        if used:
            gpu = by_uuid.get(used.gpu_uuid)
        found.append((worker, gpu, used.memory if used else None))
    return found


def _smi(runner: Runner, query: str) -> str:
    ran = runner.capture(["nvidia-smi", query, "--format=csv,noheader,nounits"], _SMI_TIMEOUT_S)
    if succeeded(ran):
        return ran.stdout
    return ""
