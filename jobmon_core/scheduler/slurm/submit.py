"""Submit: run sbatch for the user, learn the job's id, and in doubt look for the job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerMissing
from jobmon_core.scheduler.base import Submission, Submitted
from jobmon_core.scheduler.slurm import commands, sbatch_output
from jobmon_core.system.runner import NotStarted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobmon_core.scheduler.slurm.session_search import OnJob, Search, Sessions
    from jobmon_core.system.runner import Runner


class SlurmSubmitter:
    """Runs sbatch, and finds the job where sbatch does not name it."""

    def __init__(self, runner: Runner, list_sessions: Callable[[str], Sessions], how: Search) -> None:
        """Set up without starting anything; ``list_sessions`` asks a cluster's queue who submitted what."""
        self._runner = runner
        self._list_sessions = list_sessions
        self._how = how

    def submit(self, arguments: Sequence[str], on_job: OnJob) -> Submission:
        """Run sbatch with the user's arguments; see `Scheduler`.

        Raises:
            SchedulerMissing: sbatch is not on this machine.
        """
        jobs: list[Submitted] = []

        def on_line(line: str) -> None:
            job = sbatch_output.announced_job(line)
            if job and not jobs:
                jobs.append(job)
                on_job(job)

        started = int(self._how.clock())
        ran = self._runner.run_attached(commands.submit(arguments), on_line)
        if isinstance(ran, NotStarted):
            raise SchedulerMissing(
                f"{ran.error_text}. Without Slurm, `--backend local` runs the script on this machine."
            )
        if jobs:
            return Submission(ran.exit_code, jobs[0])
        from jobmon_core.scheduler.slurm import find_submitted  # rarely needed, and the user waits

        return find_submitted.resolve(
            ran, arguments, started, find_submitted.SubmissionFinder(self._list_sessions, self._how, on_job)
        )
