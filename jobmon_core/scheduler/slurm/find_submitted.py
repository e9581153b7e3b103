"""If sbatch printed no job id: decide whether to search for the job, and report the result."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import CommandBusy
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import NotListed, Unreachable
from jobmon_core.scheduler.base import Submission, Submitted
from jobmon_core.scheduler.slurm import sbatch_output
from jobmon_core.scheduler.slurm.session_search import Candidate, Origin, SearchResult, newest_job, search

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from jobmon_core.scheduler.slurm.session_search import SearchDeps, Sessions
    from jobmon_core.system.runner import Ran

# sbatch(1), ``-M, --clusters`` and INPUT ENVIRONMENT VARIABLES
_CLUSTER_OPTIONS = ("-M", "--clusters", "--cluster")
_CLUSTER_VARIABLES = ("SBATCH_CLUSTERS", "SLURM_CLUSTERS")


@dataclass(frozen=True, slots=True)
class SubmissionFinder:
    """Searches for a job whose id sbatch did not print; ``list_sessions`` queries a cluster's jobs."""

    list_sessions: Callable[[str], Sessions]
    deps: SearchDeps

    def resolve(
        self, ran: Ran, arguments: Sequence[str], started_s: int, on_job: Callable[[Submitted], None]
    ) -> Submission:
        """Return the result of an sbatch without a job id; search for the job if Slurm may have accepted one.

        Args:
            ran: the sbatch that ended.
            arguments: those of sbatch.
            started_s: when sbatch was started (Unix seconds).
            on_job: called with the job that is found, while the search lock is held.
        """
        cluster = named_cluster(arguments, os.environ)
        if sbatch_output.may_have_been_accepted(ran.exit_code, ran.stderr):
            self.deps.tell("sbatch failed, but Slurm may have accepted the job; searching for up to a minute")
            job, note = _after_failure(self._find(cluster, started_s, on_job))
        elif sbatch_output.printed_no_job_id(ran.exit_code, ran.stdout, ran.stderr):
            self.deps.tell("sbatch printed no job id (--quiet?); searching for the job in the queue")
            job, note = _after_success(self._find(cluster, started_s, on_job))
        else:
            job, note = None, ""
        return Submission(ran.exit_code, Submitted(job, cluster) if job else None, note)

    def _find(self, cluster: str, started_s: int, on_job: Callable[[Submitted], None]) -> SearchResult:
        if "," in cluster or cluster == "all":
            return Unreachable(f"it may be on any of the clusters {cluster}; check squeue -M {cluster} --me")
        origin = Origin(os.getsid(0), os.uname().nodename, started_s)

        def choose(candidates: tuple[Candidate, ...]) -> JobRef | None:
            with self.deps.lock():
                job = newest_job(candidates, origin, self.deps.is_known)
                if job:
                    on_job(Submitted(job, cluster))
                return job

        try:
            return search(lambda: self.list_sessions(cluster), choose, self.deps.sleep, self.deps.clock)
        except CommandBusy as error:
            return Unreachable(str(error))


def _after_failure(result: SearchResult) -> tuple[JobRef | None, str]:
    match result:
        case Unreachable(why):
            note = f"Slurm may have accepted the job, but does not answer now ({why})"
            return None, f"{note}; check with squeue before you submit it again"
        case NotListed():
            return None, "the queue has no new job of yours: it was not submitted"
        case JobRef():
            return result, f"sbatch failed, but Slurm accepted the job as {result}; do not submit it again"


def _after_success(result: SearchResult) -> tuple[JobRef | None, str]:
    match result:
        case Unreachable(why):
            return None, f"sbatch printed no job id and Slurm does not answer ({why}): the job is not watched"
        case NotListed():
            return None, "sbatch printed no job id and the queue has no new job of yours: it is not watched"
        case JobRef():
            return result, f"sbatch printed no job id; by its login session the job is {result}"


def named_cluster(arguments: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return the clusters that the user named, as written; empty for the local one.

    It may mistake an option of the script for one of sbatch: good enough to know where to search.
    """
    options = [value for position in range(len(arguments)) if (value := _value_at(arguments, position))]
    named = options or [environ[name] for name in _CLUSTER_VARIABLES if environ.get(name)]
    return named[0] if named else ""


def _value_at(arguments: Sequence[str], position: int) -> str:
    argument = arguments[position]
    if argument in _CLUSTER_OPTIONS:
        return arguments[position + 1] if position + 1 < len(arguments) else ""
    name, equals, value = argument.partition("=")
    if equals and name in _CLUSTER_OPTIONS:
        return value
    return argument[2:] if argument.startswith("-M") else ""
