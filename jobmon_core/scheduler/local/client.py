"""The local scheduler as a `Scheduler`: batch scripts on this machine, without Slurm."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerRejected, StateUnreadable
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.log_paths import Templates
from jobmon_core.domain.slurm.rows import NO_HURRY_S, NotListed, RawAnswer, Unreachable
from jobmon_core.scheduler.base import Submission, Submitted
from jobmon_core.scheduler.local import job_dir
from jobmon_core.scheduler.local.machine import Machine
from jobmon_core.scheduler.local.records import KILL_WAIT_S
from jobmon_core.scheduler.local.status import job_status_rows
from jobmon_core.scheduler.local.status_rows import StatusRow, from_reply, to_reply
from jobmon_core.scheduler.local.submit import Request, launch, read_request
from jobmon_core.scheduler.local.task_env import CLUSTER

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from pathlib import Path

    from jobmon_core.domain.slurm.rows import AccountingRow, QueueRow, RecordAnswer
    from jobmon_core.scheduler.local.job_dir import JobDir

_REMEMBERED_S = 300.0  # how long the queue shows what ended: slurmctld's default MinJobAge


class LocalScheduler:
    """Jobs as detached processes of this machine, each tended by a process of its own."""

    name = "local"

    def __init__(
        self,
        folder: Path,
        *,
        machine: Callable[[], Machine] = Machine.here,
        clock: Callable[[], float] = time.time,
        kill_wait_s: float = KILL_WAIT_S,
    ) -> None:
        """Set up without touching anything.

        Args:
            folder: where the jobs are kept; it exists.
            machine: which machine this is.
            clock: the time in Unix seconds.
            kill_wait_s: seconds between SIGTERM and SIGKILL for a job that is to end.
        """
        self._folder = folder
        self._machine = machine
        self._clock = clock
        self._kill_wait_s = kill_wait_s

    def submit(self, arguments: Sequence[str], on_job: Callable[[Submitted], None]) -> Submission:
        """Start a job; see `Scheduler`. What it prints is what sbatch prints."""
        try:
            request = read_request(arguments, self._clock(), self._kill_wait_s)
        except SchedulerRejected as error:
            _say(str(error))
            return Submission(1, None)
        if request.options.ignored and not request.options.quiet:
            _say(f"no meaning on a single machine, ignored: {' '.join(request.options.ignored)}")
        try:
            folder = self._start(request)
        except (OSError, SchedulerRejected) as error:
            _say(f"the job could not be started: {error}")
            return Submission(1, None)
        job = Submitted(JobRef(folder.id))
        try:
            on_job(job)
        finally:  # the job runs, whatever befell who wants to watch it
            _announce(request, folder.id)
        return Submission(0, job)

    def _start(self, request: Request) -> JobDir:
        folder = job_dir.new_folder(self._folder)
        try:
            folder.create(request.spec, request.script.content)
            launch(folder)
        except BaseException:
            folder.remove()
            raise
        return folder

    def ask_queue(self, user: str) -> RawAnswer | Unreachable:  # noqa: ARG002 - all jobs of a home are one user's
        """Look at all jobs that have not ended, or ended a moment ago; see `Scheduler`."""
        asked_s = self._clock()
        try:
            return RawAnswer(to_reply(self._recent(asked_s)), asked_s)
        except OSError as error:
            return _unreadable(error)

    def _recent(self, now_s: float) -> Iterator[StatusRow]:
        here = self._machine()
        for folder in job_dir.all_folders(self._folder):
            ended_s = folder.ended_s()
            if ended_s is None or now_s - ended_s < _REMEMBERED_S:
                lines = job_status_rows(folder, here)
                yield from (line for line in lines if now_s - (line.end_s or now_s) < _REMEMBERED_S)

    def read_queue(self, text: str, job_ids: Collection[int]) -> tuple[QueueRow, ...]:
        """Read the rows of some jobs; see `Scheduler`."""
        return tuple(line.as_queue_row() for line in from_reply(text, job_ids))

    def ask_accounting(
        self,
        job_ids: Sequence[int],
        within_s: float = NO_HURRY_S,  # noqa: ARG002 - the files answer at once
    ) -> RawAnswer | Unreachable:
        """Look at everything that is known of those jobs; see `Scheduler`."""
        asked_s = self._clock()
        try:
            here = self._machine()
            folders = [folder for job_id in job_ids if (folder := job_dir.find(self._folder, job_id))]
            return RawAnswer(
                to_reply(line for folder in folders for line in job_status_rows(folder, here)), asked_s
            )
        except OSError as error:
            return _unreadable(error)

    def read_accounting(self, text: str, job_id: int) -> tuple[AccountingRow, ...]:
        """Read the rows of one job; see `Scheduler`."""
        return tuple(line.as_accounting_row(CLUSTER) for line in from_reply(text, (job_id,)))

    def ask_record(self, job_id: int) -> RecordAnswer:
        """Look at everything that is known of one job; see `Scheduler`."""
        try:
            folder = job_dir.find(self._folder, job_id)
            lines = [] if folder is None else job_status_rows(folder, self._machine())
        except OSError as error:
            return _unreadable(error)
        return tuple(line.as_record() for line in lines) or NotListed()

    def ask_log_templates(self, job_id: int) -> Templates | None:
        """Return the patterns of the job's log files; see `Scheduler`."""
        try:
            folder = job_dir.find(self._folder, job_id)
            spec = None if folder is None else folder.spec()
        except (OSError, StateUnreadable):
            return None  # the answer for what can't be told now
        return None if spec is None else Templates(spec.stdout, spec.stderr)

    def script_of(self, job_id: int) -> str:
        """Return the script as it was submitted; see `Scheduler`."""
        try:
            folder = job_dir.find(self._folder, job_id)
            return "" if folder is None else folder.script.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""  # the answer for what can't be told now

    def cluster_name(self) -> str:
        """Return the name by which jobs of this machine are known."""
        return CLUSTER


def _unreadable(error: OSError) -> Unreachable:
    return Unreachable(f"the local jobs can't be read: {error}")


def _say(words: str) -> None:
    for line in words.splitlines():
        print(f"jobmon: local: {line}", file=sys.stderr, flush=True)


def _announce(request: Request, job_id: int) -> None:
    if request.options.quiet:
        return
    print(job_id if request.options.parsable else f"Submitted batch job {job_id}", flush=True)
