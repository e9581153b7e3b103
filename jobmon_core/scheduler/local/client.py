"""The local scheduler as a `Scheduler`: batch scripts on this machine, without Slurm."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerRejected, StateUnreadable, StorageFailed
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.log_paths import LogPaths
from jobmon_core.domain.slurm.rows import NotListed, RawAnswer, Unreachable
from jobmon_core.domain.tracking.policy import NO_HURRY_S
from jobmon_core.scheduler.base import Submission, Submitted
from jobmon_core.scheduler.local import job_dir
from jobmon_core.scheduler.local.status import job_status_rows
from jobmon_core.scheduler.local.status_rows import StatusRow, from_answer, to_answer
from jobmon_core.scheduler.local.task_env import CLUSTER
from jobmon_core.system.process import ProcessId

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from pathlib import Path

    from jobmon_core.domain.slurm.rows import AccountingRow, QueueRow, RecordAnswer
    from jobmon_core.scheduler.local.job_dir import JobDir
    from jobmon_core.scheduler.local.submit import Request

_MIN_JOB_AGE_S = 300.0  # how long the queue lists ended jobs: the default of slurmctld's MinJobAge


class LocalScheduler:
    """Runs jobs as detached processes of this machine, each with a supervisor process."""

    name = "local"

    def __init__(
        self,
        folder: Path,
        *,
        observer: Callable[[], ProcessId] = ProcessId.current,
        clock: Callable[[], float] = time.time,
        kill_wait_s: float = job_dir.KILL_WAIT_S,
    ) -> None:
        """Set up without any I/O.

        Args:
            folder: the existing directory of all jobs.
            observer: identifies this process, and with it the machine that it runs on.
            clock: returns the time in Unix seconds.
            kill_wait_s: seconds between SIGTERM and SIGKILL when a job is terminated.
        """
        self._folder = folder
        self._observer = observer
        self._clock = clock
        self._kill_wait_s = kill_wait_s

    def submit(
        self,
        arguments: Sequence[str],
        on_job: Callable[[Submitted], None],
        on_start: Callable[[], None] | None = None,
    ) -> Submission:
        """Start a job and print what sbatch would print; see `Submitter`."""
        from jobmon_core.scheduler.local.submit import read_request  # a monitor never submits

        try:
            request = read_request(arguments, self._clock(), self._kill_wait_s)
        except SchedulerRejected as error:
            _print_error(str(error))
            return Submission(1, None)
        if request.options.ignored and not request.options.quiet:
            _print_error(f"ignored on a single machine: {' '.join(request.options.ignored)}")
        try:
            folder = self._start(request)
        except (OSError, SchedulerRejected, StorageFailed) as error:
            _print_error(f"the job could not be started: {error}")
            return Submission(1, None)
        if on_start:
            on_start()
        job = Submitted(JobRef(folder.id))
        try:
            on_job(job)
        finally:  # the job runs even if it cannot be watched
            _print_job_id(request, folder.id)
        return Submission(0, job)

    def _start(self, request: Request) -> JobDir:
        from jobmon_core.scheduler.local.submit import launch  # a monitor never submits

        folder = job_dir.new_job_dir(self._folder)
        try:
            folder.create(request.spec, request.script.content)
            launch(folder)
        except BaseException:
            folder.remove()
            raise
        return folder

    def ask_queue(self, user: str) -> RawAnswer | Unreachable:  # noqa: ARG002 - all jobs of a home are one user's
        """Read the status of all jobs that have not ended, or ended recently; see `Scheduler`."""
        asked_s = self._clock()
        try:
            return RawAnswer(to_answer(self._queued(asked_s)), asked_s)
        except OSError as error:
            return _unreadable(error)

    def _queued(self, now_s: float) -> Iterator[StatusRow]:
        observer = self._observer()
        for folder in job_dir.all_job_dirs(self._folder):
            ended_s = folder.ended_s()
            if ended_s is None or now_s - ended_s < _MIN_JOB_AGE_S:
                rows = job_status_rows(folder, observer)
                yield from (row for row in rows if now_s - (row.end_s or now_s) < _MIN_JOB_AGE_S)

    def read_queue(self, text: str, job_ids: Collection[int]) -> tuple[QueueRow, ...]:
        """Parse the rows of these jobs; see `Scheduler`."""
        return tuple(row.as_queue_row() for row in from_answer(text, job_ids))

    def ask_accounting(
        self,
        job_ids: Sequence[int],
        within_s: float = NO_HURRY_S,  # noqa: ARG002 - files are read at once
    ) -> RawAnswer | Unreachable:
        """Read all records of these jobs; see `Scheduler`."""
        asked_s = self._clock()
        try:
            rows = [row for job_id in job_ids for row in self._rows_of(job_id)]
        except OSError as error:
            return _unreadable(error)
        return RawAnswer(to_answer(rows), asked_s)

    def read_accounting(self, text: str, job_id: int) -> tuple[AccountingRow, ...]:
        """Parse the rows of one job; see `Scheduler`."""
        return tuple(row.as_accounting_row(CLUSTER) for row in from_answer(text, (job_id,)))

    def ask_record(self, job_id: int) -> RecordAnswer:
        """Read all records of one job; see `Scheduler`."""
        try:
            rows = self._rows_of(job_id)
        except OSError as error:
            return _unreadable(error)
        return tuple(row.as_record() for row in rows) or NotListed()

    def _rows_of(self, job_id: int) -> list[StatusRow]:
        folder = job_dir.find(self._folder, job_id)
        return [] if folder is None else job_status_rows(folder, self._observer())

    def ask_log_templates(self, job_id: int) -> LogPaths | None:
        """Return the file name patterns of the job's logs; see `Scheduler`."""
        try:
            folder = job_dir.find(self._folder, job_id)
            spec = None if folder is None else folder.spec()
        except (OSError, StateUnreadable):
            return None
        return None if spec is None else LogPaths(spec.stdout, spec.stderr)

    def script_of(self, job_id: int) -> str:
        """Return the script as it was submitted; see `Scheduler`."""
        try:
            folder = job_dir.find(self._folder, job_id)
            return "" if folder is None else folder.script.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""

    def cluster_name(self) -> str:
        """Return the cluster name of all local jobs; see `Scheduler`."""
        return CLUSTER


def _unreadable(error: OSError) -> Unreachable:
    return Unreachable(f"the records of the local jobs cannot be read: {error}")


def _print_error(message: str) -> None:
    for line in message.splitlines():
        print(f"jobmon: local: {line}", file=sys.stderr, flush=True)


def _print_job_id(request: Request, job_id: int) -> None:
    if request.options.quiet:
        return
    print(job_id if request.options.parsable else f"Submitted batch job {job_id}", flush=True)
