"""Where a job's logs are: told by Slurm, then by the script, then by sbatch's defaults."""

from __future__ import annotations

import glob
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.log_paths import PathContext, expand, templates_from_record
from jobmon_core.domain.slurm.sbatch_directives import script_directives
from jobmon_core.domain.tracking.model import LogPaths, Task, WatchedJob

if TYPE_CHECKING:
    from jobmon_core.domain.slurm.rows import Record
    from jobmon_core.scheduler.base import Scheduler

BY_USER = "the user"
BY_SLURM = "Slurm"
BY_SCRIPT = "the script"
_SCRIPT_AT_MOST = 4 * 1024 * 1024  # bytes; sbatch takes no longer one
_OLDEST = (20, 11)  # of Slurm, whose file names know the fewest letters
_ANY_NODE = "\0"  # which no path can hold


def learn_logs(job: WatchedJob, records: tuple[Record, ...], scheduler: Scheduler) -> WatchedJob:
    """Take the log templates from what the scheduler says; what the user said stands."""
    if job.logs.source == BY_USER or not records:
        return job
    first = records[0]
    stdout, stderr = first.stdout, first.stderr
    found = None
    # scontrol expands what it knows, and a path with a backslash wrongly; of an array it shows one for all
    if _has_tasks(job) or any(mark in stdout + stderr for mark in "%\\"):
        found = scheduler.ask_log_templates(job.job_id)
    if found is None and not stdout:
        return job
    if found is None:
        workdir = first.workdir or job.workdir
        found = templates_from_record(stdout, stderr, workdir, is_array=_has_tasks(job), job_id=job.job_id)
    return replace(job, logs=LogPaths(found.stdout, found.stderr, BY_SLURM))


def with_script_logs(job: WatchedJob, scheduler: Scheduler) -> WatchedJob:
    """Fall back on the directives of the job's script where Slurm forgot the job before it was asked."""
    if job.logs.source:
        return job
    directives = script_directives(scheduler.script_of(job.job_id) or _own_copy(job.command))
    found = templates_from_record(
        directives.output or "",
        directives.error or "",
        directives.chdir or job.workdir,
        is_array=_has_tasks(job),
        job_id=job.job_id,
    )
    return replace(job, logs=LogPaths(found.stdout, found.stderr, BY_SCRIPT))


def log_files(job: WatchedJob, task: Task) -> tuple[str, str]:
    """Return the paths of one part's stdout and stderr."""
    return _found(job, task, job.logs.stdout), _found(job, task, job.logs.stderr)


def _has_tasks(job: WatchedJob) -> bool:
    return bool(job.array_indices) or job.watched_part.isdigit()


def _own_copy(command: str) -> str:
    script = Path(command)
    try:
        if not (command.startswith("/") and script.is_file()):  # `sbatch <(generate)` left a pipe's name
            return ""
        with script.open("rb") as file:
            return file.read(_SCRIPT_AT_MOST).decode(errors="replace")
    except OSError:
        return ""  # edited away since: sbatch's defaults are the next best guess


def _found(job: WatchedJob, task: Task, template: str) -> str:
    """Expand one template; where a letter depends on the host or on Slurm's version, the file decides."""
    context = _context(job, task)
    for known in (context, replace(context, version=_OLDEST)):
        path = expand(template, known)
        if os.path.exists(path):  # noqa: PTH110 - Path's raises for a closed folder
            return path
        # %N is the host's own name, which a cluster may call otherwise
        anywhere = expand(template, replace(known, node=_ANY_NODE))
        pattern = glob.escape(anywhere).replace(_ANY_NODE, "*")
        matches = glob.glob(pattern)  # noqa: PTH207 - pathlib can not glob from the root
        if len(matches) == 1:
            return matches[0]
    return expand(template, context)


def _context(job: WatchedJob, task: Task) -> PathContext:
    node = _first_node(task.nodes) or job.batch_host
    return PathContext(
        # the script of a heterogeneous job runs once, in the component that has the job's own id
        job_id=job.job_id if task.key.startswith("+") else task.raw_job_id or job.job_id,
        array_job_id=job.job_id if task.key.isdigit() else None,
        array_task=int(task.key) if task.key.isdigit() else None,
        user=job.user,
        job_name=job.name,
        node=node.split(".", 1)[0],
        restart=task.restarts,
    )


def _first_node(nodes: str) -> str:
    """Return the first name of a host list, e.g. ``n1`` of ``n[1-3,7]``, with its leading zeros."""
    head, bracket, rest = nodes.partition("[")
    if not bracket:
        return nodes.split(",", 1)[0]
    if "," in head:
        return head.split(",", 1)[0]
    return head + rest.split("]", 1)[0].split(",", 1)[0].split("-", 1)[0]
