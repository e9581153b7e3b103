"""Submit: run sbatch for the user, learn the job's id, and in doubt look for the job."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import SchedulerMissing
from jobmon_core.scheduler.contract import Submission, Submitted
from jobmon_core.scheduler.runner import NotStarted
from jobmon_core.scheduler.slurm import commands, output

if TYPE_CHECKING:
    from jobmon_core.domain.jobref import JobRef
    from jobmon_core.scheduler.runner import Runner
    from jobmon_core.scheduler.slurm.search import Sessions

OnJob = Callable[[Submitted], None]


def _print(text: str) -> None:
    with suppress(OSError):  # nobody listens: the search goes on
        print(f"jobmon: {text}", file=sys.stderr)


def _nobody_knows(_ref: JobRef) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Search:
    """What a search for a job needs from outside.

    Attributes:
        already_known: whether somebody watches that job, so that it can't be the new one.
        tell: says to the user what takes so long.
        sleep: waits so many seconds.
        clock: the time in Unix seconds.
        alone: holds off other submissions, so that no two of them take the same job for theirs.
    """

    already_known: Callable[[JobRef], bool] = _nobody_knows
    tell: Callable[[str], None] = _print
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.time
    alone: Callable[[], AbstractContextManager[None]] = nullcontext


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
            job = output.job_in(line)
            if job and not jobs:
                jobs.append(job)
                on_job(job)

        started = int(self._how.clock())
        ran = self._runner.pass_through(commands.submit(arguments), on_line)
        if isinstance(ran, NotStarted):
            raise SchedulerMissing(
                f"{ran.words}. Where there is no Slurm, `--backend local` runs the script on this machine."
            )
        if jobs:
            return Submission(ran.exit_code, jobs[0])
        from jobmon_core.scheduler.slurm import doubt  # rarely needed, and the user waits

        return doubt.resolve(ran, arguments, started, doubt.Seeker(self._list_sessions, self._how, on_job))
