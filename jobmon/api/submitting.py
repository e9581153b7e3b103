"""Submit jobs, and watch jobs and processes that jobmon did not start."""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING

from jobmon.api.arguments import absolute, tell
from jobmon.api.records import Job
from jobmon.api.watched import record_of, status
from jobmon_core.app.from_python.call import call
from jobmon_core.app.from_python.context import open_context
from jobmon_core.app.from_python.request import Submit, SubmitToRay, Watch, WatchProcesses, WatchRemote
from jobmon_core.domain.backends import is_ray
from jobmon_core.domain.errors import AlreadyWatched, JobmonError, StateUnreadable
from jobmon_core.lifecycle.health import Health

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from jobmon.api.arguments import FileName, JobName
    from jobmon_core.app.from_python.request import Request


# what `watch` watches -> the arguments that suit it, besides the job or the processes and `job_config`
_ARGUMENTS = {
    "processes": ("name", "log"),
    "a job on another host": ("host", "again"),
    "a job of Ray": ("backend", "address", "again"),
    "a job of Slurm or of the local backend": ("backend", "stdout", "stderr", "again"),
}


def submit(
    *arguments: FileName,
    backend: str | None = None,
    group: str = "",
    job_config: FileName | None = None,
    agent: bool = True,
    sentinel: bool = False,
    address: str = "",
    ray: Mapping[str, object] | None = None,
) -> Job:
    """Submit a job exactly as sbatch does, and watch it; return its record.

    With ``backend="ray"``, submit a command to a Ray cluster, as `ray job submit` does. An interrupt, e.g.
    Ctrl-C, ends only the waiting for the answer: the submission goes on, and `jobs` shows the job.

    Args:
        arguments: those of sbatch: its options, the script, and the script's own arguments. For Ray: the
            words of the command; a single one is a command line for the shell.
        backend: "slurm", "local" or "ray"; by default the configured one.
        group: the name of a group to add the job to; it is made if there is none.
        job_config: a YAML file about the job; by default ``jobmon.yaml`` beside the script.
        agent: whether jobmon may measure the job's GPUs, memory and processes beside it.
        sentinel: whether to submit a tiny job as well, which reports the end if the monitor is gone.
        address: the dashboard of the Ray cluster; by default as Ray's variables say.
        ray: what else Ray's job API takes, e.g. ``{"entrypoint_num_gpus": 1, "runtime_env": {...}}``.

    Raises:
        SchedulerRejected: the scheduler refused the job; the text is the scheduler's.
        SchedulerUnavailable: it did not answer. The text says if it may have accepted the job all the same.
        SchedulerMissing: this host has no such scheduler.
        ConfigInvalid: the configuration has faults; nothing was submitted.
        JobmonError: an argument does not suit the backend, or the command for Ray is missing.
    """
    words = tuple(os.fspath(each) for each in arguments)
    config = absolute(job_config)
    if _is_for_ray(backend):
        if sentinel:
            raise JobmonError("sentinel is not for jobs of Ray")
        return _watched(SubmitToRay(_description(words, ray or {}), address, config, group))
    if ray or address:
        raise JobmonError('address and ray are for jobs of Ray; add backend="ray"')
    return _watched(Submit(words, backend or "", sentinel, agent, config, group))


def _is_for_ray(backend: str | None) -> bool:
    return is_ray(backend or open_context().configuration().backend)


def _description(words: tuple[str, ...], ray: Mapping[str, object]) -> str:
    """Return what Ray's job API takes, as JSON."""
    if not words:
        raise JobmonError('submit needs the command to run on the Ray cluster, e.g. "python", "train.py"')
    try:
        return json.dumps({**ray, "entrypoint": words[0] if len(words) == 1 else shlex.join(words)})
    except (TypeError, ValueError) as error:
        raise JobmonError(f"ray has a value that is not JSON: {error}") from error


