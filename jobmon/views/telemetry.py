"""What agents measured, as short texts and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.views.model import age, clock, fields, known_fields, rounded
from jobmon_core.app.jobs.find import StateGroup
from jobmon_core.domain.humanize import count, joined, size, text_of
from jobmon_core.domain.node.telemetry.model import GONE, WorkerStatus
from jobmon_core.domain.node.telemetry.summary import (
    HIGH_MEMORY,
    all_gpus,
    all_workers,
    fullest_memory,
    gpu_marks,
    gpu_name,
    gpu_summary,
    gpu_use,
    is_current,
    oom_kills,
    status_counts,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jobmon.views.console import Lines
    from jobmon.views.model import Json
    from jobmon_core.app.live.tasks import LiveTask
    from jobmon_core.domain.node.telemetry.model import AgentReport, Cpu, Gpu, Sample, Worker
    from jobmon_core.domain.node.telemetry.summary import NodeWorker


_KW = 1000.0
_CLEARLY_LOWER = 10.0  # percentage points
_THROTTLED_PERCENT = 0.5  # less would be shown as 0%
_NAMED = 4  # ranks of workers that are gone
_MB = 2**20  # as nvidia-smi counts
_OF_PROBLEM = ("kind", "subject", "text", "advice", "evidence", "is_critical")  # in JSON


def percent(value: float | None) -> str:
    """Return e.g. ``87%``; empty if it is not available."""
    return text_of(value, "{:.0f}%".format)


def power(watts: float | None) -> str:
    """Return e.g. ``310 W`` or ``1.2 kW``; empty if it is not available."""
    if watts is None:
        return ""
    if watts >= _KW:
        return f"{watts / _KW:.1f} kW"
    return f"{watts:.0f} W"


def of_total(used: float, total: float | None) -> str:
    """Return e.g. ``61.0 of 80.0 GiB``; without a total ``61.0 GiB``."""
    if not total:
        return size(used)
    text, whole = size(used), size(total)
    unit = whole.rpartition(" ")[2]
    return f"{text.removesuffix(f' {unit}')} of {whole}"


def gpus_short(reports: Sequence[AgentReport]) -> str:
    """Return e.g. ``4x 87%``, of a single GPU ``87%``."""
    found = gpu_summary(reports)
    if found is None:
        return ""
    used = percent(found.mean_percent) or "?"
    if found.number > 1:
        return f"{found.number}x {used}"
    return used


def gpus_text(reports: Sequence[AgentReport]) -> str:
    """Return e.g. ``4x 73% (lowest 3%: GPU 2), up to 61.0 of 80.0 GiB, 1.2 kW``."""
    found = gpu_summary(reports)
    if found is None:
        return ""
    used = percent(found.mean_percent) or "utilisation not available"
    text = used if found.number == 1 else f"{found.number}x {used}"
    if found.lowest and found.mean_percent is not None:
        lowest = found.lowest.gpu.utilization_percent or 0.0
        if found.mean_percent - lowest >= _CLEARLY_LOWER:
            text += f" (lowest {percent(lowest)}: {gpu_name(found.lowest, reports)})"
    memory = gpu_memory(found.fullest.gpu) if found.fullest else ""
    if memory and found.number > 1:
        memory = f"up to {memory}"
    return joined(text, memory, power(found.power_w))


def gpu_memory(gpu: Gpu) -> str:
    """Return e.g. ``61.0 of 80.0 GiB``."""
    if gpu.memory is None:
        return ""
    return of_total(gpu.memory, gpu.memory_total)


def temperature(gpu: Gpu) -> str:
    """Return e.g. ``64 C``."""
    if gpu.temperature_c is None:
        return ""
    return f"{gpu.temperature_c:.0f} C"


def gpu_marks_texts(reports: Sequence[AgentReport]) -> Lines:
    """Yield what is notable about GPUs, e.g. ``idle: GPU 0, GPU 2``."""
    marked: dict[str, list[str]] = {}
    gpus = all_gpus(reports)
    for each in gpus:
        for mark in gpu_marks(each.gpu):
            marked.setdefault(mark, []).append(gpu_name(each, reports))
    for mark, names in marked.items():
        yield f"{mark}: {'all' if 1 < len(names) == len(gpus) else ', '.join(names)}"


def memory_text(reports: Sequence[AgentReport]) -> str:
    """Return e.g. ``52.0 of 64.0 GiB (81%)`` of the node closest to its limit."""
    found = fullest_memory(reports)
    if found is None:
        return ""
    node, memory = found
    text = of_total(memory.used, memory.limit)
    if memory.share is not None:
        text += f" ({memory.share:.0%})"
    if len(reports) > 1:
        text += f" on {node}"
    if kills := oom_kills(reports):
        text += f", {count(kills, 'OOM kill')}"
    return text


def is_memory_scarce(reports: Sequence[AgentReport]) -> bool:
    """Whether a task is close to the limit of its memory, or lost a process to the OOM killer."""
    found = fullest_memory(reports)
    return bool(found and (found[1].share or 0.0) >= HIGH_MEMORY) or oom_kills(reports) > 0


def workers_text(reports: Sequence[AgentReport]) -> str:
    """Return e.g. ``8 running``, ``8: 1 zombie (rank 3), 7 running``; of one worker also its figures."""
    workers = all_workers(reports)
    if len(workers) == 1:
        return _worker_text(workers[0].worker)
    counted = status_counts(workers)
    # a worker that sleeps for a moment runs as usual; its own row shows it
    counted[WorkerStatus.RUNNING] += counted.pop(WorkerStatus.SLEEPING, 0)
    counted = +counted
    parts = [
        f"{counted[status]} {status_text(status)}{_which(workers, status)}"
        for status in sorted(counted, key=lambda each: (each not in GONE, each))
    ]
    return (f"{len(workers)}: " if len(parts) > 1 else "") + ", ".join(parts)


def _worker_text(worker: Worker) -> str:
    parts = [worker.name or worker_name(worker), status_text(worker.status)]
    if worker.cpu_percent is not None:
        parts.append(f"{percent(worker.cpu_percent)} CPU")
    if worker.memory is not None:
        parts.append(size(worker.memory))
    return ", ".join(parts)


def status_text(status: WorkerStatus) -> str:
    """Return a status as it is shown, e.g. ``not found``."""
    return status.replace("_", " ")


def _which(workers: Sequence[NodeWorker], status: WorkerStatus) -> str:
    """Return the ranks of workers that are gone, e.g. `` (rank 3)``."""
    ranks = [each.worker.rank for each in workers if each.worker.status is status]
    known = [str(rank) for rank in ranks if rank is not None]
    if status not in GONE or not known or len(workers) == 1:
        return ""
    named = ", ".join([*known[:_NAMED], *(["..."] if len(known) > _NAMED else [])])
    return f" (rank{'s' if len(known) > 1 else ''} {named})"


def worker_name(worker: Worker) -> str:
    """Return ``rank 3``, else the program or the PID."""
    return worker.name or f"PID {worker.pid}" if worker.rank is None else f"rank {worker.rank}"


def cpu_text(cpu: Cpu | None) -> str:
    """Return e.g. ``15.2 of 16 cores, throttled 12%``."""
    if cpu is None or cpu.used_percent is None:
        return ""
    text = f"{cpu.used_percent / 100:.1f} of {cpu.cores:g} cores"
    if is_throttled(cpu):
        text += f", throttled {percent(cpu.throttled_percent)}"
    return text


def is_throttled(cpu: Cpu) -> bool:
    """Whether the quota of the CPUs noticeably holds a task back."""
    return (cpu.throttled_percent or 0.0) >= _THROTTLED_PERCENT


def node_parts(sample: Sample) -> Lines:
    """Yield what is known of a node: the task's CPUs, the load, I/O wait, the network."""
    node = sample.node
    yield cpu_text(sample.cpu)
    if node.load is not None:
        yield f"load {node.load:.1f}" + (f" on {count(node.cores, 'core')}" if node.cores else "")
    if node.io_wait_percent is not None:
        yield f"I/O wait {percent(node.io_wait_percent)}"
    yield network_text(sample)


