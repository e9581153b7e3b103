"""What agents measured as JSON for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jobmon_core.domain.slurm.job_ids import ref_of
from jobmon_core.domain.telemetry.summary import all_workers, gpu_marks, gpu_use, is_current

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobmon_core.domain.telemetry.model import AgentReport, Gpu
    from jobmon_core.domain.telemetry.summary import NodeWorker
    from jobmon_core.domain.tracking.model import WatchedJob

_MB = 2**20  # as nvidia-smi counts


def telemetry_json(
    job: WatchedJob, reports: Mapping[str, Sequence[AgentReport]], now_s: float
) -> dict[str, Any]:
    """Return the documented keys ``workers``, ``gpus`` and ``nodes``; null if no agent reported.

    ``reports`` are the latest ones about the running tasks, by the key of the task.
    """
    if not reports:
        return {"workers": None, "gpus": None, "nodes": None}
    tasks = [(str(ref_of(job.job_id, key)), of_task) for key, of_task in reports.items()]
    return {
        "workers": [
            {"job_id": ref, **_worker(worker, of_task)}
            for ref, of_task in tasks
            for worker in all_workers(of_task)
        ],
        "gpus": [
            {"job_id": ref, "node": report.latest.node.name, **_gpu(gpu)}
            for ref, of_task in tasks
            for report in of_task
            for gpu in report.latest.gpus
        ],
        "nodes": [{"job_id": ref, **_node(report, now_s)} for ref, of_task in tasks for report in of_task],
    }


def _worker(placed: NodeWorker, reports: Sequence[AgentReport]) -> dict[str, Any]:
    worker = placed.worker
    utilization, memory = gpu_use(placed, reports)
    return {
        "node": placed.node,
        "rank": worker.rank,
        "pid": worker.pid or None,
        "name": worker.name,
        "status": worker.status,
        "gpu_id": worker.gpus[0] if worker.gpus else None,
        "gpu_ids": list(worker.gpus),
        "gpu_util": _rounded(utilization),
        "gpu_memory_mb": None if memory is None else round(memory / _MB),
        "cpu_percent": _rounded(worker.cpu_percent),
        "memory_bytes": worker.memory,
        "uptime": _rounded(placed.uptime_s),
        "children": worker.children,
        "threads": worker.threads,
        "last_activity": worker.last_activity_s,
        "read_bytes_per_s": _rounded(worker.read_per_s),
        "written_bytes_per_s": _rounded(worker.written_per_s),
    }


def _gpu(gpu: Gpu) -> dict[str, Any]:
    return {
        "gpu_id": gpu.index,
        "name": gpu.name,
        "gpu_util": _rounded(gpu.utilization_percent),
        "sm_util": _rounded(gpu.sm_percent),
        "tensor_util": _rounded(gpu.tensor_percent),
        "memory_bytes": gpu.memory,
        "memory_total_bytes": gpu.memory_total,
        "power_w": _rounded(gpu.power_w),
        "temperature_c": gpu.temperature_c,
        "pids": list(gpu.own_pids),
        "other_processes": gpu.other_processes,
        "marks": list(gpu_marks(gpu)),
    }


def _node(report: AgentReport, now_s: float) -> dict[str, Any]:
    latest = report.latest
    memory, cpu, node = latest.memory, latest.cpu, latest.node
    return {
        "node": node.name,
        "as_of": latest.at_s,
        "is_current": is_current(report, now_s),
        "memory_bytes": memory.used if memory else None,
        "memory_limit_bytes": memory.limit if memory else None,
        "oom_kills": memory.oom_kills if memory else None,
        "cpu_percent": _rounded(cpu.used_percent) if cpu else None,
        "cores": cpu.cores if cpu else None,
        "throttled_percent": _rounded(cpu.throttled_percent) if cpu else None,
        "load": node.load,
        "io_wait_percent": _rounded(node.io_wait_percent),
        "received_bytes_per_s": _rounded(node.received_per_s),
        "sent_bytes_per_s": _rounded(node.sent_per_s),
        "unavailable": list(report.unavailable),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
