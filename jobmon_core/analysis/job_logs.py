"""Locate a job's logs: as the user says, else Slurm, else the job's script, else sbatch's defaults."""

from __future__ import annotations

import os
import re
import stat
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from jobmon_core.domain.backends import Machine, is_local, machine_of_files
from jobmon_core.domain.job.own_files import KILLED_TOLERANCE_S, TOLERANCE_S, Origin, OwnFiles
from jobmon_core.domain.slurm.log_paths import (
    BY_SCRIPT,
    BY_SLURM,
    BY_USER,
    PathContext,
    expand,
    literal,
    templates_from_record,
)
from jobmon_core.domain.slurm.states import JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from jobmon_core.domain.job.tracking.model import Task, WatchedJob
    from jobmon_core.domain.logs.diagnosis.log_lines import LogExcerpt
    from jobmon_core.domain.logs.diagnosis.model import EarlierLog
    from jobmon_core.domain.slurm.rows import JobRow
    from jobmon_core.scheduler.base import Scheduler
    from jobmon_core.system.helper import Helper

_MAX_SCRIPT_BYTES = 4 * 2**20  # by default sbatch accepts no larger script
_OLDEST_SLURM = (20, 11)  # expands the fewest placeholders in file names
MAX_NAMED = 64  # logs that the settings name
_ANY = "\0"  # stands for any text; no path can contain it
# jobs that ended by themselves: all others were killed, or it is not known
_NOT_KILLED = (JobState.COMPLETED, JobState.FAILED, JobState.OUT_OF_MEMORY)
_TIMEOUT_S = 10.0  # without it, the diagnosis still recognises most earlier runs


def with_scheduler_logs(job: WatchedJob, records: tuple[JobRow, ...], scheduler: Scheduler) -> WatchedJob:
    """Return the job with the log templates that the scheduler reports, unless the user set them."""
    first = next((record for record in records if job.is_own_run(record.submit_s)), None)
    if job.logs.source == BY_USER or first is None:
        return job
    stdout, stderr = first.stdout, first.stderr
    if first.paths_expanded:
        stdout, stderr = literal(stdout), literal(stderr)
    templates = None
    # for an array, scontrol shows the paths of only one of its tasks; before 25.11 it leaves some
    # placeholders as they are, and expands a backslash wrongly
    is_incomplete = not first.paths_expanded and any(character in stdout + stderr for character in "%\\")
    if _is_of_array(job) or is_incomplete:
        templates = scheduler.ask_log_templates(job.job_id)
    if templates is None:
        if not stdout:
            return job
        workdir = first.workdir or job.workdir
        templates = templates_from_record(
            stdout, stderr, workdir, is_array=_is_of_array(job), job_id=job.job_id
        )
    return replace(job, logs=replace(templates, source=BY_SLURM))


def with_script_logs(job: WatchedJob, scheduler: Scheduler) -> WatchedJob:
    """Return the job with the log templates of its script, if none are known yet."""
    if job.logs.source:
        return job
    from jobmon_core.domain.slurm.sbatch_options import script_directives  # not at the top: rarely needed

    directives = script_directives(scheduler.script_of(job.job_id) or script_of(job))
    templates = templates_from_record(
        directives.get("output", ""),
        directives.get("error", ""),
        directives.get("chdir") or job.workdir,
        is_array=_is_of_array(job),
        job_id=job.job_id,
    )
    return replace(job, logs=replace(templates, source=BY_SCRIPT))


def log_files(job: WatchedJob, task: Task) -> tuple[str, str]:
    """Return the paths of stdout and stderr of one task."""
    if own := job.task_logs.get(task.key):
        return own.stdout, own.stderr
    record = task.inquiry.record if task.inquiry else None
    has_own_paths = record and record.paths_expanded and record.ref.task is not None and record.stdout
    if record and has_own_paths and job.logs.source == BY_SLURM:
        return record.stdout, record.stderr or record.stdout
    return _expand(job, task, job.logs.stdout), _expand(job, task, job.logs.stderr)


def written_logs(job: WatchedJob, task: Task, further: Iterable[str] = ()) -> tuple[str, ...]:
    """Return stdout, stderr and ``further`` logs of a task, each once, without those that store nothing."""
    paths = (*log_files(job, task), *further)
    return tuple(dict.fromkeys(path for path in paths if path not in ("", os.devnull)))


