"""Submit: run sbatch for the user, learn the job's id, and in doubt look for the job."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass

from jobmon_core.domain.answers import NotListed, Unreachable
from jobmon_core.domain.errors import SchedulerMissing
from jobmon_core.domain.jobref import JobRef
from jobmon_core.scheduler.contract import Submission, Submitted
from jobmon_core.scheduler.runner import NotStarted, Ran, Runner
from jobmon_core.scheduler.slurm import commands, output
from jobmon_core.scheduler.slurm.clusters import named_cluster
from jobmon_core.scheduler.slurm.search import Candidate, Found, Origin, Sessions, newest, search

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

        origin = Origin(os.getsid(0), os.uname().nodename, int(self._how.clock()))
        ran = self._runner.pass_through(commands.submit(arguments), on_line)
        if isinstance(ran, NotStarted):
            raise SchedulerMissing(
                f"{ran.words}. Where there is no Slurm, `--backend local` runs the script on this machine."
            )
        if jobs:
            return Submission(ran.exit_code, jobs[0])
        cluster = named_cluster(arguments, os.environ)
        found, note = self._found_later(ran, lambda: self._search(origin, cluster, on_job))
        job = Submitted(found, cluster) if found else None
        return Submission(ran.exit_code, job, note)

    def _found_later(self, ran: Ran, look: Callable[[], Found]) -> tuple[JobRef | None, str]:
        """Look for a job that sbatch did not name, if there may be one; and say what came of it."""
        if output.perhaps_taken(ran.exit_code, ran.stderr):
            self._how.tell(
                "sbatch failed, but Slurm may have taken the job; looking for it (a minute at most)"
            )
            return _after_a_failure(look())
        if output.told_nothing(ran.exit_code, ran.stdout, ran.stderr):
            self._how.tell("sbatch printed no job id (--quiet?); looking for the job in the queue")
            return _after_silence(look())
        return None, ""

    def _search(self, origin: Origin, cluster: str, on_job: OnJob) -> Found:
        if "," in cluster or cluster == "all":
            return Unreachable(f"it may be on any of the clusters {cluster}: squeue -M {cluster} --me")

        def choose(candidates: tuple[Candidate, ...]) -> JobRef | None:
            with self._how.alone():
                found = newest(candidates, origin, self._how.already_known)
                if found:
                    on_job(Submitted(found, cluster))
                return found

        return search(lambda: self._list_sessions(cluster), choose, self._how.sleep, self._how.clock)


def _after_a_failure(found: Found) -> tuple[JobRef | None, str]:
    match found:
        case Unreachable(why):
            doubt = f"Slurm may have taken the job and can't be asked now ({why})"
            return None, f"{doubt}; look with squeue before you submit it again"
        case NotListed():
            return None, "the queue shows no new job of yours: it was not submitted"
        case JobRef():
            return found, f"sbatch failed, but Slurm took the job: it is {found}; do not submit it again"


def _after_silence(found: Found) -> tuple[JobRef | None, str]:
    match found:
        case Unreachable(why):
            return None, f"sbatch printed no job id and Slurm can't be asked now ({why}): nothing is watched"
        case NotListed():
            return (
                None,
                "sbatch printed no job id and the queue shows no new job of yours: nothing is watched",
            )
        case JobRef():
            return found, f"sbatch printed no job id; by its login session the job is {found}"
