"""Finds jobs on a host by what the user says of them, e.g. a PID, and records each under a number."""

from __future__ import annotations

import os
import re
import shlex
import time
from dataclasses import dataclass, field, replace
from posixpath import basename
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import JobmonError, SchedulerUnavailable, StorageFailed, UnknownJob
from jobmon_core.domain.humanize import duration
from jobmon_core.domain.node.hosts.model import HostJob, HostProcess, HostTarget
from jobmon_core.domain.node.hosts.settings import find_host
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.log_paths import BY_USER, LogPaths, literal
from jobmon_core.domain.slurm.rows import Unreachable
from jobmon_core.scheduler.base import RemoteJob
from jobmon_core.scheduler.ssh import script
from jobmon_core.scheduler.ssh.answer import ProcessDetails, read_answer
from jobmon_core.scheduler.ssh.connection import MAX_ANSWER_BYTES, ask
from jobmon_core.scheduler.ssh.records import HostRecords
from jobmon_core.system.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.domain.node.hosts.model import Pane
    from jobmon_core.domain.node.hosts.settings import Host
    from jobmon_core.scheduler.base import BackendResources
    from jobmon_core.scheduler.ssh.answer import Answer
    from jobmon_core.scheduler.ssh.records import HostJobFolder

_OPTION = re.compile(r"-[^-c]+")
_SHELLS = ("bash", "zsh", "fish", "sh", "dash", "ash", "ksh", "tcsh", "csh")
NO_WITNESS = (
    "the process is gone from the host, and nothing shows how it ended: no exit status of tmux, no marker"
)
NO_EXIT_CODE = (
    "the process is gone from the host without a recorded exit code: its wrapper was killed, too, e.g. for "
    "lack of memory"
)


@dataclass(frozen=True, slots=True)
class HostJobs:
    """The jobs on one host, see `RemoteJobs`."""

    resources: BackendResources
    name: str
    runner: Runner = field(default_factory=lambda: Runner(max_bytes=MAX_ANSWER_BYTES))

    @property
    def records(self) -> HostRecords:
        """The records of all hosts."""
        return HostRecords(self.resources.folder())

    @property
    def host(self) -> Host:
        """Raises JobmonError if its name is wrong."""
        try:
            return find_host(self.resources.hosts(), self.name)
        except ValueError as error:
            raise JobmonError(str(error)) from error

    def names(self) -> tuple[str, ...]:
        """The sessions of tmux, each as `tmux:SESSION`, quoted for a shell."""
        panes = self._examine((script.PANES_LINE,)).look.panes
        return tuple(dict.fromkeys(shlex.quote(f"tmux:{pane.session}") for pane in panes))

    def register(self, name: str) -> RemoteJob:
        """Record the job that the words ``name`` describe, see `HostTarget`."""
        try:
            target = HostTarget.parse(shlex.split(name))
        except ValueError as error:
            raise JobmonError(str(error)) from error
        answer = self._examine(_examine_lines(target))
        job = self._new_job(target, *_find(target, answer, self.name), answer)
        try:
            folder = self._known(job) or self.records.create(job)
            return remote_job(folder, folder.load())
        except OSError as error:
            raise StorageFailed(f"the job cannot be recorded: {error}") from error

    def _examine(self, lines: Sequence[str]) -> Answer:
        return self.ask(script.examine(lines))

    def ask(self, text: str) -> Answer:
        """Run a script on the host."""
        reply = ask(self.runner, self.host, text, os.environ)
        if isinstance(reply, Unreachable):
            raise SchedulerUnavailable(f"{self.name} does not answer: {reply.why}")
        answer = read_answer(reply)
        if not answer.look.boot_id:
            raise SchedulerUnavailable(f"{self.name} shows no boot id: jobmon needs /proc of Linux there")
        return answer

    def _known(self, job: HostJob) -> HostJobFolder | None:
        for folder, known in self.records.jobs(self.name):
            is_same = known.process == job.process if job.process else known.target == job.target
            if is_same and known.end is None and not known.run_id:
                return folder
        return None

    def _new_job(self, target: HostTarget, pid: int, pane_id: str, answer: Answer) -> HostJob:
        look, now_s = answer.look, time.time()
        marker = look.markers.get(0)
        job = HostJob(
            host=self.name,
            name=target.name(answer.details.get(pid, ProcessDetails()).argv),
            target=target,
            pane_id=pane_id,
            boot_id=look.boot_id,
            machine=look.machine,
            old_marker=marker.stamp if marker else "",
            registered_s=now_s,
        )
        seen = look.processes.get(pid)
        if seen is None:
            return job
        details = answer.details.get(pid, ProcessDetails())
        started_s = look.started_there_s(seen.start_ticks)
        return replace(
            job,
            process=HostProcess(pid, seen.start_ticks, look.boot_id, look.pid_namespace),
            target=replace(target, log=target.log or details.stdout or details.stderr),
            start_s=int(now_s - (look.clock_there_s - started_s)),
            started_there_s=started_s,
            command=" ".join(details.argv),
            workdir=details.workdir,
        )


