"""The parts of a diagnostics bundle about the job: diagnosis, Slurm's record, states, environment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from enum import StrEnum

from jobmon_core.domain.backends import DEFAULT_BACKEND
from jobmon_core.domain.bundle.text import Part, utc
from jobmon_core.domain.diagnosis.model import Diagnosis
from jobmon_core.domain.humanize import duration, size
from jobmon_core.domain.redaction import HIDDEN, redacted
from jobmon_core.domain.slurm.rows import DetailedRow, Usage
from jobmon_core.domain.slurm.states import stated_reason
from jobmon_core.domain.tracking.model import End, Task, WatchedJob

# variables whose values explain failures and are no secrets; of all others, only the name is shown
_SHOWN = re.compile(
    r"(?:SLURM|SBATCH|CUDA|NVIDIA|ROCR|HIP|NCCL|RCCL|UCX|OMPI|I_MPI|PMIX|OMP|MKL|OPENBLAS|KMP|GOMP|PYTORCH|TORCH"
    r"|XLA|JAX|TF|LC)_\w+"
    r"|PATH|LD_LIBRARY_PATH|PYTHON\w+|VIRTUAL_ENV|CONDA_(?:DEFAULT_ENV|PREFIX)|LOADEDMODULES|HOSTNAME|LANG|TMPDIR"
    r"|SHELL|MASTER_(?:ADDR|PORT)|WORLD_SIZE|LOCAL_RANK|RANK"
)
_SECRET = re.compile(r"TOKEN|SECRET|PASS|JWT|CRED|COOKIE|WEBHOOK|AUTH|(?:_|^)KEYS?(?:_|$)", re.IGNORECASE)


def heading(job: WatchedJob, task: Task, now_s: float, version: str) -> list[str]:
    """Return the first lines of a bundle, written at ``now_s`` (Unix seconds) by a version of jobmon."""
    ref = f"{job.job_id}{'_' if task.key.isdigit() else ''}{task.key}"
    return [
        f"jobmon diagnostics of job {ref} ({job.name or 'without a name'})",
        f"written {utc(now_s)} by jobmon {version}; all times are UTC; secrets are replaced by {HIDDEN}",
    ]


def diagnosis_part(diagnosis: Diagnosis | None) -> Part:
    """Return what the analysis of the logs found."""
    if diagnosis is None:
        return Part("Diagnosis", ())
    texts = {
        "what happened": diagnosis.headline,
        "title": diagnosis.title if diagnosis.fact else "",
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
        "Environment of the monitor (that of `jobmon submit`, unless it was restarted)",
        [*(redacted(f"{name}={environ[name]}") for name in shown), f"also set, values not shown: {names}"],
    )


def _record(record: End | DetailedRow | Usage) -> Iterator[str]:
    """Yield the fields of a record that are known, as ``name: value``."""
    for each in fields(record):
        name, value = each.name, getattr(record, each.name)
        if isinstance(value, Usage):
            yield from _record(value)
        elif value not in (None, "", (), {}) and not isinstance(value, bool):
            yield f"  {name}: {redacted(_value(name, value))}"


def _value(name: str, value: object) -> str:
    if isinstance(value, StrEnum) or not isinstance(value, int | float):
        return str(value)
    if name.endswith("_bytes"):
        return size(value)
    if name in ("elapsed_s", "limit_s", "cpu_s", "step_cpu_s"):
        return duration(value)
    return utc(value) if name.endswith("_s") else str(value)


def _facts(texts: Mapping[str, str]) -> Iterator[str]:
    return (f"{name}: {redacted(text)}" for name, text in texts.items() if text)
