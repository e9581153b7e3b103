"""The diagnostics bundle: what jobmon knows about a job that failed, as one text of bounded size."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from enum import StrEnum
from typing import NamedTuple

from jobmon_core.domain.artifacts.model import Artifacts
from jobmon_core.domain.backends import DEFAULT_BACKEND
from jobmon_core.domain.humanize import count, duration, number, size
from jobmon_core.domain.job.tracking.model import End, Task, WatchedJob
from jobmon_core.domain.logs.diagnosis.model import Diagnosis
from jobmon_core.domain.logs.progress.events.event import Event
from jobmon_core.domain.logs.progress.model import Progress, TaskProgress
from jobmon_core.domain.node.telemetry.model import AgentReport, Gpu, Worker
from jobmon_core.domain.redaction import HIDDEN, redacted
from jobmon_core.domain.slurm.rows import GpuUsage, JobRow, Usage
from jobmon_core.domain.slurm.states import stated_reason
from jobmon_core.domain.visible_text import one_line, visible

MAX_BYTES = 256 * 1024  # of the whole file
_MAX_PART_BYTES = 48 * 1024
_MAX_LINE = 1000  # characters
_NOTHING = "(nothing known)"
_CUT = "[cut here: the diagnostics file is full]"
_LATEST_S = 253_402_300_800  # the year 10000, which ISO 8601 cannot write


class Part(NamedTuple):
    """One part of a bundle. Its lines hold no secrets."""

    title: str
    lines: Sequence[str]
    keeps_end: bool = False  # if it is too long, its end says more than its beginning


def bundle_text(heading: Sequence[str], parts: Iterable[Part]) -> str:
    """Return the text of a bundle, at most `MAX_BYTES` bytes of UTF-8."""
    blocks = ["\n".join(map(one_line, heading))]
    blocks += [f"== {one_line(part.title)}\n{_body(part)}" for part in parts]
    data = ("\n\n".join(blocks) + "\n").encode(errors="replace")
    if len(data) <= MAX_BYTES:
        return data.decode()
    kept = data[: MAX_BYTES - len(_CUT) - 2].decode(errors="ignore")
    return f"{kept}\n{_CUT}\n"


def _body(part: Part) -> str:
    lines = [_shortened(line) for line in part.lines] or [_NOTHING]
    shown: list[str] = []
    room = _MAX_PART_BYTES
    for line in reversed(lines) if part.keeps_end else lines:
        room -= len(line.encode(errors="replace")) + 1
        if room < 0:
            break
        shown.append(line)
    hidden = len(lines) - len(shown)
    left_out = [f"[{count(hidden, 'line')} left out]"] if hidden else []
    return "\n".join([*left_out, *reversed(shown)] if part.keeps_end else [*shown, *left_out])


def _shortened(line: str) -> str:
    line = visible(line.expandtabs()).replace("\n", " ")
    return line if len(line) <= _MAX_LINE else f"{line[:_MAX_LINE]} [...]"


def utc(at_s: float | None) -> str:
    """Return a time as ISO 8601 in UTC; empty if it is None, not positive or after 9999."""
    if at_s is None or not 0 < at_s < _LATEST_S:
        return ""
    return datetime.fromtimestamp(int(at_s), tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# fields that hold a duration in seconds; any other field that ends with ``_s`` holds a time
_DURATIONS = ("elapsed_s", "run_s", "limit_s", "cpu_s", "step_cpu_s", "measured_s")
# variables whose values explain failures and are no secrets; of all others, only the name is shown
_SHOWN = re.compile(
    r"PATH|LD_LIBRARY_PATH|VIRTUAL_ENV|CONDA_(?:DEFAULT_ENV|PREFIX)|LOADEDMODULES|HOSTNAME|TMPDIR|SHELL|LANG"
    r"|LC_(?:ALL|CTYPE|COLLATE|MESSAGES|MONETARY|NUMERIC|TIME)|MASTER_(?:ADDR|PORT)|WORLD_SIZE|(?:LOCAL_)?RANK"
    r"|PYTHON(?:PATH|HOME|UNBUFFERED|HASHSEED|FAULTHANDLER|NOUSERSITE|USERBASE|UTF8|IOENCODING|MALLOC|OPTIMIZE"
    r"|DONTWRITEBYTECODE|WARNINGS)"
    r"|SLURM_(?:CONF|CLUSTERS|CLUSTER_NAME|JOB_?ID|STEP_?ID|RESTART_COUNT|SUBMIT_(?:DIR|HOST)|NNODES|NTASKS|NPROCS"
    r"|JOB_(?:NAME|NODELIST|NUM_NODES|PARTITION|QOS|ACCOUNT|GPUS|CPUS_PER_NODE|USER|(?:START|END)_TIME)"
    r"|NODELIST|NODEID|PROCID|LOCALID|TASKS_PER_NODE|NTASKS_PER_(?:NODE|SOCKET|CORE|GPU)"
    r"|CPUS_(?:ON_NODE|PER_TASK|PER_GPU)|GPUS(?:_ON_NODE|_PER_NODE|_PER_TASK)?|MEM_PER_(?:NODE|CPU|GPU)"
    r"|ARRAY_JOB_ID|ARRAY_TASK_(?:ID|COUNT|MIN|MAX|STEP))|SLURMD_NODENAME"
    r"|SBATCH_(?:ACCOUNT|PARTITION|QOS|TIMELIMIT|GRES|GPUS|CONSTRAINT|RESERVATION|REQUEUE|NO_REQUEUE|EXCLUSIVE)"
    r"|CUDA_(?:VISIBLE_DEVICES|DEVICE_ORDER|LAUNCH_BLOCKING|HOME|PATH|MODULE_LOADING|CACHE_PATH)"
    r"|NVIDIA_(?:VISIBLE_DEVICES|DRIVER_CAPABILITIES)|(?:ROCR|HIP)_VISIBLE_DEVICES"
    r"|(?:NCCL|RCCL|UCX|OMP|GOMP|KMP|MKL|OPENBLAS|OMPI_MCA)_\w+|I_MPI_(?:FABRICS|DEBUG|ROOT|PMI_LIBRARY)"
    r"|PYTORCH_(?:CUDA_|HIP_)?ALLOC_CONF|TORCH_(?:HOME|CUDA_ARCH_LIST|DISTRIBUTED_DEBUG|NCCL_\w+)"
    r"|XLA_(?:FLAGS|PYTHON_CLIENT_(?:MEM_FRACTION|PREALLOCATE|ALLOCATOR))|JAX_(?:PLATFORMS|ENABLE_X64)"
    r"|TF_(?:FORCE_GPU_ALLOW_GROWTH|GPU_ALLOCATOR|CPP_MIN_LOG_LEVEL|ENABLE_ONEDNN_OPTS)"
)
_SECRET = re.compile(
    r"TOKEN|SECRET|PASS|JWT|CRED|COOKIE|WEBHOOK|AUTH|(?:_|^)(?:KEYS?|PATS?|PW|PWD)(?:_|$)", re.IGNORECASE
)


def heading(job: WatchedJob, task: Task, now_s: float, version: str) -> list[str]:
    """Return the first lines of a bundle."""
    ref = f"{job.job_id}{'_' if task.key.isdigit() else ''}{task.key}"
    return [
        f"jobmon diagnostics of job {ref} ({job.name or 'without a name'})",
        f"written {utc(now_s)} by jobmon {version}; all times are UTC; secrets are replaced by {HIDDEN}",
    ]


def diagnosis_part(diagnosis: Diagnosis | None) -> Part:
    """Return the diagnosis and its evidence."""
    if diagnosis is None:
        return Part("Diagnosis", ())
    texts = {
        "what happened": diagnosis.headline,
        "title": diagnosis.title if diagnosis.what_failed else "",
        "explanation": diagnosis.explanation,
        "what to do": diagnosis.advice,
        "cause": diagnosis.cause or "",
        "also seen": "; ".join(diagnosis.also_seen),
        "how far it came": diagnosis.work,
        "changed since it last worked": diagnosis.changes,
        "outputs": diagnosis.outputs,
        "note": diagnosis.note,
        "log": diagnosis.log_path,
    }
    evidence = [f"  {line.number or '?'}: {line.text}" for line in diagnosis.evidence]
    proof = ["proof:" if diagnosis.is_proved else "end of the log:", *evidence] if evidence else []
    return Part("Diagnosis", [*_facts(texts), *proof])


def slurm_part(job: WatchedJob, task: Task) -> Part:
    """Return the end of a task, and the records of it that slurmctld and accounting gave."""
    lines = [
        *_facts({name: getattr(job, name) for name in ("cluster", "partition", "user", "workdir", "command")})
    ]
    if task.end:
        lines += ["", "the end, as jobmon reports it:", *_record(task.end)]
    inquiry = task.inquiry
    if inquiry and inquiry.record:
        lines += ["", "slurmctld's record (scontrol show job):", *_record(inquiry.record)]
    if inquiry and inquiry.row:
        lines += ["", "accounting's record (sacct):", *_record(inquiry.row)]
    return Part("Slurm's record" if job.backend == DEFAULT_BACKEND else "The scheduler's record", lines)


def history_part(task: Task) -> Part:
    """Return the states of a task, oldest first."""
    lines = [
        f"{utc(change.at_s)}  {change.state}"
        + (f" ({reason})" if (reason := stated_reason(change.reason)) else "")
        for change in task.history
    ]
    return Part("States", lines)


def environment_part(environ: Mapping[str, str]) -> Part:
    """Return the environment of the monitor: the values that explain failures, of the others the names."""
    shown = [name for name in sorted(environ) if _SHOWN.fullmatch(name) and not _SECRET.search(name)]
    names = ", ".join(name for name in sorted(environ) if name not in shown)
    return Part(
        "Environment of the monitor (that of the command that started it; the job's may differ)",
        [*(redacted(f"{name}={environ[name]}") for name in shown), f"also set, values not shown: {names}"],
    )


def _record(record: End | JobRow | Usage | GpuUsage) -> Iterator[str]:
    """Yield the known fields of a record, without those that are true or false, as ``name: value``."""
    for each in fields(record):
        name, value = each.name, getattr(record, each.name)
        if isinstance(value, Usage | GpuUsage):
            yield from _record(value)
        elif value not in (None, "", (), {}) and not isinstance(value, bool):
            yield f"  {name}: {redacted(_value(name, value))}"


def _value(name: str, value: object) -> str:
    if isinstance(value, StrEnum) or not isinstance(value, int | float):
        return str(value)
    if name.endswith("_bytes"):
        return size(value)
    if name in _DURATIONS:
        return duration(value)
    return utc(value) if name.endswith("_s") else str(value)


def _facts(texts: Mapping[str, str]) -> Iterator[str]:
    return (f"{name}: {redacted(text)}" for name, text in texts.items() if text)


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
