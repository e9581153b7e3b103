"""Run sbatch for the user, and get the id of the submitted job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerMissing
from jobmon_core.scheduler.base import Submission, Submitted
from jobmon_core.scheduler.slurm import sbatch_output
from jobmon_core.system.runner import NotStarted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobmon_core.scheduler.slurm.find_submitted import SearchDeps, Sessions
    from jobmon_core.system.runner import Runner


@dataclass(frozen=True, slots=True)
class SlurmSubmitter:
    """Runs sbatch, and searches for the job if sbatch does not print its id."""

    runner: Runner
    list_sessions: Callable[[str], Sessions]  # queries the login sessions of a cluster's jobs
    deps: SearchDeps

    def submit(self, arguments: Sequence[str], on_job: Callable[[Submitted], None]) -> Submission:
        """Run sbatch with the user's arguments; see `Submitter`.

        Raises:
            SchedulerMissing: sbatch is not installed on this machine.
        """
        jobs: list[Submitted] = []

        def on_line(line: str) -> None:
            job = sbatch_output.announced_job(line)
            if job and not jobs:
                jobs.append(job)
                on_job(job)

        started_s = int(self.deps.clock())
        ran = self.runner.run_attached(["sbatch", *arguments], on_line)
        if isinstance(ran, NotStarted):
            raise SchedulerMissing(
                f"{ran.error_text}. Without Slurm, `--backend local` runs the script on this machine."
            )
        if jobs:
            return Submission(ran.exit_code, jobs[0])
        from jobmon_core.scheduler.slurm import find_submitted  # rarely needed, and the user waits

        return find_submitted.resolve(
            ran, arguments, started_s, list_sessions=self.list_sessions, deps=self.deps, on_job=on_job
        )
