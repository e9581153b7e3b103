"""The ssh backend: creates its adapters when they are needed. Its jobs are found or started on a host."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.backends import OutageWords
from jobmon_core.scheduler.base import Backend

if TYPE_CHECKING:
    from jobmon_core.domain.artifacts.model import Listing
    from jobmon_core.domain.telemetry.model import Sample
    from jobmon_core.scheduler.base import BackendResources, ManualCommands
    from jobmon_core.scheduler.ssh.client import SshScheduler
    from jobmon_core.scheduler.ssh.jobs import HostJobs


def _scheduler(resources: BackendResources, host: str = "") -> SshScheduler:
    from jobmon_core.scheduler.ssh.client import SshScheduler

    return SshScheduler(resources, host)


def _remote_jobs(resources: BackendResources, host: str) -> HostJobs:
    from jobmon_core.scheduler.ssh.jobs import HostJobs

    return HostJobs(resources, host)


def _manual_commands(resources: BackendResources, _host: str, number: int, _name: str) -> ManualCommands:
    from jobmon_core.scheduler.ssh.manual_commands import manual_commands

    return manual_commands(resources, number)


def _machine_files(resources: BackendResources, number: int) -> tuple[Listing, ...]:
    from jobmon_core.scheduler.ssh.usage import latest_files

    return latest_files(resources, number)


def _machine_sample(resources: BackendResources, host: str, number: int) -> Sample | None:
    from jobmon_core.scheduler.ssh.usage import latest_sample

    return latest_sample(resources, host, number)


_OUTAGE = OutageWords(
    name="ssh to {cluster}",
    summary="ssh to {cluster} has failed for {lasted}, so jobmon has no news of your jobs there. It "
    "considers none finished and keeps trying. You will be notified once the host answers.",
    advice="Look at the console of {cluster}, e.g. at the web page of its provider: only there can you "
    "see whether it is switched off, out of credit or being restarted. Do not start the jobs again before "
    "you know: they may still be running.",
)

SSH = Backend(
    name="ssh",
    display_name="ssh",
    submitter=None,
    scheduler=_scheduler,
    remote_jobs=_remote_jobs,
    manual_commands=_manual_commands,
    outage_words=_OUTAGE,
    machine_sample=_machine_sample,
    machine_files=_machine_files,
)
