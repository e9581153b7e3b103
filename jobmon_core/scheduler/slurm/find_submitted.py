"""If sbatch printed no job id: search for the job by its login session."""

from __future__ import annotations

import os
import sys
import time
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import CommandBusy, SchedulerRejected, StorageFailed
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import NotListed, Unreachable
from jobmon_core.domain.slurm.sbatch_options import read_with_unknown
from jobmon_core.scheduler.base import Submission, Submitted
from jobmon_core.scheduler.slurm import commands, sbatch_output, values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from jobmon_core.system.runner import Ran

# sbatch(1), ``-M, --clusters`` and INPUT ENVIRONMENT VARIABLES
_CLUSTER_OPTIONS = ("-M", "--clusters", "--cluster")
_CLUSTER_VARIABLES = ("SBATCH_CLUSTERS", "SLURM_CLUSTERS")


def _print(text: str) -> None:
    with suppress(OSError):
        print(f"jobmon: {text}", file=sys.stderr)


@dataclass(frozen=True, slots=True)
class SubmissionFinder:
    """Searches for a job whose id sbatch did not print."""

    list_sessions: Callable[[str], Sessions]
    is_known: Callable[[JobRef], bool] = lambda _ref: False  # a watched job cannot be the new one
    tell: Callable[[str], None] = _print
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.time
    lock: Callable[[], AbstractContextManager[None]] = nullcontext  # no two searches choose the same job

    def resolve(
        self, ran: Ran, arguments: Sequence[str], started_s: int, on_job: Callable[[Submitted], None]
    ) -> Submission:
        """The result of an sbatch that named no certain job; search if Slurm may have accepted it."""
        cluster = named_cluster(arguments, os.environ)
        named = sbatch_output.jobs_by_sentence(ran.stdout)
        if named:
            message = "sbatch's output names several jobs; searching for yours in the queue"
            found = self._find(message, cluster, started_s, on_job, among=named)
            if isinstance(found, JobRef):
                return Submission(ran.exit_code, Submitted(found, cluster))
            on_job(named[-1])
            note = f"sbatch's output names several jobs; jobmon watches the last, {named[-1].ref}"
            return Submission(ran.exit_code, named[-1], note)
        if sbatch_output.may_have_been_accepted(ran.exit_code, ran.stderr):
            message = "sbatch failed, but Slurm may have accepted the job; searching for about a minute"
            job, note = _after_failure(self._find(message, cluster, started_s, on_job))
        elif sbatch_output.submitted_without_id(ran.exit_code, ran.stdout, ran.stderr, arguments):
            message = "sbatch printed no job id that jobmon can read (--quiet?); searching for the job"
            job, note = _after_success(self._find(message, cluster, started_s, on_job))
        else:
            job, note = None, ""
        return Submission(ran.exit_code, Submitted(job, cluster) if job else None, note)

    def _find(
        self,
        message: str,
        cluster: str,
        started_s: int,
        on_job: Callable[[Submitted], None],
        among: Sequence[Submitted] = (),
    ) -> JobRef | NotListed | str:
        if "," in cluster or cluster == "all":
            return f"jobmon could not search for it: it may be on any cluster of -M {cluster}"
        self.tell(message)
        host = os.uname().nodename

        def choose(candidates: tuple[Candidate, ...]) -> JobRef | None:
            refs = [each.ref for each in among]
            possible = tuple(each for each in candidates if not refs or each.ref in refs)
            with self.lock():
                job = newest_job(possible, os.getsid(0), host, started_s, self.is_known)
                if job:
                    on_job(Submitted(job, cluster))
                return job

        try:
            result = search(lambda: self.list_sessions(cluster), choose, self.sleep, self.clock)
        except (CommandBusy, StorageFailed) as error:
            return f"jobmon could not search for it: {error}"
        if isinstance(result, Unreachable):
            return f"Slurm is not responding ({result.why})"
        return result


def _after_failure(result: JobRef | NotListed | str) -> tuple[JobRef | None, str]:
    match result:
        case str(problem):
            note = f"Slurm may have accepted the job, but {problem}"
            return None, f"{note}; check with `squeue` before you submit it again"
        case NotListed():
            return None, "the job was not submitted: the queue has no new job of yours"
        case JobRef():
            return result, f"sbatch failed, but Slurm accepted the job as {result}; do not submit it again"


