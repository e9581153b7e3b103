"""Find the job of an sbatch that named none: by the login session that it was submitted from."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import CommandBusy
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import NotListed, Unreachable
from jobmon_core.scheduler.base import Submission, Submitted
from jobmon_core.scheduler.slurm import sbatch_output
from jobmon_core.scheduler.slurm.cluster_option import named_cluster
from jobmon_core.scheduler.slurm.session_search import Candidate, Found, Origin, Sessions, newest, search

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jobmon_core.scheduler.slurm.session_search import OnJob, Search
    from jobmon_core.system.runner import Ran


def resolve(ran: Ran, arguments: Sequence[str], started_s: int, seeker: SubmissionFinder) -> Submission:
    """Look for a job that sbatch did not name, if there may be one; and say what came of it."""
    cluster = named_cluster(arguments, os.environ)
    if sbatch_output.may_have_been_accepted(ran.exit_code, ran.stderr):
        seeker.how.tell("sbatch failed, but Slurm may have taken the job; looking for it (a minute at most)")
        found, note = _after_a_failure(seeker.find(cluster, started_s))
    elif sbatch_output.printed_no_job_id(ran.exit_code, ran.stdout, ran.stderr):
        seeker.how.tell("sbatch printed no job id (--quiet?); looking for the job in the queue")
        found, note = _after_silence(seeker.find(cluster, started_s))
    else:
        found, note = None, ""
    return Submission(ran.exit_code, Submitted(found, cluster) if found else None, note)


@dataclass(frozen=True, slots=True)
class SubmissionFinder:
    """Looks for a job, and claims it by ``on_job`` before anybody else can."""

    list_sessions: Callable[[str], Sessions]
    how: Search
    on_job: OnJob

    def find(self, cluster: str, started_s: int) -> Found:
        """Look for a job that this session submitted at ``started_s`` (Unix seconds) or later."""
        if "," in cluster or cluster == "all":
            return Unreachable(f"it may be on any of the clusters {cluster}: squeue -M {cluster} --me")
        origin = Origin(os.getsid(0), os.uname().nodename, started_s)

        def choose(candidates: tuple[Candidate, ...]) -> JobRef | None:
            with self.how.alone():
                found = newest(candidates, origin, self.how.already_known)
                if found:
                    self.on_job(Submitted(found, cluster))
                return found

        try:
            return search(lambda: self.list_sessions(cluster), choose, self.how.sleep, self.how.clock)
        except CommandBusy as error:
            return Unreachable(str(error))


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
