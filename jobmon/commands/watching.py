"""How `jobmon watch` watches jobs of Slurm and of Ray, and processes of this host."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from jobmon.commands.common import Options, absolute, job_ref, open_context, stdout_console
from jobmon.commands.job_options import job_settings
from jobmon.errors import UsageError, report, say
from jobmon.views.details import detail_lines
from jobmon_core.app.outcome import ANSWERS, Watched
from jobmon_core.app.processes.watch import (
    Found,
    processes_of_file,
    processes_with_name,
    processes_with_pids,
    watch_processes,
)
from jobmon_core.app.remote.ray_cluster import ray_service
from jobmon_core.app.remote.watch import watch_remote
from jobmon_core.app.submit_warnings import warning_in_job
from jobmon_core.app.watch import watch
from jobmon_core.domain.backends import RAY
from jobmon_core.domain.errors import AlreadyReported, AlreadyWatched, JobmonError
from jobmon_core.domain.slurm.log_paths import LogPaths
from jobmon_core.domain.visible_text import one_line
from jobmon_core.lifecycle.health import job_status
from jobmon_core.lifecycle.start import MonitorStarter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.job.job_settings import JobSettings
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.slurm.job_ids import JobRef

_MAX_COMMAND = 200  # characters of a command line that are shown


def watch_jobs(options: Options) -> tuple[list[JobRef], int]:
    """Watch each job, even after an error with another one; return those watched, and the exit code."""
    ctx = open_context()
    backend = options.backend or ctx.configuration().backend
    logs = LogPaths(absolute(options.output or options.error), absolute(options.error or options.output))
    settings = job_settings(options)
    exit_code, watched = 0, []
    for ref in _refs(options.job):
        try:
            job = watch(
                ctx,
                MonitorStarter(ctx),
                ref,
                backend,
                logs,
                settings=settings,
                again=options.again,
            )
        except AlreadyReported as reported:
            _show_reported(ctx, reported, ref.key)
        except JobmonError as error:
            report(error)
            if isinstance(error, AlreadyWatched) and (settings or logs != LogPaths()):
                say(
                    "the options of this command are not applied; to apply them, run "
                    f"`jobmon cancel {ref}`, then this command again"
                )
            if options.follow and isinstance(error, AlreadyWatched):
                watched.append(ref)
            else:
                exit_code = max(exit_code, error.exit_code)
        else:
            say(f"watching job {ref}; see `jobmon show {ref}`")
            if warning := warning_in_job(str(ref)):
                say(warning)
            watched.append(ref)
            ANSWERS.append(Watched(str(job.ref), job.id))
    return watched, exit_code


def _refs(words: Sequence[str]) -> list[JobRef]:
    try:
        return [job_ref(word) for word in words]
    except argparse.ArgumentTypeError as error:
        raise UsageError(f"argument JOB: {error}; see `jobmon watch --help`") from error


def watch_ray(options: Options) -> tuple[list[JobRef], int]:
    """As `watch_jobs`, for jobs of Ray."""
    if options.all == bool(options.job):
        raise UsageError("required: either the ids of jobs, or --all, with --backend ray")
    if options.output or options.error or options.log:
        raise UsageError(
            "--output, --error and --log are not for jobs of Ray: jobmon reads the driver's log there"
        )
    ctx = open_context()
    service = ray_service(ctx, options.address or "")
    names = options.job
    if options.all:
        names = ctx.remote_jobs(RAY, service).names()
    if not names:
        say(f"no job of the Ray cluster {service} is pending or running")
    watched, exit_code = [], 0
    starter, settings = MonitorStarter(ctx), job_settings(options)
    for name in names:
        try:
            job = watch_remote(ctx, starter, RAY, service, name, settings=settings, again=options.again)
        except AlreadyReported as reported:
            _show_reported(ctx, reported)
        except JobmonError as error:
            report(error)
            if not (options.all and isinstance(error, AlreadyWatched)):
                exit_code = max(exit_code, error.exit_code)
        else:
            say(f"watching {name} of the Ray cluster {service} as job {job.ref}; see `jobmon show {job.ref}`")
            watched.append(job.ref)
            ANSWERS.append(Watched(str(job.ref), job.id))
    return watched, exit_code


def _show_reported(ctx: Context, reported: AlreadyReported, task_key: str = "") -> None:
    report(reported)
    status = job_status(ctx, ctx.store.load(reported.state_id))
    print(*detail_lines(status, task_key, ctx.clock.now(), stdout_console()), sep="\n")


def watch_these_processes(options: Options) -> WatchedJob:
    if options.output or options.error:
        raise UsageError("--output and --error are for jobs; the logs of processes are --log")
    if options.again or options.backend:
        raise UsageError("--again and --backend are for jobs, not for processes")
    ctx = open_context()
    settings = job_settings(options)
    found = _find(ctx, options, settings)
    for pid in found.missing:
        say(f"process {pid} is left out: it does not run on this host")
    for pid in found.watched:
        say(f"process {pid} is left out: it is watched already")
    logs = options.log or ()
    job = watch_processes(ctx, MonitorStarter(ctx), found.processes, logs, settings, each=options.each)
    for process in found.processes:
        say(one_line(f"{process.id.pid}: {process.command}")[:_MAX_COMMAND])
    what, whose, log = "it", "its output", "its log"
    if len(found.processes) > 1:
        what = f"these {len(found.processes)} processes"
        whose, log = "the output of some of them", "their logs"
    outputs = [paths.stdout for paths in job.task_logs.values()]
    if not logs:
        outputs += [process.stdout or process.stderr for process in found.processes]
    if not all(outputs):
        say(f"no file is found that {whose} goes to; --log names {log}")
    ANSWERS.append(Watched(str(job.ref), job.id))
    say(f"watching {what} as job {job.ref} ({job.name}); see `jobmon show {job.ref}`")
    return job


def _find(ctx: Context, options: Options, settings: JobSettings | None) -> Found:
    if options.pid:
        return processes_with_pids(options.pid)
    if options.pid_file:
        return processes_of_file(options.pid_file)
    return processes_with_name(ctx, options.process, settings)
