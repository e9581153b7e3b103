"""Use case: start a command on a host that is reached by ssh, at most once, and watch it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.app.remote.watch import new_job
from jobmon_core.domain.errors import AlreadyWatched
from jobmon_core.scheduler.ssh.backend import SSH
from jobmon_core.scheduler.ssh.start import CommandStarter

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.job_settings import JobSettings
    from jobmon_core.domain.tracking.model import WatchedJob
    from jobmon_core.lifecycle.start import MonitorStarter


class StartedOnHost(NamedTuple):
    """A command on a host, which is watched."""

    job: WatchedJob
    problem: str = ""  # why it is not known whether it was started; empty if it was


def run_on_host(
    ctx: Context,
    starter: MonitorStarter,
    host: str,
    command: Sequence[str],
    *,
    workdir: str = "",
    output_dir: str = "",
    settings: JobSettings | None = None,
) -> StartedOnHost:
    """Start a command in the folder ``workdir`` of a host (empty: the home directory there), and watch it.

    ``output_dir`` is the folder there whose files are counted as its outputs; empty: none.
    The command is recorded first. If the connection is lost, the monitor finds out whether the command
    started; if not, the monitor makes sure that it never will.

    Raises:
        JobmonError: the name of the host is invalid; nothing was started.
        ConfigInvalid: the configuration of the hosts is invalid; nothing was started.
        StorageFailed: a file cannot be written, or the monitor did not start; the command may run,
            and `jobmon recover` then watches it.
    """
    commands = CommandStarter(ctx.backend_resources(SSH.name), host)
    remote = commands.record(command, settings.name if settings else "", workdir, output_dir)
    job = new_job(ctx, SSH.name, remote, settings)
    ctx.store.save(job)
    problem = commands.start(remote.ref.job_id, command, workdir)
    with suppress(AlreadyWatched):  # a `jobmon recover` that ran meanwhile has started a monitor
        starter.start([job.id])
    return StartedOnHost(job, problem)
