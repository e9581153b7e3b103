"""One job on its host: its folders and processes, by a round trip a question, and commands for its user."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass, replace
from shlex import quote
from typing import TYPE_CHECKING

from jobmon_core.domain.artifacts.model import Listing
from jobmon_core.domain.errors import ConfigInvalid, JobmonError, SchedulerUnavailable, StateUnreadable
from jobmon_core.domain.job.restart.model import ProcessesLeft
from jobmon_core.domain.node.hosts.judge import is_another_machine
from jobmon_core.domain.node.hosts.settings import find_host
from jobmon_core.domain.slurm.rows import Unreachable
from jobmon_core.scheduler.base import FileEnds, ManualCommands
from jobmon_core.scheduler.ssh import script
from jobmon_core.scheduler.ssh.connection import MAX_ANSWER_BYTES
from jobmon_core.scheduler.ssh.jobs import HostJobs, ask_host
from jobmon_core.scheduler.ssh.records import HostRecords
from jobmon_core.system.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon_core.domain.node.hosts.model import HostJob, Process
    from jobmon_core.scheduler.base import BackendResources
    from jobmon_core.scheduler.ssh.answer import Answer

_HOME = "~"
_LEVELS, _LEVELS_OF_HOME = 7, 3
_MAX_LISTED = 5_000
_MAX_READ = 16
_END_BYTES = 128 * 1024


@dataclass(frozen=True, slots=True)
class HostFolders:
    """The folders of one job on a host; see `MachineFolders`."""

    resources: BackendResources
    host: str
    number: int

    @property
    def folders(self) -> tuple[str, ...]:
        """See `MachineFolders`."""
        job = self._job(HostJobs(self.resources, self.host))
        return (*filter(None, [job.target.files]), job.workdir or _HOME)

    def files_below(self, folder: str) -> Listing:
        """See `MachineFolders`."""
        levels = _LEVELS_OF_HOME if folder == _HOME else _LEVELS
        answer = self.ask(script.saved_files_line(self.number, folder, levels, _MAX_LISTED))
        found = answer.look.files.get(self.number, Listing("", problem="could not be listed"))
        ahead_s = answer.look.clock_there_s - time.time()
        return replace(
            found,
            folder=answer.folders.get(self.number, folder),
            files=tuple(replace(each, modified_s=each.modified_s - ahead_s) for each in found.files),
            is_partial=found.is_partial or (found.count or 0) > len(found.files),
        )

    def ends_of(self, paths: Sequence[str]) -> dict[str, FileEnds]:
        """See `MachineFolders`; of many files, only the first are read."""
        read = dict(enumerate(paths[:_MAX_READ], self.number + 1))
        answer = self.ask(*(script.ends_line(key, path, _END_BYTES) for key, path in read.items()))
        logs, heads = answer.look.logs, answer.heads
        return {
            path: FileEnds(heads[key], logs[key].data, logs[key].file.size_bytes)
            for key, path in read.items()
            if key in logs and key in heads
        }

    def ask(self, *lines: str) -> Answer:
        """Have the machine of the job run lines of a script; return its answer."""
        jobs = HostJobs(self.resources, self.host)
        job = self._job(jobs)
        run_line = script.run_line(self.number, job.run_id, prevent_start=False)
        text = script.examine((*([run_line] if job.run_id else []), *lines))
        answer = ask_host(Runner(max_bytes=MAX_ANSWER_BYTES), jobs.host, text)
        look = replace(answer.look, answered_s=jobs.records.boots(self.host))
        if is_another_machine(job, look.runs.get(self.number), look, time.time()):
            raise SchedulerUnavailable(f"another machine answers under the name {self.host}: {look.machine}")
        return answer

    def _job(self, jobs: HostJobs) -> HostJob:
        try:
            return jobs.records.of(self.number).load()
        except (OSError, StateUnreadable) as error:
            raise SchedulerUnavailable(f"the record of job {self.number} cannot be read: {error}") from error


def processes_left(
    resources: BackendResources, host: str, number: int, lineage: str
) -> ProcessesLeft | Unreachable:
    """Ask a host for the processes of a lineage."""
    try:
        answer = HostFolders(resources, host, number).ask(script.lineage_line(lineage))
        destination = HostJobs(resources, host).host.destination
    except JobmonError as error:
        return Unreachable(str(error))
    if not answer.has_searched:
        return Unreachable(f"{host} does not show the environments of processes")
    return ProcessesLeft(tuple(answer.pids), f"ssh {shlex.quote(destination)} kill")


_TAIL_LINES = 50


def manual_commands(resources: BackendResources, _host: str, number: int, _name: str) -> ManualCommands:
    """Return the commands for a job; if its record cannot be read, only a note that says why."""
    try:
        job = HostRecords(resources.folder()).of(number).load()
    except (OSError, StateUnreadable) as error:
        return ManualCommands(start_note=f"its record cannot be read: {error}")
    host = quote(_destination(resources, job.host))
    stop = (f"ssh {host} {quote(_kill(job.process))}",) if job.process else ()
    look = tuple(_look(host, job))
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


def _look(host: str, job: HostJob) -> Iterator[str]:
    if job.target.log:
        yield f"ssh {host} {quote(f'tail -n {_TAIL_LINES} {script.path(job.target.log)}')}    # its log there"
    if job.target.tmux:
        yield f"{_attach(host, job.target.tmux)}    # its terminal; Ctrl-B D leaves it"
    elif job.run_id:
        session = _attach(host, f"jobmon-{job.run_id}")
        yield f"{session}    # its terminal, if tmux runs it; Ctrl-B D leaves it"
    if job.process:
        yield f"ssh {host} {quote(f'ps -o pid,stat,etime,args -p {job.process.pid}')}    # its process"


def _attach(host: str, session: str) -> str:
    return f"ssh -t {host} {quote(f'tmux attach -t {quote(session)}')}"


def _kill(process: Process) -> str:
    """Return a command that ends a process unless its PID was reused: field 22 of stat is the start time."""
    pid, ticks = process.pid, process.start_ticks
    return f'grep -Eq "\\) ([^ ]+ ){{19}}{ticks} " /proc/{pid}/stat && kill {pid}'
