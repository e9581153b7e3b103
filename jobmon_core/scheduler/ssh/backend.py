"""The ssh backend, whose jobs are found or started on a host."""

from __future__ import annotations

from jobmon_core.domain.backends import OutageWords
from jobmon_core.scheduler.base import Backend, deferred

_OUTAGE = OutageWords(
    name="The connection to {cluster}",
    summary="The connection to {cluster} has failed for {lasted}, so jobmon has no news of your jobs there. "
    "It considers none finished and keeps trying. You will be notified once the host answers.",
    advice="Look at the console of {cluster}, e.g. at the web page of its provider: only there can you "
    "see whether it is switched off, out of credit or being restarted. Do not start the jobs again before "
    "you know: they may still be running.",
)

SSH = Backend(
    name="ssh",
    display_name="ssh",
    submitter=None,
    scheduler=deferred("ssh.client", "SshScheduler"),
    remote_jobs=deferred("ssh.jobs", "HostJobs"),
    manual_commands=deferred("ssh.manual_commands", "manual_commands"),
    outage_words=_OUTAGE,
    machine=deferred("ssh.machine", "HostMachine"),
    processes_left=deferred("ssh.machine", "processes_left"),
)
