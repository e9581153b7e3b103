"""Run sbatch for the user, and get the id of the submitted job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerMissing
from jobmon_core.scheduler.base import Submission, Submitted
from jobmon_core.scheduler.slurm import commands, sbatch_output
from jobmon_core.system.runner import NotStarted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobmon_core.scheduler.slurm.session_search import SearchDeps, Sessions
    from jobmon_core.system.runner import Runner


class SlurmSubmitter:
    """Runs sbatch, and searches for the job if sbatch does not print its id."""

    def __init__(self, runner: Runner, list_sessions: Callable[[str], Sessions], deps: SearchDeps) -> None:
        """Set up without any I/O; ``list_sessions`` queries the login sessions of a cluster's jobs."""
        self._runner = runner
        self._list_sessions = list_sessions
        self._deps = deps

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

        started_s = int(self._deps.clock())
        ran = self._runner.run_attached(commands.submit(arguments), on_line)
        if isinstance(ran, NotStarted):
            raise SchedulerMissing(
                f"{ran.error_text}. Without Slurm, `--backend local` runs the script on this machine."
            )
        if jobs:
            return Submission(ran.exit_code, jobs[0])
        from jobmon_core.scheduler.slurm import find_submitted  # rarely needed, and the user waits

        finder = find_submitted.SubmissionFinder(self._list_sessions, self._deps, on_job)
        return find_submitted.resolve(ran, arguments, started_s, finder)
