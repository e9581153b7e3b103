"""Run sbatch for the user, and get the id of the submitted job."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerMissing
from jobmon_core.scheduler.base import Submission, Submitted
from jobmon_core.scheduler.slurm import commands
from jobmon_core.system.runner import NotStarted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobmon_core.scheduler.slurm.find_submitted import SubmissionFinder
    from jobmon_core.system.runner import Runner


class SlurmSubmitter:
    """Runs sbatch, and searches for the job if sbatch does not print its id."""

    def __init__(
        self, runner: Runner, finder: Callable[[], SubmissionFinder], clock: Callable[[], float] = time.time
    ) -> None:
        """Set up without any I/O; ``finder`` creates the search, which is rarely needed."""
        self._runner = runner
        self._finder = finder
        self._clock = clock

    def submit(
        self,
        arguments: Sequence[str],
        on_job: Callable[[Submitted], None],
        on_start: Callable[[], None] | None = None,
    ) -> Submission:
        """Run sbatch with the user's arguments; see `Submitter`.

        Raises:
            SchedulerMissing: sbatch is not installed on this machine.
            StorageFailed: the lock that a search for the job needs cannot be used.
        """
        jobs: list[Submitted] = []

        def on_line(line: str) -> None:
            from jobmon_core.scheduler.slurm.sbatch_output import announced_job

            job = announced_job(line)
            if job and not jobs:
                jobs.append(job)
                on_job(job)

        def load() -> None:
            import jobmon_core.scheduler.slurm.sbatch_output  # noqa: F401 - while sbatch is running

            if on_start:
                on_start()

        started_s = int(self._clock())
        ran = self._runner.run_attached(commands.submit(arguments), on_line, load)
        if isinstance(ran, NotStarted):
            raise SchedulerMissing(
                f"{ran.error_text}. Without Slurm, `--backend local` runs the script on this machine."
            )
        if jobs:
            return Submission(ran.exit_code, jobs[0])
        return self._finder().resolve(ran, arguments, started_s, on_job)
