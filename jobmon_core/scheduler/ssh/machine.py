"""The machine of a job on a host: what the latest look showed, and questions, of one round trip each."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.artifacts.model import Listing
from jobmon_core.domain.errors import JobmonError, SchedulerUnavailable, StateUnreadable
from jobmon_core.domain.job.restart.model import ProcessesLeft
from jobmon_core.domain.node.hosts.judge import is_another_machine
from jobmon_core.domain.node.telemetry.model import Worker
from jobmon_core.domain.slurm.rows import Unreachable
from jobmon_core.scheduler.base import FileEnds
from jobmon_core.scheduler.ssh import script
from jobmon_core.scheduler.ssh.jobs import HostJobs
from jobmon_core.scheduler.ssh.records import HostRecords

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jobmon_core.domain.node.hosts.model import HostJob
    from jobmon_core.domain.node.telemetry.model import Sample
    from jobmon_core.scheduler.base import BackendResources
    from jobmon_core.scheduler.ssh.answer import Answer

_HOME = "~"
_LEVELS, _LEVELS_OF_HOME = 7, 3
_MAX_LISTED = 5_000
_MAX_READ = 16
_END_BYTES = 128 * 1024
_MAX_NAME = 60


@dataclass(frozen=True, slots=True)
class HostMachine:
    """See `JobMachine`."""

    resources: BackendResources
    host: str
    number: int

    @property
    def _records(self) -> HostRecords:
        return HostRecords(self.resources.folder())

    def sample(self) -> Sample | None:
        """See `JobMachine`."""
        try:
            usage, job = self._records.usage(self.host), self._records.of(self.number).load()
        except (OSError, StateUnreadable):
            return None
        if not usage.node.name:  # written by an earlier version
            return None
        name = job.command[:_MAX_NAME] or job.name
        return replace(usage, workers=(Worker(job.process.pid if job.process else 0, name),))

    def outputs(self) -> tuple[Listing, ...]:
        """See `JobMachine`."""
        try:
            return (self._records.of(self.number).files(),)
        except (OSError, StateUnreadable):
            return ()

    def markers(self) -> dict[str, bool]:
        """See `JobMachine`."""
        try:
            job = self._records.of(self.number).load()
        except (OSError, StateUnreadable):
            return {}
        if job.target.marker:
            return {f"marker {job.target.marker} on {job.host}": job.has_marker}
        return {}

    @property
    def folders(self) -> tuple[str, ...]:
        """See `JobMachine`."""
        job = self._job()
        return (*filter(None, [job.target.files]), job.workdir or _HOME)

    def files_below(self, folder: str) -> Listing:
        """See `JobMachine`."""
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
        """See `JobMachine`; of many files, only the first are read."""
        read = dict(enumerate(paths[:_MAX_READ], self.number + 1))
        answer = self.ask(*(script.ends_line(key, path, _END_BYTES) for key, path in read.items()))
        logs, heads = answer.look.logs, answer.heads
        return {
            path: FileEnds(heads[key], logs[key].data, logs[key].file.size_bytes)
            for key, path in read.items()
            if key in logs and key in heads
        }

    def ask(self, *lines: str) -> Answer:
        """Have the machine of the job run lines of a script."""
        jobs = HostJobs(self.resources, self.host)
        job = self._job()
        run_line = script.run_line(self.number, job.run_id, prevent_start=False)
        text = script.examine((*([run_line] if job.run_id else []), *lines))
        answer = jobs.ask(text)
        look = replace(answer.look, answered_s=self._records.boots(self.host))
        if is_another_machine(job, look.runs.get(self.number), look, time.time()):
            raise SchedulerUnavailable(f"another machine answers under the name {self.host}: {look.machine}")
        return answer

    def _job(self) -> HostJob:
        try:
            return self._records.of(self.number).load()
        except (OSError, StateUnreadable) as error:
            raise SchedulerUnavailable(f"the record of job {self.number} cannot be read: {error}") from error


def processes_left(
    resources: BackendResources, host: str, number: int, lineage: str
) -> ProcessesLeft | Unreachable:
    """Ask a host for the processes of a lineage."""
    try:
        answer = HostMachine(resources, host, number).ask(script.lineage_line(lineage))
        destination = HostJobs(resources, host).host.destination
    except JobmonError as error:
        return Unreachable(str(error))
    if not answer.has_searched:
        return Unreachable(f"{host} does not show the environments of processes")
    return ProcessesLeft(tuple(answer.pids), f"ssh {shlex.quote(destination)} kill")
