"""Watch a job of a service that names its jobs by text; start a command on a host and watch it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import AlreadyReported, AlreadyWatched
from jobmon_core.domain.job.job_settings import JobSettings
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.job.tracking.new_job import NewJob
from jobmon_core.domain.job.tracking.reopen import reopened
from jobmon_core.scheduler.ssh.backend import SSH
from jobmon_core.scheduler.ssh.jobs import HostJobs
from jobmon_core.scheduler.ssh.start import record_command, start_command
from jobmon_core.store.jobs import state_id
from jobmon_core.system.users import user_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.job.job_settings import RunOptions
    from jobmon_core.domain.job.restart.next_submission import NextAttempt
    from jobmon_core.lifecycle.start import MonitorStarter
    from jobmon_core.scheduler.base import RemoteJob


def watch_remote(
    ctx: Context,
    starter: MonitorStarter,
    backend: str,
    service: str,
    name: str,
    *,
    settings: JobSettings | None = None,
    again: bool = False,
) -> WatchedJob:
    """Start a monitor for the job ``name`` of a service, e.g. of a Ray cluster; return the watched job.

    Without ``settings``, what the user said before counts. ``again``: analyse and report a job again.
    """
    with ctx.watch_lock():
        remote = ctx.remote_jobs(backend, service).register(name)
        known = [job for job in ctx.store.find(remote.ref) if job.backend == backend]
        if any(not job.closed for job in known):
            raise AlreadyWatched(
                f"{name} is already watched as job {remote.ref}; see `jobmon show {remote.ref}`"
            )
        if known and known[-1].concluded_s is not None and not again:
            raise AlreadyReported(
                f"{name} was already reported as job {remote.ref}; --again analyses and reports it again",
                known[-1].id,
            )
        job = reopened(known[-1]) if known else new_job(ctx, backend, remote, settings)
        if settings:
            job = replace(job, settings=settings)
        ctx.store.save(job)
        starter.watch(job.id)
    return job


def new_job(ctx: Context, backend: str, remote: RemoteJob, settings: JobSettings | None) -> WatchedJob:
    """Return the state of a job of a service that is watched from now on."""
    if remote.further_logs and not (settings and settings.log_files):
        folder, _, _ = remote.logs.stdout.rpartition("/")
        settings = replace(settings or JobSettings(), log_dir=folder, log_pattern=remote.further_logs)
    return WatchedJob(
        id=state_id(backend, remote.ref),
        job_id=remote.ref.job_id,
        registered_s=ctx.clock.now(),
        submitted_s=remote.submit_s,
        backend=backend,
        cluster=remote.cluster,
        remote=True,
        user=remote.user or user_name(),
        name=remote.name,
        workdir=remote.workdir,
        command=remote.command,
        logs=remote.logs,
        unprovable_why=remote.unprovable_why,
        settings=settings,
    )


def run_on_host(
    ctx: Context,
    starter: MonitorStarter,
    host: str,
    command: Sequence[str],
    folders: RunOptions,
    *,
    settings: JobSettings | None = None,
    attempt: NextAttempt | None = None,
) -> tuple[WatchedJob, str]:
    """Start a command in a folder of a host (none: the home directory there); return its job, and a problem.

    ``attempt`` makes it an attempt of a lineage. The command is recorded first. If the connection is lost,
    the monitor finds out whether the command started; if not, the monitor makes sure that it never will.
    """
    if attempt:
        settings = attempt.settings
    jobs = HostJobs(ctx.backend_resources(SSH.name), host)
    remote = record_command(
        jobs, command, settings.name if settings else "", folders.workdir, folders.output_dir
    )
    job = new_job(ctx, SSH.name, remote, settings)
    ctx.store.save(job)
    if attempt:
        attempt.record(NewJob(job.id, job.job_id, job.registered_s, job.registered_s, SSH.name, job.cluster))
    problem = start_command(
        jobs, remote.ref.job_id, command, folders.workdir, attempt.variables if attempt else {}
    )
    starter.watch(job.id)
    return job, problem
