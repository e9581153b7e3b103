"""Run sbatch for the user, and get the id of the submitted job."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerMissing
from jobmon_core.scheduler.base import Submission, Submitted
from jobmon_core.system.runner import NotStarted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobmon_core.scheduler.slurm.find_submitted import SubmissionFinder
    from jobmon_core.system.runner import Runner


class SlurmSubmitter:
    """Runs sbatch, and searches for the job if that prints no id."""

    def __init__(  # no dataclass, whose module the user of a submission would wait for
        self, runner: Runner, finder: Callable[[], SubmissionFinder], clock: Callable[[], float] = time.time
    ) -> None:
        """Set up without any I/O."""
        self.runner = runner
        self.finder = finder
        self.clock = clock

    def submit(
        self,
        arguments: Sequence[str],
        on_job: Callable[[Submitted], None],
        on_start: Callable[[], None] | None = None,
    ) -> Submission:
        """See `Submitter`."""
        jobs: list[Submitted] = []
        lines: list[str] = []

        def report(exit_code: int | None = None) -> Submitted | None:
            """In a pause, not at once: a later line may name another job."""
            from jobmon_core.scheduler.slurm.sbatch_output import certain_job

            job = certain_job(lines, arguments, exit_code)
            if job and job not in jobs:
                jobs.append(job)
                on_job(job)
            return job

        def load() -> None:
            if on_start:  # first, as the monitor takes longest to load: a quick sbatch ends before it
                on_start()
            import jobmon_core.scheduler.slurm.sbatch_output  # noqa: F401 - while sbatch is running

        started_s = int(self.clock())
        ran = self.runner.run_attached(["sbatch", *arguments], lines.append, load, report)
        if isinstance(ran, NotStarted):
            raise SchedulerMissing(
                f"{ran.error_text}. Without Slurm, `--backend local` runs the script on this machine."
            )
        if job := report(ran.exit_code):
            return Submission(ran.exit_code, job)
        return self.finder().resolve(ran, arguments, started_s, on_job)
