"""Whether all workers of a program run on this host, and what they use."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from jobmon.api.records import record_from
from jobmon_core.app.processes.workers import Workers
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.node.telemetry.model import WorkerStatus

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.app.processes.workers import WorkerNow

_LOOK_INTERVAL_S = 0.5
_ALIVE = (WorkerStatus.RUNNING, WorkerStatus.STOPPED)


class LaunchCheck(NamedTuple):
    """How a launch went."""

    success: bool
    missing_workers: tuple[str, ...]
    error: str  # empty after a success


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """One worker. None means "not known"."""

    status: WorkerStatus  # running, stopped, zombie, dead, or not_found if it was never seen
    pid: int | None
    gpu_id: int | None  # the GPU that it uses, else the one that it should use
    gpu_percent: float | None  # the utilisation of that GPU
    gpu_memory_bytes: int | None  # of this worker; if that is not known, of all on its GPU
    cpu_percent: float | None  # of one core, with its descendants; since the last call, else since its start
    uptime_s: float | None
    last_activity_s: float | None  # when it was last seen to use CPU time (Unix seconds)


class ProcessMonitor:
    """Watches the workers of one program on this host; figures of GPUs come from nvidia-smi."""

    def __init__(
        self,
        job_name: str,
        expected_workers: int,
        gpu_ids: Sequence[int] = (),
        *,
        pids: Sequence[int] = (),
    ) -> None:
        """Begin without data.

        Args:
            job_name: the program or script that each worker runs, e.g. ``train.py``; further words must be in
                its command line. If a launcher runs it, the processes that the launcher started count.
            expected_workers: how many there should be.
            gpu_ids: the GPU that each of them should use, in this order.
            pids: the workers themselves, instead of a name.

        Raises:
            JobmonError: ``expected_workers`` is below 1.
        """
        if expected_workers < 1:
            raise JobmonError(f"expected_workers is at least 1, not {expected_workers}")
        self._gpu_ids = tuple(gpu_ids)
        self._workers = Workers(job_name, expected_workers, tuple(pids))

    def check_workers(self) -> dict[str, Worker]:
        """Return what each worker does now, by the names ``worker_0``, ``worker_1`` and so on.

        They are numbered in the order of their start, or in that of the given PIDs. A later one takes a free
        number, else that of one that has ended.
        """
        now_s = time.time()
        return {
            f"worker_{number}": self._worker(number, each, now_s)
            for number, each in enumerate(self._workers.look())
        }

    def verify_launch(self, timeout: float = 30.0) -> LaunchCheck:
        """Wait until all workers run, for up to ``timeout`` seconds, and say what is missing.

        GPUs are judged only if nvidia-smi shows workers on any: in a container, it shows other PIDs.
        """
        deadline_s = time.monotonic() + timeout
        while True:
            workers = self.check_workers()
            problem = self._problem(workers, timeout)
            rest_s = deadline_s - time.monotonic()
            if not problem or rest_s <= 0:
                missing = tuple(name for name, each in workers.items() if each.status not in _ALIVE)
                return LaunchCheck(not problem, missing, problem)
            time.sleep(min(_LOOK_INTERVAL_S, rest_s))

    def _problem(self, workers: dict[str, Worker], timeout_s: float) -> str:
        missing = {name: each.status for name, each in workers.items() if each.status not in _ALIVE}
        if missing:
            alive = len(workers) - len(missing)
            each = ", ".join(f"{name}: {status.replace('_', ' ')}" for name, status in missing.items())
            return f"only {alive} of {len(workers)} workers run after {timeout_s:g} s ({each})"
        used = {each.gpu_id for each in workers.values() if each.gpu_percent is not None}
        unused = []
        if used:
            unused = [str(gpu) for gpu in self._gpu_ids if gpu not in used]
        if unused:
            return f"no worker uses GPU {', '.join(unused)}"
        return ""

    def _worker(self, number: int, now: WorkerNow, now_s: float) -> Worker:
        planned = None
        if number < len(self._gpu_ids):
            planned = self._gpu_ids[number]
        worker, gpu, memory = now
        return record_from(
            Worker,
            worker,
            pid=worker.pid or None,
            gpu_id=gpu.index if gpu else planned,
            gpu_percent=gpu.utilization_percent if gpu else None,
            gpu_memory_bytes=memory or (gpu.memory if gpu else None),
            uptime_s=max(0.0, now_s - worker.started_s) if worker.status in _ALIVE else None,
        )
