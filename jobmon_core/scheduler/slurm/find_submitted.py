"""Find a job whose id sbatch did not print, by the login session that it was submitted from."""

from __future__ import annotations

import os
import sys
import time
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import CommandBusy
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import NotListed, Unreachable
from jobmon_core.scheduler.base import Submission, Submitted
from jobmon_core.scheduler.slurm import commands, sbatch_output, values

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from jobmon_core.system.runner import Ran

_CLUSTER_VARIABLES = ("SBATCH_CLUSTERS", "SLURM_CLUSTERS")  # sbatch(1), INPUT ENVIRONMENT VARIABLES
# seconds before each attempt; a slurmctld that hung answers when it comes back
_WAITS_S = (0, 2, 5, 10, 15, 25)
_MAX_ANSWERS = 3  # without the job; by then slurmctld has handled every earlier request
_BUDGET_S = 60.0
_CLOCK_SKEW_S = 2  # between slurmctld, which dates the submission, and this host


@dataclass(frozen=True, slots=True)
class Candidate:
    """A job of the queue, and when and from which login session it was submitted."""

    ref: JobRef
    session: int  # getsid() of sbatch, which sends it to slurmctld
    submit_s: int


Sessions = tuple[Candidate, ...] | Unreachable
SearchResult = JobRef | NotListed | Unreachable


def _print(text: str) -> None:
    with suppress(OSError):  # a closed terminal must not stop the search
        print(f"jobmon: {text}", file=sys.stderr)


@dataclass(frozen=True, slots=True)
class SearchDeps:
    """The effects of a search.

    Attributes:
        is_known: whether a job is already watched, so that it cannot be the new one.
        tell: prints a message to the user.
        sleep: waits some seconds.
        clock: returns the time in Unix seconds.
        lock: excludes other searches, so that no two of them choose the same job.
    """

    is_known: Callable[[JobRef], bool] = lambda _ref: False
    tell: Callable[[str], None] = _print
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.time
    lock: Callable[[], AbstractContextManager[None]] = nullcontext


def resolve(
    ran: Ran,
    arguments: Sequence[str],
    started_s: int,
    *,
    list_sessions: Callable[[str], Sessions],
    deps: SearchDeps,
    on_job: Callable[[Submitted], None],
) -> Submission:
    """Return the result of an sbatch without a job id; search for the job if Slurm may have accepted one.

    ``on_job`` gets the job while the search lock is held.
    """
    if sbatch_output.may_have_been_accepted(ran.exit_code, ran.stderr):
        deps.tell("sbatch failed, but Slurm may have accepted the job; searching for up to a minute")
        explain = _after_failure
    elif sbatch_output.printed_no_job_id(ran.exit_code, ran.stdout, ran.stderr):
        deps.tell("sbatch printed no job id (--quiet?); searching for the job in the queue")
        explain = _after_success
    else:
        return Submission(ran.exit_code, None)
    cluster = named_cluster(arguments, os.environ)

    def choose(candidates: tuple[Candidate, ...]) -> JobRef | None:
        with deps.lock():
            job = newest_job(candidates, os.getsid(0), started_s, deps.is_known)
            if job:
                on_job(Submitted(job, cluster))
            return job

    if "," in cluster or cluster == "all":
        why = f"it may be on any of the clusters {cluster}; check squeue -M {cluster} --me"
        result: SearchResult = Unreachable(why)
    else:
        result = search(lambda: list_sessions(cluster), choose, deps)
    job = result if isinstance(result, JobRef) else None
    return Submission(ran.exit_code, Submitted(job, cluster) if job else None, explain(result))


def _after_failure(result: SearchResult) -> str:
    match result:
        case Unreachable(why):
            note = f"Slurm may have accepted the job, but does not answer now ({why})"
            return f"{note}; check with squeue before you submit it again"
        case NotListed():
            return "the queue has no new job of yours: it was not submitted"
        case JobRef():
            return f"sbatch failed, but Slurm accepted the job as {result}; do not submit it again"


def _after_success(result: SearchResult) -> str:
    match result:
        case Unreachable(why):
            return f"sbatch printed no job id and Slurm does not answer ({why}): the job is not watched"
        case NotListed():
            return "sbatch printed no job id and the queue has no new job of yours: it is not watched"
        case JobRef():
            return f"sbatch printed no job id; by its login session the job is {result}"


def read_sessions(text: str) -> tuple[Candidate, ...]:
    """Parse the output of `commands.sessions`; invalid rows are skipped."""
    rows = (line.split(commands.SEP) for line in text.split("\n"))
    candidates = (_candidate(row) for row in rows if len(row) == len(commands.SESSION_FIELDS))
    return tuple(candidate for candidate in candidates if candidate)


def _candidate(row: list[str]) -> Candidate | None:
    array, het, session, submit = (values.number(text) for text in row)
    job_id = array if het is None else het
    if job_id is None or session is None or submit is None:
        return None
    return Candidate(JobRef(job_id), session, submit)


def newest_job(
    candidates: tuple[Candidate, ...], session: int, since_s: int, is_known: Callable[[JobRef], bool]
) -> JobRef | None:
    """Return the newest job of that session since then (Unix seconds) that is not known yet."""
    matching = [
        candidate
        for candidate in candidates
        if candidate.session == session
        and candidate.submit_s >= since_s - _CLOCK_SKEW_S
        and not is_known(candidate.ref)
    ]
    best = max(matching, key=lambda it: (it.submit_s, it.ref.job_id), default=None)
    return best.ref if best else None


def search(
    list_candidates: Callable[[], Sessions],
    choose: Callable[[tuple[Candidate, ...]], JobRef | None],
    deps: SearchDeps,
) -> SearchResult:
    """Query until the job is found or certainly missing, for about a minute at most."""
    deadline = deps.clock() + _BUDGET_S
    answers = 0
    result: NotListed | Unreachable = NotListed()
    for wait_s in _WAITS_S:
        if answers == _MAX_ANSWERS or deps.clock() + wait_s > deadline:
            break
        deps.sleep(wait_s)
        candidates = list_candidates()
        if isinstance(candidates, Unreachable):
            result = candidates
            continue
        try:
            job = choose(candidates)
        except CommandBusy as error:
            return Unreachable(str(error))
        if job:
            return job
        answers += 1
        result = NotListed()
    return result


def named_cluster(arguments: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return the clusters that the user named, as written; empty for the local one.

    It may mistake an option of the script for one of sbatch: good enough to know where to search.
    """
    from argparse import ArgumentError, ArgumentParser  # rarely needed, and the user waits

    parser = ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    parser.add_argument("-M", "--clusters", "--cluster", default="")
    named = [environ[name] for name in _CLUSTER_VARIABLES if environ.get(name)]
    with suppress(ArgumentError):  # -M without a value, which sbatch rejects
        named.insert(0, parser.parse_known_args(arguments)[0].clusters)
    return next(filter(None, named), "")
