"""What is wrong with running tasks and what agents measured of them, as JSON for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jobmon_core.app.jobs.selection import Group
from jobmon_core.domain.telemetry.summary import all_gpus, all_workers, gpu_marks, gpu_use, is_current

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.domain.progress.events.event import Event
    from jobmon_core.domain.telemetry.model import AgentReport, Gpu
    from jobmon_core.domain.telemetry.summary import NodeWorker

_MB = 2**20  # as nvidia-smi counts


def live_json(tasks: Iterable[LiveTask], now_s: float) -> dict[str, Any]:
    """Return the documented keys ``problems``, ``workers``, ``gpus`` and ``nodes``.

    They are about the tasks that run; the last three are null if no agent has reported about any of them.
    """
    running = [live for live in tasks if live.group is Group.RUNNING]
    reported = [live for live in running if live.reports]
    problems = [{"job_id": live.ref, **_problem(event)} for live in running for event in live.ongoing]
    if not reported:
        return {"problems": problems, "workers": None, "gpus": None, "nodes": None}
    return {
        "problems": problems,
        "workers": [
            {"job_id": live.ref, **_worker(worker, live.reports)}
            for live in reported
            for worker in all_workers(live.reports)
        ],
        "gpus": [
            {"job_id": live.ref, "node": placed.node, **_gpu(placed.gpu)}
            for live in reported
            for placed in all_gpus(live.reports)
        ],
        "nodes": [
            {"job_id": live.ref, **_node(report, now_s)} for live in reported for report in live.reports
        ],
    }


def _problem(event: Event) -> dict[str, Any]:
    return {
        "kind": event.kind,
        "subject": event.subject,
        "text": event.text,
        "advice": event.advice,
        "evidence": list(event.evidence),
        "is_critical": event.is_critical,
        "since": event.at_s,
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