def watch(
    job: JobName | None = None,
    *,
    pid: int | Sequence[int] | None = None,
    name: str = "",
    log: FileName | Sequence[FileName] | None = None,
    stdout: FileName | None = None,
    stderr: FileName | None = None,
    backend: str | None = None,
    address: str = "",
    host: str = "",
    job_config: FileName | None = None,
    again: bool = False,
) -> Job:
    """Watch a job that was not submitted through jobmon, or processes of this host; return its record.

    ``watch(8123)`` watches a job, whether pending, running or ended. ``watch(pid=os.getpid())`` watches
    the calling program itself. For a job of Slurm, of the local backend or of Ray that is watched already, it
    returns the record, unless an argument would then be ignored.

    Args:
        job: the id of the job, array task or het job component.
        pid: processes to watch instead of a job; together they are one job.
        name: of processes: a name for them.
        log: of processes: one log, or one for each; by default the files that their output goes to.
        stdout: of a job of Slurm or of the local backend: its log, if the scheduler does not know it.
        stderr: likewise.
        backend: the job's scheduler; by default the configured one. With "ray", the job is a submission id.
        address: the dashboard of the Ray cluster; by default as Ray's variables say.
        host: a host reached by ssh: one of `hosts` in config.json, or any name that ssh knows. The job is
            what runs there, e.g. ``tmux:train``.
        job_config: a YAML file about the job.
        again: whether to analyse and report a job again that was already reported.

    Raises:
        UnknownJob: neither the scheduler nor its accounting knows the job, or no such process runs.
        AlreadyWatched: the job is watched already, and an argument would be ignored, or it is a job on
            another host; or the monitor of a job of Slurm or of the local backend is dead (`jobmon recover`
            restarts it); or a process is watched already.
        AlreadyReported: it ended and was reported, and ``again`` is False.
        SchedulerUnavailable: the scheduler does not answer.
        JobmonError: an argument does not suit what is to be watched.
    """
    if (job is None) == (pid is None):
        raise JobmonError("watch takes either a job, e.g. watch(8123), or processes, e.g. watch(pid=4711)")
    given: dict[str, object] = {"name": name, "log": log, "stdout": stdout, "stderr": stderr, "again": again}
    given |= {"backend": backend, "address": address, "host": host}
    if pid is not None:
        _refuse_others("processes", given)
        pids = (pid,) if isinstance(pid, int) else tuple(pid)
        return _watched(WatchProcesses(pids, _paths(log), name, absolute(job_config)))
    if host or _is_for_ray(backend):
        _refuse_others("a job on another host" if host else "a job of Ray", given)
        return _watched(WatchRemote(str(job), host, address, again, absolute(job_config)))
    _refuse_others("a job of Slurm or of the local backend", given)
    request = Watch(
        str(job), backend or "", absolute(stdout), absolute(stderr), again, job_config=absolute(job_config)
    )
    return _watch_job(request)


def _watch_job(request: Watch) -> Job:
    """Watch a job of Slurm or of the local backend; return its record, also if it is watched already.

    Raises:
        AlreadyWatched: its monitor is dead, or the request has an option, which would be ignored.
    """
    try:
        return _watched(request)
    except AlreadyWatched:
        found = status(request.job)
        has_options = request.stdout or request.stderr or request.job_config
        if found.monitor not in (Health.ALIVE, Health.REMOTE) or has_options:
            raise
        return found


def _refuse_others(watched: str, given: Mapping[str, object]) -> None:
    """Raise JobmonError if an argument is given that does not suit what is watched, a key of `_ARGUMENTS`."""
    for name, value in given.items():
        if value and name not in _ARGUMENTS[watched]:
            raise JobmonError(f"{name} is not for {watched}; these are: {', '.join(_ARGUMENTS[watched])}")


def _paths(log: FileName | Sequence[FileName] | None) -> tuple[str, ...]:
    if log is None:
        return ()
    return (absolute(log),) if isinstance(log, str | os.PathLike) else tuple(map(absolute, log))


def _watched(request: Request) -> Job:
    """Do what the request says, log what a command would print, and return the record of the job."""
    reply, printed = call(request)
    for text in (*printed.splitlines(), *reply.messages):
        tell(text)
    ctx = open_context()
    try:
        return record_of(ctx, ctx.store.load(reply.state_id))
    except StateUnreadable:  # it is submitted all the same: an error would make the caller submit again
        return Job(job_id=reply.job, monitor=Health.DEAD)