def own_tails(job: WatchedJob, task: Task, max_bytes: int = 2**18) -> Iterator[LogExcerpt]:
    """Yield the lines of this run at the ends of stdout and stderr."""
    from jobmon_core.observe.logs.read import read_tail  # not at the top: the monitor must stay small

    for path in written_logs(job, task):
        yield read_tail(path, max_bytes).appended_to(job.earlier_logs.get(path))


def named_logs(job: WatchedJob, task: Task, own: OwnFiles | None = None) -> tuple[str, ...]:
    """Return the further logs of ``own``: those that the settings name for one task, and those of workers.

    Of more than 64, the 32 that were written first and last.
    """
    candidates = {*_globbed(job, task), *job.worker_logs}.difference(log_files(job, task))
    found = [(modified_s(path), path) for path in candidates]
    paths = [path for at_s, path in sorted(found) if at_s and (own is None or own.include(at_s))]
    # as in `rank_logs`: a worker that fails is among the first to stop writing, or the last to write
    return tuple(paths if len(paths) <= MAX_NAMED else paths[: MAX_NAMED // 2] + paths[-MAX_NAMED // 2 :])


def _globbed(job: WatchedJob, task: Task) -> list[str]:
    settings = job.own_settings
    if not settings.log_files or is_shared(job, settings.log_dir + settings.log_pattern):
        return []
    import glob  # not at the top: a waiting monitor does not load it

    folder = glob.escape(named_path(job, task, settings.log_dir) or job.workdir)
    pattern = os.path.join(folder, named_path(job, task, settings.log_name))  # noqa: PTH118 - a string, for glob
    if os.path.isabs(pattern):  # noqa: PTH117 - see `_expand`
        return glob.glob(pattern)  # noqa: PTH207 - likewise
    return []


def is_shared(job: WatchedJob, path: str) -> bool:
    """Whether all tasks of an array share a path."""
    return _is_of_array(job) and not re.search(r"%\d*[ajJ]", path)


def named_path(job: WatchedJob, task: Task, path: str) -> str:
    """Return a path, or a part of it, with Slurm's ``%`` patterns expanded."""
    return expand(path, _context(job, task))


def logs_of_run(job: WatchedJob, task: Task) -> tuple[str, ...]:
    """Return those of `named_logs` that the task's latest run wrote."""
    return named_logs(job, task, own_files(job, task))


def own_files(job: WatchedJob, task: Task, origin: Origin = Origin.NAMED) -> OwnFiles:
    """Return which files the latest run of a task wrote."""
    end = task.end
    was_killed = end is not None and end.state not in _NOT_KILLED and not is_local(job.backend)
    return OwnFiles(
        start_of_run_s(job, task),
        (end.ended_s or job.concluded_s) if end else None,
        origin,
        machine_of_files(job.backend),
        os.geteuid(),
        early_s=0.0 if is_local(job.backend) else TOLERANCE_S,  # the clock of one machine, in whole seconds
        late_s=KILLED_TOLERANCE_S if was_killed else TOLERANCE_S,
    )


def own_files_here(job: WatchedJob, task: Task) -> OwnFiles:
    """Return which logs the latest run wrote; those of other machines are copied to this."""
    return replace(own_files(job, task), machine=Machine.THIS)


def own_markers(job: WatchedJob, task: Task) -> OwnFiles:
    """Return which files the latest run wrote, without tolerance: they may prove its success."""
    return replace(own_files(job, task), early_s=0.0)


def own_files_of_runs(
    job: WatchedJob, task: Task, origin: Origin = Origin.NAMED, *, are_shared: bool
) -> OwnFiles:
    """Return which files all runs of a task wrote, or of all tasks that share them."""
    own = own_files(job, task, origin)
    if not (task.restarts or are_shared):
        return own
    own = replace(own, started_s=job.submitted_s or job.registered_s)
    if not are_shared:
        return own
    others = [own_files(job, each, origin) for each in job.tasks.values()]
    last = max(others, key=lambda each: each.until_s, default=own)
    return replace(own, ended_s=last.ended_s if job.ended else None, late_s=last.late_s)


def start_of_run_s(job: WatchedJob, task: Task) -> float:
    """Return when the task's latest run started (Unix seconds)."""
    started_s = task.end.started_s if task.end else task.start_s
    return started_s or job.submitted_s or job.registered_s


def checkpoint_folder(job: WatchedJob, task: Task) -> str:
    """Return the folder that the settings name for checkpoints, else for outputs."""
    folder = job.own_settings.checkpoint_dir or job.own_settings.output_dir
    return named_path(job, task, folder) if folder else ""


def written_by_run_s(path: str, own: OwnFiles) -> float | None:
    """Return when a path was last written, if it is one of ``own``."""
    with suppress(OSError, ValueError):
        at_s = os.stat(path).st_mtime  # noqa: PTH116 - as in the modules that read logs: paths are strings
        return at_s if own.include(at_s) else None
    return None


def last_write_s(paths: Iterable[str]) -> float | None:
    """Return when the latest of these regular files was written (Unix seconds)."""
    return max(filter(None, map(modified_s, paths)), default=None)


def modified_s(path: str) -> float:
    """Return when a regular file was written (Unix seconds); 0 for anything else."""
    try:
        status = os.stat(path)  # noqa: PTH116 - as in the modules that read logs: paths are strings
    except (OSError, ValueError):
        return 0.0
    return status.st_mtime if stat.S_ISREG(status.st_mode) else 0.0


def _is_of_array(job: WatchedJob) -> bool:
    return bool(job.array_indices) or job.watched_part.isdigit()


def script_of(job: WatchedJob) -> str:
    """Return the text of the script of a job."""
    return read_script(job.command) if job.command.startswith("/") else ""


def read_script(path: str) -> str:
    """Return the text of a job script."""
    script = Path(path)
    try:
        if not script.is_file():  # after `sbatch <(generate)` it is a pipe
            return ""
        with script.open("rb") as file:
            return file.read(_MAX_SCRIPT_BYTES).decode(errors="replace")
    except OSError:
        return ""  # removed since: sbatch's defaults are the next best guess


def _expand(job: WatchedJob, task: Task, template: str) -> str:
    """If the host or Slurm's version affects the result, prefer a path that exists."""
    import glob  # not at the top: a waiting monitor does not load it

    context = _context(job, task)
    for candidate in (context, replace(context, version=_OLDEST_SLURM)):
        path = expand(template, candidate)
        if os.path.exists(path):  # noqa: PTH110 - Path.exists raises for a folder without permission
            return path
        # %N is the host's own name, which may differ from the node name in Slurm; %S is not known
        wildcards = replace(candidate, node=_ANY, sluid=_ANY)
        pattern = glob.escape(expand(template, wildcards)).replace(_ANY, "*")
        matches = glob.glob(pattern)  # noqa: PTH207 - pathlib cannot glob from the root
        if len(matches) == 1:
            return matches[0]
    return expand(template, context)


def _context(job: WatchedJob, task: Task) -> PathContext:
    node = _first_node(task.nodes) or job.batch_host
    return PathContext(
        # the script of a heterogeneous job runs only in the component with the job's own id
        job_id=job.job_id if task.key.startswith("+") else task.raw_job_id or job.job_id,
        array_job_id=job.job_id if task.key.isdigit() else None,
        array_task=int(task.key) if task.key.isdigit() else None,
        user=job.user,
        job_name=job.name,
        node=node.split(".", 1)[0],
        restart=task.restarts,
    )


def _first_node(nodes: str) -> str:
    """Return the first name of a host list, e.g. ``n1`` for ``n[1-3,7]``."""
    head, bracket, ranges = nodes.partition("[")
    if not bracket or "," in head:
        return head.split(",", 1)[0]
    return head + re.split("[],-]", ranges, maxsplit=1)[0]


def earlier_logs_of(job: WatchedJob, helper: Helper, log: Callable[[str], None]) -> dict[str, EarlierLog]:
    """Return, by path, what the logs of a job contain before it starts."""
    # not at the top: submitting stays fast
    from jobmon_core.domain.logs.diagnosis.model import EarlierLog
    from jobmon_core.system.helper import HelperFailed

    def read_all() -> dict[str, EarlierLog]:
        from jobmon_core.observe.logs.read import read_tail  # not at the top: the monitor must stay small

        logs = (
            path for task in job.tasks.values() for path in (*log_files(job, task), *named_logs(job, task))
        )
        paths = dict.fromkeys(filter(None, logs))
        found = {path: read_tail(path).as_earlier_log() for path in paths}
        return {path: earlier for path, earlier in found.items() if earlier}

    try:
        return helper.run(dict[str, EarlierLog], read_all, _TIMEOUT_S)
    except HelperFailed as error:
        log(f"the logs could not be read before the start: {error}")
        return {}
