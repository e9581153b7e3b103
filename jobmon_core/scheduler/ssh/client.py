"""The jobs on one host as a `Scheduler`."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, assert_never

from jobmon_core.domain.errors import JobmonError, SchedulerUnavailable, StateUnreadable, StorageFailed
from jobmon_core.domain.node.hosts.judge import (
    HostJobStatus,
    apply_look,
    is_another_machine,
    may_be_removed,
)
from jobmon_core.domain.node.hosts.model import HostJob, HostLook, JobEnd
from jobmon_core.domain.node.hosts.settings import find_host
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import NotListed, Unreachable
from jobmon_core.scheduler.records import StatusRow, WithoutAccounting, from_answer, to_answer
from jobmon_core.scheduler.ssh import script
from jobmon_core.scheduler.ssh.answer import read_answer
from jobmon_core.scheduler.ssh.connection import MAX_ANSWER_BYTES, ask
from jobmon_core.scheduler.ssh.records import CopyState, HostJobFolder, HostRecords
from jobmon_core.system.files import open_private
from jobmon_core.system.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jobmon_core.domain.node.hosts.model import SeenLog
    from jobmon_core.domain.slurm.rows import RecordAnswer
    from jobmon_core.scheduler.base import BackendResources


# Each look adds the new bytes. What a look left out because it was too much, or a log that was replaced,
# is noted in the copy by a line of its own.
MAX_COPY_BYTES = 32 * 1024 * 1024

_YOUNG_S = 600.0  # a job that was recorded more recently may not have its state file yet
_MAX_REMOVED = 20
_Entries = Mapping[int, tuple[HostJobFolder, HostJob]]


@dataclass(frozen=True, slots=True)
class SshScheduler(WithoutAccounting):
    """Shows the jobs on one host."""

    name = "ssh"

    resources: BackendResources
    host: str
    runner: Runner = field(default_factory=lambda: Runner(max_bytes=MAX_ANSWER_BYTES))

    def ask_queue(self, user: str) -> str | Unreachable:  # noqa: ARG002 - all jobs of a home are one user's
        """See `Scheduler`; one round-trip for all jobs."""
        try:
            records = HostRecords(self.resources.folder())
            text = to_answer(self._rows(records, *self._jobs(records, time.time())))
            records.save_rows(self.host, text)
        except SchedulerUnavailable as error:
            return Unreachable(str(error))
        except (OSError, JobmonError) as error:
            return Unreachable(f"the records of the jobs on {self.host} cannot be used: {error}")
        return text

    def ask_record(self, job_id: int) -> RecordAnswer:
        """What the latest look showed; this makes no round-trip."""
        try:
            text = HostRecords(self.resources.folder()).rows(self.host)
        except OSError as error:
            return Unreachable(f"{self.host} has not answered yet: {error.strerror}")
        return tuple(row.as_record() for row in from_answer(text, [job_id])) or NotListed()

    def _jobs(self, records: HostRecords, now_s: float) -> tuple[_Entries, _Entries]:
        """The jobs to look at, and those whose folders on the host may be removed."""
        watched: dict[int, tuple[HostJobFolder, HostJob]] = {}
        removable: dict[int, tuple[HostJobFolder, HostJob]] = {}
        for folder, job in records.all_jobs(self.host):
            is_young = 0 <= now_s - job.registered_s < _YOUNG_S
            if may_be_removed(job, now_s) and len(removable) < _MAX_REMOVED:
                removable[folder.number] = folder, job
            elif job.is_dropped:
                continue
            elif is_young or self.resources.is_known(JobRef(folder.number)):
                watched[folder.number] = folder, job
            else:
                folder.save(replace(job, is_dropped=True))
        return watched, removable

    def _rows(self, records: HostRecords, jobs: _Entries, removable: _Entries) -> list[StatusRow]:
        open_jobs = {number: entry for number, entry in jobs.items() if entry[1].end is None}
        look = self._look(records, open_jobs, removable) if open_jobs else HostLook()
        now_s = time.time()
        rows: list[StatusRow] = []
        followed, elsewhere = [], []
        for number, (folder, job) in jobs.items():
            known, finding = (job, job.end) if job.end else apply_look(number, job, look, now_s)
            if known != job:
                folder.save(known)
            if job.end is None:
                followed.append(known)
            if row := status_row(number, folder, known, finding):
                rows.append(row)
            if isinstance(finding, HostJobStatus) and finding.is_elsewhere:
                elsewhere.append(finding)
        if rows and len(elsewhere) == len(rows):
            raise SchedulerUnavailable(elsewhere[0].reason)
        if look.boot_id:
            self._save_boots(records, followed, {**look.answered_s, look.boot_id: now_s})
        return rows

    def _save_boots(
        self, records: HostRecords, followed: list[HostJob], answered_s: dict[str, float]
    ) -> None:
        boots = {job.process.boot_id if job.process else job.boot_id for job in followed}
        records.save_boots(self.host, {each: answered_s[each] for each in boots & set(answered_s)})

    def _look(self, records: HostRecords, jobs: _Entries, removable: _Entries) -> HostLook:
        try:
            host = find_host(self.resources.hosts(), self.host)
        except ValueError as error:
            raise SchedulerUnavailable(str(error)) from error
        removals = (script.remove_line(number, job.run_id) for number, (_, job) in removable.items())
        lines = (*look_lines(jobs), *removals)
        text = ask(self.runner, host, script.look(lines, host.data), os.environ)
        if isinstance(text, Unreachable):
            raise SchedulerUnavailable(text.why)
        look = replace(read_answer(text).look, answered_s=records.boots(self.host))
        if not look.boot_id:
            raise SchedulerUnavailable(f"{self.host} shows no boot id: jobmon needs /proc of Linux there")
        for number, seen in look.logs.items():
            folder, job = jobs[number]
            run = look.runs.get(number)
            shows_run = run is not None and run.has_begun  # another machine may: both share a home
            if not shows_run and is_another_machine(job, run, look, time.time()):
                continue
            with suppress(OSError, StorageFailed):  # a full disk here must not hide how the job is
                add_to_copy(folder, folder.log(job), seen)
        self._save_files(jobs, look)
        for number in set(look.removed) & set(removable):
            folder, job = removable[number]
            folder.save(replace(job, is_removed=True))
        place = f"{self.host}:{host.data or '~'}"
        usage = replace(
            look.usage,
            at_s=time.time(),
            node=replace(look.usage.node, name=self.host),
            disks=tuple(replace(disk, path=place) for disk in look.usage.disks),
        )
        records.save_usage(self.host, usage)
        return look

    def _save_files(self, jobs: _Entries, look: HostLook) -> None:
        ahead_s = look.clock_there_s - time.time()
        for number, listing in look.files.items():
            folder, job = jobs[number]
            if is_another_machine(job, look.runs.get(number), look, time.time()):
                continue
            files = (replace(each, modified_s=each.modified_s - ahead_s) for each in listing.files)
            with suppress(StorageFailed):
                folder.save_files(replace(listing, folder=job.target.files, files=tuple(files)))


def look_lines(jobs: _Entries) -> Iterator[str]:
    """The lines of the script that look at these jobs.

    What shows an end comes before the logs, so that these are complete when it is noticed.
    """
    for number, (folder, job) in jobs.items():
        if job.run_id:
            is_lost = job.process is None and not folder.is_starting()
            yield script.run_line(number, job.run_id, prevent_start=is_lost)
        if job.process:
            yield script.process_line(job.process)
        if job.target.marker:
            yield script.marker_line(number, job.target.marker)
        if job.target.files:
            yield script.files_line(number, job.target.files)
    logs = [(number, *entry) for number, entry in jobs.items() if entry[1].target.log]
    max_bytes = min(script.MAX_LOG_BYTES, script.MAX_LOGS_BYTES // max(1, len(logs)))
    for number, folder, job in logs:
        inode, next_byte = copy_position(folder, folder.log(job))
        yield script.log_line(number, job.target.log, inode, next_byte, max_bytes)


def status_row(
    number: int, folder: HostJobFolder, job: HostJob, finding: HostJobStatus | JobEnd | None
) -> StatusRow | None:
    """None if the job is gone and nothing shows how it ended."""
    copy = folder.copy_of_log(job)
    row = StatusRow(
        job_id=number,
        state="",
        raw_job_id=number,
        submit_s=int(job.registered_s) if job.start_s is None else job.start_s,
        start_s=job.start_s,
        nodes=job.host,
        name=job.name,
        workdir=job.workdir or "/",
        stdout=copy,
        stderr=copy,
        command=job.command,
    )
    match finding:
        case HostJobStatus(state, reason, _):
            return replace(row, state=state, reason=reason)
        case JobEnd(state, exit_code, signal, reason, end_s):
            return replace(row, state=state, exit_code=exit_code, signal=signal, reason=reason, end_s=end_s)
        case None:
            return None
        case _:
            assert_never(finding)


def copy_position(folder: HostJobFolder, copy: Path) -> tuple[str, int]:
    """The inode of a log and its next byte to copy; without a record, it is copied again."""
    with suppress(OSError, StateUnreadable):
        state = folder.copy_state()
        if state.inode:
            return state.inode, state.base + _size(copy)
    return "", 0


def add_to_copy(folder: HostJobFolder, copy: Path, seen: SeenLog) -> None:
    """Append those bytes of a log that its copy lacks."""
    inode, next_byte = copy_position(folder, copy)
    new = _new_part(inode, next_byte, seen)
    if new is None or (new == ("", b"") and inode):
        return
    note, data = new
    if _size(copy) > MAX_COPY_BYTES:
        os.replace(copy, f"{copy}.1")  # noqa: PTH105 - one call that names both
    with open(open_private(copy, os.O_WRONLY | os.O_APPEND), "ab") as file:
        if note and _size(copy) and not _ends_line(copy):
            file.write(b"\n")
        if note:
            file.write(f"[jobmon: {note}]\n".encode())
        file.write(data)
    state = CopyState(seen.file.inode, seen.from_bytes + len(seen.data) - _size(copy))
    with suppress(StateUnreadable):
        if state == folder.copy_state():
            return
    folder.save_copy_state(state)


def _new_part(inode: str, next_byte: int, seen: SeenLog) -> tuple[str, bytes] | None:
    if inode != seen.file.inode or seen.file.size_bytes < next_byte:
        if seen.from_bytes and inode == seen.file.inode:
            return None  # another monitor has copied more, or the log was truncated
        if seen.from_bytes:
            return f"the first {seen.from_bytes} bytes of the log are left out", seen.data
        return "the log was replaced here" if inode else "", seen.data
    if seen.from_bytes > next_byte:
        return f"{seen.from_bytes - next_byte} bytes of the log are left out here", seen.data
    return "", seen.data[next_byte - seen.from_bytes :]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _ends_line(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"