def network_text(sample: Sample) -> str:
    """Return e.g. ``in 1.2 MiB/s, out 3.0 KiB/s``."""
    rates = {"in": sample.node.received_per_s, "out": sample.node.sent_per_s}
    return ", ".join(f"{name} {size(per_s)}/s" for name, per_s in rates.items() if per_s is not None)


def silence_text(report: AgentReport, now_s: float) -> str:
    """Return when a silent agent last reported, and whether it has ended."""
    at_s = report.latest.at_s
    since = f"{clock(at_s, now_s, seconds=True)} ({age(max(0.0, now_s - at_s))} ago)"
    return f"no report since {since}" if report.ended_s is None else f"agent ended, last report {since}"


def silence_texts(reports: Sequence[AgentReport], now_s: float) -> str:
    """Return when the first silent agent last reported, and how many others are silent."""
    silent = [each for each in reports if not is_current(each, now_s)]
    if not silent:
        return ""
    text = silence_text(silent[0], now_s)
    if len(reports) > 1:
        text = f"{silent[0].latest.node.name}: {text}"
    if len(silent) > 1:
        text += f"; likewise {count(len(silent) - 1, 'other node')}"
    return text


def live_json(tasks: Iterable[LiveTask], now_s: float) -> Json:
    """Return the keys ``problems``, ``workers``, ``gpus`` and ``nodes``, about the tasks that run.

    The last three are null if no agent has reported about any of them.
    """
    running = [live for live in tasks if live.group is StateGroup.RUNNING]
    reported = [live for live in running if live.reports]
    problems = [
        {"job_id": live.ref, **fields(event, *_OF_PROBLEM, since="at_s")}
        for live in running
        for event in live.ongoing
    ]
    if not reported:
        return {"problems": problems, "workers": None, "gpus": None, "nodes": None}
    workers: list[Json] = []
    gpus: list[Json] = []
    nodes: list[Json] = []
    for live in reported:
        about = {"job_id": live.ref}
        workers += [about | _worker(each, live.reports) for each in all_workers(live.reports)]
        gpus += [about | {"node": each.node} | _gpu(each.gpu) for each in all_gpus(live.reports)]
        nodes += [about | _node(report, now_s) for report in live.reports]
    return {"problems": problems, "workers": workers, "gpus": gpus, "nodes": nodes}


