"""What jobmon asks of a scheduler. Each backend is one class that answers this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from jobmon_core.domain.slurm.rows import NO_HURRY_S

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from jobmon_core.domain.slurm.job_ids import JobRef
    from jobmon_core.domain.slurm.log_paths import Templates
    from jobmon_core.domain.slurm.rows import (
        AccountingRow,
        Disabled,
        QueueRow,
        RawAnswer,
        RecordAnswer,
        Unreachable,
    )


@dataclass(frozen=True, slots=True)
class Submitted:
    """A job that the scheduler took."""

    ref: JobRef
    cluster: str = ""  # named only where the scheduler named it


@dataclass(frozen=True, slots=True)
class Submission:
    """What a submission came to: the scheduler's exit code, and the job if there is one."""

    exit_code: int
    job: Submitted | None
    note: str = ""  # what the user should know, e.g. that the job was found although sbatch gave up


class Submitter(Protocol):
    """What submits jobs in the user's name."""

    def submit(self, arguments: Sequence[str], on_job: Callable[[Submitted], None]) -> Submission:
        """Submit as the scheduler's own command would, its output passing through untouched.

        ``on_job`` is called as soon as the job's id is known, while the command may still run.

        Raises:
            SchedulerMissing: the scheduler's commands are not on this machine.
        """
        ...


class Scheduler(Protocol):
    """A scheduler as jobmon sees it. Asking never raises: no answer is an answer of its own kind."""

    name: str

    def ask_queue(self, user: str) -> RawAnswer | Unreachable:
        """Ask once for all jobs of a user, those that ended a moment ago included."""
        ...

    def read_queue(self, text: str, job_ids: Collection[int]) -> tuple[QueueRow, ...]:
        """Read the rows of some jobs out of a queue reply; a row that makes no sense is left out."""
        ...

    def ask_accounting(
        self, job_ids: Sequence[int], within_s: float = NO_HURRY_S
    ) -> RawAnswer | Disabled | Unreachable:
        """Ask accounting once for every run of several jobs; no answer within that time is none."""
        ...

    def read_accounting(self, text: str, job_id: int) -> tuple[AccountingRow, ...]:
        """Read the rows of one job out of an accounting reply, oldest run first."""
        ...

    def ask_record(self, job_id: int) -> RecordAnswer:
        """Ask for everything the scheduler's memory holds of one job, an array's tasks included."""
        ...

    def ask_log_templates(self, job_id: int) -> Templates | None:
        """Ask for the patterns of a job's log files, to expand task by task; None if it can't be told."""
        ...

    def script_of(self, job_id: int) -> str:
        """Return the text of the job's batch script, empty where the scheduler will not say."""
        ...

    def cluster_name(self) -> str:
        """Return the cluster's own name, empty where it can't be told now."""
        ...
