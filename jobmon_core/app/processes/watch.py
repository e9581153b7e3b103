"""Use case: watch processes that jobmon did not start, together as one job."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.errors import AlreadyWatched, JobmonError, UnknownJob
from jobmon_core.domain.job.tracking.apply_queue import apply_queue
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.slurm.job_ids import JobRef, compact
from jobmon_core.domain.slurm.log_paths import BY_USER, LogPaths, literal
from jobmon_core.scheduler.process.backend import PROCESS
from jobmon_core.scheduler.process.client import ProcessGroup, ProcessScheduler, WatchedProcess
from jobmon_core.scheduler.process.find import find_process, find_processes, find_started_by
from jobmon_core.scheduler.this_host import command_name
from jobmon_core.store.jobs import state_id
from jobmon_core.system.users import user_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from jobmon_core.context import Context
    from jobmon_core.domain.job.job_settings import JobSettings
    from jobmon_core.lifecycle.start import MonitorStarter

_MAX_PID = 1 << 22
_MAX_BYTES = 1 << 20  # of a file of PIDs; /dev/zero has no end
_LOOK_S = 1.0
_MAX_WORD = 40
_UNPROVABLE = "only the parent of a process learns its exit status"


class Found(NamedTuple):
    """The processes that the user means, and the PIDs of those that do not run or are watched already."""

    processes: tuple[WatchedProcess, ...]
    missing: tuple[int, ...] = ()
    watched: tuple[int, ...] = ()


def processes_with_pids(pids: Sequence[int]) -> Found:
    """Return the processes with these PIDs."""
    by_pid = {pid: find_process(pid) for pid in pids}
    missing = tuple(pid for pid, process in by_pid.items() if process is None)
    if len(missing) == len(by_pid):
        named = ", ".join(map(str, missing))
        raise UnknownJob(f"no process {named} runs on this host; `jobmon diagnose LOG` explains its log")
    found = dict.fromkeys(process for process in by_pid.values() if process)  # two ids may be threads of one
    return Found(tuple(found), missing)


def processes_of_file(path: Path) -> Found:
    """Return the processes whose PIDs are in a file, one a line."""
    try:
        with path.open("rb") as file:
            words = file.read(_MAX_BYTES).decode("ascii", "replace").split()
    except OSError as error:
        raise JobmonError(f"{path} cannot be read: {error.strerror}") from error
    invalid = next((word for word in words if not (word.isdecimal() and 0 < int(word) < _MAX_PID)), None)
    if invalid is not None or not words:
        problem = "is empty" if invalid is None else f"contains {invalid[:_MAX_WORD]!a}"
        raise JobmonError(f"{path} {problem}; expected one PID a line")
    return processes_with_pids([int(word) for word in words])


def processes_with_name(ctx: Context, name: str, settings: JobSettings | None) -> Found:
    """Return what `find_processes` finds; of those that are watched already, only the PIDs.

    Processes that have not started yet are waited for: until there are as many as ``settings`` names workers,
    but at least one, and no longer than its ``launch_timeout_s``.
    """
    wanted = (settings and settings.num_workers) or 1
    until_s = ctx.clock.now() + ((settings and settings.launch_timeout_s) or 0.0)
    while True:
        processes = find_processes(name)
        number = max(len(processes), len(find_started_by(processes, name)))
        if number >= wanted or ctx.clock.now() >= until_s:
            break
        ctx.clock.wait(_LOOK_S)
    if not processes:
        raise UnknownJob(
            f"no process of yours on this host runs a program or script named {name!r} (not counting those "
            "that jobmon started, and the shell that you are in); --pid names any process"
        )
    new = tuple(process for process in processes if _job_of(ctx, process) is None)
    if not new:
        _refuse_if_watched(ctx, processes)
    return Found(new, watched=tuple(process.id.pid for process in processes if process not in new))


def watch_processes(
    ctx: Context,
    starter: MonitorStarter,
    processes: Sequence[WatchedProcess],
    logs: Sequence[Path],
    settings: JobSettings | None,
    *,
    each: bool = False,
) -> WatchedJob:
    """Watch these processes as one job, whose id is the PID of the first.

    They are its workers, or with ``each``, the tasks of an array. ``logs`` holds one log for all processes,
    or one for each. Without any, each one's stdout and stderr are its logs if they are files.
    """
    first = processes[0]
    name = ""
    if settings:
        name = settings.name
    group = ProcessGroup(
        name or command_name(first.argv, first.workdir), tuple(processes), is_one_job=not each
    )
    paths = _logs_of(processes, logs)
    is_array = len(group.keys) > 1
    task_logs = dict(zip(group.keys, paths, strict=True)) if is_array else {"": _main_log(paths)}
    own_logs = dict.fromkeys(log.stdout for log in paths if log.stdout)
    with ctx.watch_lock():
        _refuse_if_watched(ctx, processes)
        ref = JobRef(group.job_id)
        scheduler = ProcessScheduler(ctx.home.backend_folder(PROCESS.name))
        scheduler.add(group)
        main = _main_log(paths)
        job = WatchedJob(
            id=state_id(PROCESS.name, ref),
            job_id=ref.job_id,
            registered_s=ctx.clock.now(),
            backend=PROCESS.name,
            user=user_name(),
            name=group.name,
            array_indices=compact([*range(len(processes))]) if is_array else "",
            logs=LogPaths(literal(main.stdout), literal(main.stderr), BY_USER),
            task_logs=task_logs,
            worker_logs=tuple(own_logs) if len(own_logs) > 1 and not is_array else (),
            unprovable_why=_UNPROVABLE,
            settings=with_log_sizes(settings, paths),
        )
        asked_s, answer = ctx.clock.now(), scheduler.ask_queue(job.user)
        if isinstance(answer, str):
            job = apply_queue(job, scheduler.read_queue(answer, [ref.job_id]), asked_s, Policy())
        ctx.store.save(job)
        starter.watch(job.id)
    return job


def with_log_sizes(settings: JobSettings | None, logs: Iterable[LogPaths]) -> JobSettings | None:
    """If a log line is to show the end, add the present sizes of the logs."""
    if settings is None or settings.done is None or not settings.done.log:
        return settings
    paths = dict.fromkeys(path for each in logs for path in (each.stdout, each.stderr) if path)
    sizes = {path: size for path in paths if (size := _size(path)) is not None}
    return replace(settings, done=replace(settings.done, log_sizes=sizes))


def _size(path: str) -> int | None:
    try:
        return os.stat(path).st_size  # noqa: PTH116 - a path is a text
    except (OSError, ValueError):
        return None


def _refuse_if_watched(ctx: Context, processes: Sequence[WatchedProcess]) -> None:
    for process in processes:
        if job := _job_of(ctx, process):
            raise AlreadyWatched(
                f"process {process.id.pid} is already watched (job {job.ref}); "
                f"`jobmon cancel {job.ref}` ends that"
            )


def _job_of(ctx: Context, process: WatchedProcess) -> WatchedJob | None:
    groups = ProcessScheduler(ctx.home.backend_folder(PROCESS.name)).groups()
    same = [group.job_id for group in groups if any(each.id == process.id for each in group.processes)]
    jobs = (job for job_id in same for job in ctx.store.find(JobRef(job_id)))
    return next((job for job in jobs if not job.closed and job.backend == PROCESS.name), None)


def _main_log(paths: Sequence[LogPaths]) -> LogPaths:
    return next((each for each in paths if each.stdout), LogPaths(source=BY_USER))


def _logs_of(processes: Sequence[WatchedProcess], logs: Sequence[Path]) -> list[LogPaths]:
    if not logs:
        return [LogPaths(process.stdout or process.stderr, process.stderr, BY_USER) for process in processes]
    if len(logs) not in (1, len(processes)):
        raise JobmonError(
            f"{len(logs)} logs for {len(processes)} processes: give one for all, or one for each; "
            "--log-dir and --log-pattern name further logs"
        )
    paths = [str(path.absolute()) for path in logs]
    return [LogPaths(path, path, BY_USER) for path in (paths * len(processes))[: len(processes)]]