def _after_success(result: JobRef | NotListed | str) -> tuple[JobRef | None, str]:
    match result:
        case str(problem):
            note = f"jobmon can read no job id in sbatch's output, and {problem}; the job is not watched"
            return None, f"{note}: find its id with `squeue`, then run `jobmon watch ID`"
        case NotListed():
            note = "jobmon can read no job id in sbatch's output, and the queue has no new job of yours"
            return None, f"{note}; the job is not watched"
        case JobRef():
            return (
                result,
                f"sbatch printed no readable job id; jobmon found job {result} by its login session",
            )


def named_cluster(arguments: Sequence[str], environ: Mapping[str, str]) -> str:
    """The clusters named on the command line or by a variable, as written; "" if none.

    ``#SBATCH`` lines are not read. With an option that jobmon does not know, one of the script may be taken
    for one of sbatch; that only affects where jobmon searches.
    """
    try:
        values = [value for name, value in read_with_unknown(arguments)[0] if name == "clusters"]
    except SchedulerRejected:
        values = [_value_at(arguments, position) for position in range(len(arguments))]
    variables = [environ.get(name, "") for name in _CLUSTER_VARIABLES]
    # sbatch uses the last option, and the first variable
    return next((value for value in (*reversed(values), *variables) if value), "")


def _value_at(arguments: Sequence[str], position: int) -> str:
    argument = arguments[position]
    if argument in _CLUSTER_OPTIONS:
        if position + 1 < len(arguments):
            return arguments[position + 1]
        return ""
    name, equals, value = argument.partition("=")
    if equals and name in _CLUSTER_OPTIONS:
        return value
    if argument.startswith("-M"):
        return argument[2:]
    return ""


# seconds before each query; a slurmctld that hangs may respond to a later one
_WAITS_S = (0, 2, 5, 10, 15, 25)
_MAX_ANSWERS = 3
_BUDGET_S = 60.0
_CLOCK_SKEW_S = 2  # between slurmctld, which dates the submission, and this host


@dataclass(frozen=True, slots=True)
class Candidate:
    """A job of the queue, and where it was submitted."""

    ref: JobRef
    session: int
    submit_s: int
    host: str


Sessions = tuple[Candidate, ...] | Unreachable
SearchResult = JobRef | NotListed | Unreachable


def read_sessions(text: str) -> tuple[Candidate, ...]:
    """Parse the output of `commands.sessions`."""
    rows = (line.split(commands.SEP) for line in text.split("\n"))
    candidates = (_candidate(row) for row in rows if len(row) == len(commands.SESSION_FIELDS))
    return tuple(candidate for candidate in candidates if candidate)


def _candidate(row: list[str]) -> Candidate | None:
    array, het, session, submit = (values.number(text) for text in row[:-1])
    job_id = array if het is None else het
    if job_id is None or session is None or submit is None:
        return None
    return Candidate(JobRef(job_id), session, submit, row[-1])


def newest_job(
    candidates: tuple[Candidate, ...],
    session: int,
    host: str,
    since_s: float,
    is_known: Callable[[JobRef], bool],
) -> JobRef | None:
    """The newest job of a session that is not known yet.

    slurmctld names the host by the address that it sees (``login1-ib0``, ``localhost``). So jobs of this host
    are preferred, but others are accepted.
    """
    matching = [
        candidate
        for candidate in candidates
        if candidate.session == session
        and candidate.submit_s >= since_s - _CLOCK_SKEW_S
        and not is_known(candidate.ref)
    ]
    best = max(
        matching, key=lambda it: (_short(it.host) == _short(host), it.submit_s, it.ref.job_id), default=None
    )
    if best:
        return best.ref
    return None


def _short(host: str) -> str:
    return host.partition(".")[0].lower()


def search(
    list_candidates: Callable[[], Sessions],
    choose: Callable[[tuple[Candidate, ...]], JobRef | None],
    sleep: Callable[[float], None],
    clock: Callable[[], float],
) -> SearchResult:
    """Query for about a minute; `Unreachable` if the last query failed."""
    deadline = clock() + _BUDGET_S
    answers = 0
    result: NotListed | Unreachable = NotListed()
    for wait_s in _WAITS_S:
        if clock() + wait_s > deadline:
            break
        sleep(wait_s)
        candidates = list_candidates()
        if isinstance(candidates, Unreachable):
            result = candidates
            continue
        if job := choose(candidates):
            return job
        answers += 1
        result = NotListed()
        if answers == _MAX_ANSWERS:
            break
    return result
