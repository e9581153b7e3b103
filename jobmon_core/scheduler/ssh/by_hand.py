"""What a user types to look at a job on a host, to stop it, and to start it again."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import ConfigInvalid, StateUnreadable
from jobmon_core.domain.hosts.settings import find_host
from jobmon_core.scheduler.base import ByHand
from jobmon_core.scheduler.ssh import script
from jobmon_core.scheduler.ssh.records import HostRecords

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.domain.hosts.model import HostJob, Process
    from jobmon_core.scheduler.base import BackendResources

_LINES = 50  # of a log


def by_hand(resources: BackendResources, number: int) -> ByHand:
    """Return the commands for a job; none if its record cannot be read."""
    try:
        job = HostRecords(resources.folder()).of(number).load()
    except (OSError, StateUnreadable) as error:
        return ByHand(start_note=f"its record cannot be read: {error}")
    host = quote(_destination(resources, job.host))
    stop = (f"ssh {host} {quote(_kill(job.process))}",) if job.process else ()
    look = tuple(_look(host, job))
    if not job.run_id:
        note = f"jobmon only watched it: start the program on {job.host} as it was started"
        return ByHand(look, stop, start_note=note)
    named = {"host": job.host, "chdir": job.workdir, "files": job.target.files}
    options = (f"--{name} {quote(value)}" for name, value in named.items() if value)
    return ByHand(look, stop, f"jobmon run {' '.join(options)} -- {job.command}")


def _destination(resources: BackendResources, host: str) -> str:
    try:
        return find_host(resources.hosts(), host).destination
    except (ConfigInvalid, ValueError):  # the page is about the job, not about the configuration
        return host


def _look(host: str, job: HostJob) -> Iterator[str]:
    if job.target.log:
        yield f"ssh {host} {quote(f'tail -n {_LINES} {script.path(job.target.log)}')}    # its log there"
    if job.target.tmux:
        yield f"{_attach(host, job.target.tmux)}    # its terminal; Ctrl-B D leaves it"
    elif job.run_id:
        yield f"{_attach(host, f'jobmon-{job.run_id}')}    # the same if tmux is there; Ctrl-B D leaves it"
    if job.process:
        yield f"ssh {host} {quote(f'ps -o pid,stat,etime,args -p {job.process.pid}')}    # its process"


def _attach(host: str, session: str) -> str:
    return f"ssh -t {host} {quote(f'tmux attach -t {quote(session)}')}"


def _kill(process: Process) -> str:
    """Return what ends a process, but no other one that has its PID by now: field 22 is its start time."""
    pid, ticks = process.pid, process.start_ticks
    return f'grep -Eq "\\) ([^ ]+ ){{19}}{ticks} " /proc/{pid}/stat && kill {pid}'
