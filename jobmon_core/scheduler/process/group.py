"""The processes that are watched as one job, and what the queue shows of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.status_row import StatusRow
from jobmon_core.system.process import ProcessId, ProcessStatus

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Process:
    """A process that ran when jobmon began to watch it. Times are Unix seconds."""

    id: ProcessId
    argv: tuple[str, ...]
    started_s: int
    user: str
    uid: int
    workdir: str = ""  # empty if the user may not see it
    stdout: str = ""  # the regular file that it writes to; empty if there is none
    stderr: str = ""

    @property
    def command(self) -> str:
        """The command line."""
        return " ".join(self.argv)


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """One or more processes; several are the tasks of an array, with the indices 0, 1, ..."""

    name: str
    processes: tuple[Process, ...]

    @property
    def job_id(self) -> int:
        """The PID of the first process."""
        return self.processes[0].id.pid

    @property
    def keys(self) -> tuple[str, ...]:
        """The task key of each process."""
        count = len(self.processes)
        return tuple(str(index) for index in range(count)) if count > 1 else ("",)


def group_rows(group: ProcessGroup, observer: ProcessId) -> Iterator[StatusRow]:
    """Yield a row for each process that has not exited.

    ``observer`` is this process; it cannot tell whether the processes of another host still run.
    """
    for key, process in zip(group.keys, group.processes, strict=True):
        state, reason = JobState.RUNNING, ""
        match process.id.status(observer):
            case ProcessStatus.EXITED:
                continue
            case ProcessStatus.REBOOTED:
                state, reason = JobState.NODE_FAIL, "the machine was restarted"
            case ProcessStatus.REMOTE:
                state, reason = JobState.UNKNOWN, f"only {process.id.host} can see whether it still runs"
            case ProcessStatus.RUNNING:
                pass
        yield StatusRow(
            job_id=group.job_id,
            state=state,
            raw_job_id=process.id.pid,
            task=int(key) if key else None,
            reason=reason,
            submit_s=process.started_s,
            start_s=process.started_s,
            nodes=process.id.host.split(".", 1)[0],
            name=group.name,
            user=process.user,
            uid=process.uid,
            workdir=process.workdir or "/",  # jobmon would query an empty one again and again
            stdout=process.stdout,
            stderr=process.stderr,
            command=process.command,
        )
