"""The parts of a diagnostics bundle about the run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from jobmon_core.domain.artifacts.model import Artifacts
from jobmon_core.domain.humanize import count, duration, number, size
from jobmon_core.domain.logs.progress.events.event import Event
from jobmon_core.domain.logs.progress.model import Progress, TaskProgress
from jobmon_core.domain.many.bundle.text import Part, utc
from jobmon_core.domain.node.telemetry.model import AgentReport, Gpu, Worker
from jobmon_core.domain.redaction import redacted

LAST_LINES = 50  # of each log
_MAX_FILES = 40


def workers_part(followed: TaskProgress, reports: Sequence[AgentReport]) -> Part:
    """Return the workers of a task, by their logs and as the agents beside it saw them last."""
    lines = [f"the whole task: {_position(followed.progress)}"]
    for name, worker in followed.workers.items():
        lines.append(f"{name}: {_position(worker.progress)}, last wrote {utc(worker.written_s) or '?'}")
    for report in reports:
        node = report.latest.node.name or "?"
        lines += [f"{node}: {_worker(each)}" for each in report.latest.workers]
    return Part("Workers", lines)


def files_part(found: Artifacts) -> Part:
    """Return the outputs, checkpoints and disk of a task, as of the last look."""
    lines: list[str] = []
    if outputs := found.outputs:
        problem = f" ({outputs.problem})" if outputs.problem else ""
        lines.append(
            f"outputs: {count(outputs.count, 'file')}, {size(outputs.total.size_bytes)}, "
            f"in {outputs.folder}{problem}"
        )
        lines += [
            f"  {file.name}: {size(file.growth.size_bytes)}, written {utc(file.growth.modified_s)}"
            for file in outputs.files[:_MAX_FILES]
        ]
    if saved := found.checkpoints:
        newest = f", newest {saved.newest.name} of {utc(saved.newest.modified_s)}" if saved.newest else ""
        problem = f" ({saved.problem})" if saved.problem else ""
        every = f", one every {duration(saved.interval_s)}" if saved.interval_s else ""
        lines.append(f"checkpoints: {saved.count} saved{newest}{every}, in {saved.folder}{problem}")
    if found.disk:
        lines.append(f"disk: {size(found.disk.free_bytes)} of {size(found.disk.total_bytes)} free")
    if found.looked_s and lines:
        lines.append(f"as of {utc(found.looked_s)}")
    return Part("Outputs and checkpoints", lines or ["no folder of outputs or checkpoints is known"])


def telemetry_part(reports: Sequence[AgentReport]) -> Part:
    """Return what the agents beside a task measured last."""
    lines = [line for report in reports for line in _report(report)]
    return Part("Last telemetry", lines or ["no agent reported"])


def events_part(events: Iterable[Event], key: str) -> Part:
    """Return the events of a task and of its whole job, oldest first."""
    own = (event for event in events if event.task in ("", key))
    lines = [f"{utc(event.at_s)}  {event.kind}: {redacted(event.text or event.title)}" for event in own]
    return Part("Events", lines or ["none"], keeps_end=True)


def log_part(path: str, redacted_lines: Sequence[str], problem: str) -> Part:
    """Return the end of a log, whose lines hold no secrets; ``problem`` says why there are none."""
    lines = redacted_lines[-LAST_LINES:] or [f"({problem or 'no lines of this run'})"]
    return Part(
        f"Last {LAST_LINES} lines of {path or 'a log whose path is not known'}", lines, keeps_end=True
    )


def _position(progress: Progress | None) -> str:
    if progress is None:
        return "no progress in its log"
    total = f" of {number(progress.total)}" if progress.total else ""
    loss = f", loss {progress.loss:g}" if progress.loss is not None else ""
    return f"{progress.unit or 'count'} {number(progress.current)}{total}{loss}"


def _worker(worker: Worker) -> str:
    parts = (
        f"pid {worker.pid}",
        f"rank {worker.rank}" if worker.rank is not None else "",
        redacted(worker.name),
        worker.status,
        f"CPU {worker.cpu_percent:.0f}%" if worker.cpu_percent is not None else "",
        f"memory {size(worker.memory)}" if worker.memory is not None else "",
        f"GPUs {','.join(map(str, worker.gpus))}" if worker.gpus else "",
        f"last active {utc(worker.last_activity_s)}" if worker.last_activity_s else "",
    )
    return ", ".join(filter(None, parts))


def _report(report: AgentReport) -> Iterator[str]:
    sample = report.latest
    cpu, memory, node = sample.cpu, sample.memory, sample.node
    yield f"{node.name or '?'}, as of {utc(sample.at_s) or '?'}:"
    if cpu and cpu.used_percent is not None:
        yield f"  CPU of the task: {cpu.used_percent:.0f}% of one core, {cpu.cores:g} cores allowed"
    if memory:
        limit = f" of {size(memory.limit)}" if memory.limit else ""
        kills = f", {memory.oom_kills} processes killed because memory ran out" if memory.oom_kills else ""
        yield f"  memory of the task: {size(memory.used)}{limit}{kills}"
    if node.load is not None:
        yield f"  load of the node: {node.load:.1f} on {node.cores} cores"
    for disk in sample.disks:
        yield f"  disk of {disk.path}: {size(disk.free_bytes)} of {size(disk.total_bytes)} free"
    for gpu in sample.gpus:
        yield f"  GPU {gpu.index} {gpu.name}: {_gpu(gpu)}"
    if report.unavailable:
        yield f"  not measured: {'; '.join(report.unavailable)}"


def _gpu(gpu: Gpu) -> str:
    parts = (
        f"{gpu.utilization_percent:.0f}% busy"
        if gpu.utilization_percent is not None
        else "utilisation not available",
        f"{size(gpu.memory)} of {size(gpu.memory_total)}"
        if gpu.memory is not None and gpu.memory_total
        else "",
        f"{gpu.power_w:.0f} W" if gpu.power_w is not None else "",
        f"{gpu.temperature_c:.0f} °C" if gpu.temperature_c is not None else "",
        f"throttled ({', '.join(gpu.throttle_reasons)})" if gpu.throttle_reasons else "",
        f"XIDs {', '.join(map(str, gpu.xids))}" if gpu.xids else "",
        "lost" if gpu.is_lost else "",
    )
    return ", ".join(filter(None, parts))