def remote_job(folder: HostJobFolder, job: HostJob) -> RemoteJob:
    """As the use cases take it."""
    copy = folder.copy_of_log(job)
    return RemoteJob(
        ref=JobRef(folder.number),
        cluster=job.host,
        name=job.name,
        logs=LogPaths(literal(copy), literal(copy), BY_USER),
        workdir=job.workdir or "/",
        command=job.command,
        submit_s=int(job.registered_s) if job.start_s is None else job.start_s,
        unprovable_why=NO_EXIT_CODE if job.run_id else NO_WITNESS,
    )


def _examine_lines(target: HostTarget) -> tuple[str, ...]:
    marker = (script.marker_line(0, target.marker),) if target.marker else ()
    if target.tmux:
        return (*marker, script.PANES_LINE, script.PANE_DETAILS_LINE)
    if target.pid:
        return (*marker, script.details_line(target.pid))
    if target.process:
        return (*marker, script.running_line(target.process))
    if target.marker:
        return marker
    return (script.writers_line(target.log),)


def _find(target: HostTarget, answer: Answer, host: str) -> tuple[int, str]:
    """The PID to follow, 0 for a marker alone, and the pane of tmux that shows its exit status."""
    if target.tmux:
        return _of_tmux(target, answer, host)
    if target.pid:
        return _running(target.pid, answer, host), ""
    if target.process:
        return _only(target.process, answer, host), ""
    if target.marker:
        if 0 in answer.look.markers:
            age = duration(answer.look.clock_there_s - answer.look.markers[0].modified_there_s)
            raise UnknownJob(
                f"{target.marker} exists on {host} already, written {age} ago: remove it first, or "
                "name the process that will write it, too (pid: or tmux:)"
            )
        return 0, ""
    return _writer(target.log, answer, host), ""


def _running(pid: int, answer: Answer, host: str) -> int:
    seen = answer.look.processes.get(pid)
    if seen is None or not seen.runs:
        raise UnknownJob(f"no process {pid} runs on {host}; process:TEXT finds one by its command line")
    return pid


def _of_tmux(target: HostTarget, answer: Answer, host: str) -> tuple[int, str]:
    panes = [pane for pane in answer.look.panes if target.is_pane(pane.session, pane.window, pane.index)]
    if not panes:
        known = ", ".join(dict.fromkeys(pane.session for pane in answer.look.panes))
        have = "no session of yours runs there"
        if known:
            have = f"the sessions are {known}"
        raise UnknownJob(f"{host} has no session or pane {target.tmux!r} of tmux: {have}")
    found = [(pane, each) for pane in panes if (each := _of_pane(pane, answer))]
    if not found:
        raise UnknownJob(f"no program runs in tmux session {target.tmux!r} on {host}: start it first")
    if len(found) > 1:
        names = ", ".join(f"tmux:{pane.session}:{pane.window}.{pane.index}" for pane, _ in found)
        raise UnknownJob(f"several panes of session {target.tmux!r} run a program; name one of {names}")
    return found[0][1]


def _of_pane(pane: Pane, answer: Answer) -> tuple[int, str] | None:
    own = None
    if pane.pid:
        own = answer.look.processes.get(pane.pid)
    if pane.is_dead or pane.pid is None or own is None:
        return None
    leader = own.foreground_group
    if leader > 1 and leader != own.group and answer.look.processes.get(leader):
        return leader, ""
    if _is_idle_shell(answer.details.get(pane.pid)):
        return None
    return pane.pid, pane.id


def _is_idle_shell(details: ProcessDetails | None) -> bool:
    if details is None or not details.argv:
        return False
    program, *arguments = details.argv
    is_shell = basename(program).removeprefix("-") in _SHELLS
    return is_shell and all(word.startswith("--") or _OPTION.fullmatch(word) for word in arguments)


def _writer(log: str, answer: Answer, host: str) -> int:
    if not (found := _roots(answer)):
        raise UnknownJob(
            f"no process of yours on {host} writes to {log}; name what runs (pid:, process: or tmux:) or a "
            "marker:, too"
        )
    return found[0]


def _only(text: str, answer: Answer, host: str) -> int:
    found = _roots(answer)
    if not found:
        raise UnknownJob(
            f"no process of yours on {host} has {text!r} in its command line; name it by pid: or tmux:"
        )
    if len(found) > 1:
        pids = ", ".join(f"pid:{pid}" for pid in found)
        raise UnknownJob(
            f"{len(found)} processes on {host} have {text!r} in their command line; name one of {pids}"
        )
    return found[0]


def _roots(answer: Answer) -> list[int]:
    seen = {pid: answer.look.processes.get(pid) for pid in answer.pids}
    roots = ((each.start_ticks, pid) for pid, each in seen.items() if each and each.parent not in seen)
    return [pid for _, pid in sorted(roots)]