def _worker(placed: NodeWorker, reports: Sequence[AgentReport]) -> Json:
    worker = placed.worker
    utilization, memory = gpu_use(placed, reports)
    return {
        "node": placed.node,
        **fields(worker, "rank", "name", "status", "children", "threads", gpu_ids="gpus"),
        **known_fields(worker, "pid"),
        "gpu_id": worker.gpus[0] if worker.gpus else None,
        "gpu_util": rounded(utilization),
        "gpu_memory_mb": None if memory is None else round(memory / _MB),
        "uptime": rounded(placed.uptime_s),
        **fields(worker, memory_bytes="memory", last_activity="last_activity_s"),
        **_measured(
            worker, "cpu_percent", read_bytes_per_s="read_per_s", written_bytes_per_s="written_per_s"
        ),
    }


def _gpu(gpu: Gpu) -> Json:
    return {
        **fields(gpu, "name", "temperature_c", "other_processes", gpu_id="index", pids="own_pids"),
        **fields(gpu, memory_bytes="memory", memory_total_bytes="memory_total"),
        **_measured(gpu, gpu_util="utilization_percent", sm_util="sm_percent", tensor_util="tensor_percent"),
        **_measured(gpu, "power_w"),
        "marks": list(gpu_marks(gpu)),
    }


def _node(report: AgentReport, now_s: float) -> Json:
    latest = report.latest
    node = latest.node
    return {
        **fields(node, "load", node="name"),
        **fields(latest, as_of="at_s"),
        "is_current": is_current(report, now_s),
        **fields(latest.memory, "oom_kills", memory_bytes="used", memory_limit_bytes="limit"),
        **fields(latest.cpu, "cores"),
        **_measured(latest.cpu, "throttled_percent", cpu_percent="used_percent"),
        **_measured(node, "io_wait_percent", received_bytes_per_s="received_per_s"),
        **_measured(node, sent_bytes_per_s="sent_per_s"),
        **fields(report, "unavailable"),
    }


def _measured(record: object, *names: str, **renamed: str) -> Json:
    return {key: rounded(value) for key, value in fields(record, *names, **renamed).items()}
