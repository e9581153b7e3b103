"""The parts of a diagnostics bundle about the job."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from enum import StrEnum

from jobmon_core.domain.backends import DEFAULT_BACKEND
from jobmon_core.domain.humanize import duration, size
from jobmon_core.domain.job.tracking.model import End, Task, WatchedJob
from jobmon_core.domain.logs.diagnosis.model import Diagnosis
from jobmon_core.domain.many.bundle.text import Part, utc
from jobmon_core.domain.redaction import HIDDEN, redacted
from jobmon_core.domain.slurm.rows import GpuUsage, JobRow, Usage
from jobmon_core.domain.slurm.states import stated_reason

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
