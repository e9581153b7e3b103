"""Use case: start a command on a host that is reached by ssh, at most once, and watch it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.app.remote.watch import Started, new_job
from jobmon_core.domain.job.tracking.new_job import NewJob
from jobmon_core.scheduler.ssh.backend import SSH
from jobmon_core.scheduler.ssh.start import CommandStarter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.job.job_settings import JobSettings, RunOptions
    from jobmon_core.domain.job.restart.next_submission import NextAttempt
    from jobmon_core.lifecycle.start import MonitorStarter


def run_on_host(
    ctx: Context,
    starter: MonitorStarter,
    host: str,
    command: Sequence[str],
    folders: RunOptions,
    *,
    settings: JobSettings | None = None,
    attempt: NextAttempt | None = None,
) -> Started:
    """Start a command in a folder of a host (none: the home directory there), and watch it.

    ``attempt`` makes it an attempt of a lineage. The command is recorded first. If the connection is lost,
    the monitor finds out whether the command started; if not, the monitor makes sure that it never will.

    Raises:
        JobmonError: the name of the host is invalid; nothing was started.
        ConfigInvalid: the configuration of the hosts is invalid; nothing was started.
        StorageFailed: a file cannot be written, or the monitor did not start; the command may run,
            and `jobmon recover` then watches it.
    """
    settings = attempt.settings if attempt else settings
    commands = CommandStarter(ctx.backend_resources(SSH.name), host)
    remote = commands.record(command, settings.name if settings else "", folders.workdir, folders.output_dir)
    job = new_job(ctx, SSH.name, remote, settings)
    ctx.store.save(job)
    if attempt:
        attempt.record(NewJob(job.id, job.job_id, job.registered_s, job.registered_s, SSH.name, job.cluster))
    problem = commands.start(
        remote.ref.job_id, command, folders.workdir, attempt.variables if attempt else {}
    )
    starter.watch(job.id)
    return Started(job, problem)
