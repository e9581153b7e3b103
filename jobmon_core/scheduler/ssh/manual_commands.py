"""The commands with which a user looks at a job on a host, stops it and starts it again."""

from __future__ import annotations

import shlex
from shlex import quote
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import ConfigInvalid, StateUnreadable
from jobmon_core.domain.node.hosts.settings import POD, exec_words, find_host
from jobmon_core.scheduler.base import ManualCommands
from jobmon_core.scheduler.ssh import script
from jobmon_core.scheduler.ssh.records import HostRecords

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.domain.node.hosts.model import HostJob, HostProcess
    from jobmon_core.scheduler.base import BackendResources

_TAIL_LINES = 50


def manual_commands(resources: BackendResources, _host: str, number: int, _name: str) -> ManualCommands:
    """If the record cannot be read, only a note that says why."""
    try:
        job = HostRecords(resources.folder()).of(number).load()
    except (OSError, StateUnreadable) as error:
        return ManualCommands(start_note=f"its record cannot be read: {error}")
    destination = _destination(resources, job.host)
    run, terminal = f"ssh {quote(destination)}", f"ssh -t {quote(destination)}"
    if destination.startswith(POD):
        run = f"{shlex.join(exec_words(destination))} -- sh -c"
        terminal = run.replace(" -i ", " -it ", 1)
    stop = (f"{run} {quote(_kill(job.process))}",) if job.process else ()
    look = tuple(_look(run, terminal, job))
    if not job.run_id:
        note = f"jobmon only watched it: start the program on {job.host} as it was started"
        return ManualCommands(look, stop, start_note=note)
    named = {"host": job.host, "chdir": job.workdir, "files": job.target.files}
    options = (f"--{name} {quote(value)}" for name, value in named.items() if value)
    return ManualCommands(look, stop, f"jobmon run {' '.join(options)} -- {job.command}")


def _destination(resources: BackendResources, host: str) -> str:
    try:
        return find_host(resources.hosts(), host).destination
    except (ConfigInvalid, ValueError):
        return host


def _look(run: str, terminal: str, job: HostJob) -> Iterator[str]:
    if job.target.log:
        yield f"{run} {quote(f'tail -n {_TAIL_LINES} {script.path(job.target.log)}')}    # its log there"
    if job.target.tmux:
        yield f"{_attach(terminal, job.target.tmux)}    # its terminal; Ctrl-B D leaves it"
    elif job.run_id:
        session = _attach(terminal, f"jobmon-{job.run_id}")
        yield f"{session}    # its terminal, if tmux runs it; Ctrl-B D leaves it"
    if job.process:
        yield f"{run} {quote(f'ps -o pid,stat,etime,args -p {job.process.pid}')}    # its process"


def _attach(terminal: str, session: str) -> str:
    return f"{terminal} {quote(f'tmux attach -t {quote(session)}')}"


def _kill(process: HostProcess) -> str:
    """Unless its PID was reused: field 22 of stat is the start time."""
    pid, ticks = process.pid, process.start_ticks
    return f'grep -Eq "\\) ([^ ]+ ){{19}}{ticks} " /proc/{pid}/stat && kill {pid}'
