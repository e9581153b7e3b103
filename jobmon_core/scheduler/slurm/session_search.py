"""Find a job whose id sbatch did not print, by the login session that it was submitted from."""

from __future__ import annotations

import sys
import time
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import NotListed, Unreachable
from jobmon_core.scheduler.slurm import commands, values

if TYPE_CHECKING:
    from collections.abc import Callable

# seconds before each query; a slurmctld that hangs may respond to a later one
_WAITS_S = (0, 2, 5, 10, 15, 25)
# after this many answers without the job, jobmon assumes that slurmctld has handled the request of sbatch
_MAX_ANSWERS = 3
_BUDGET_S = 60.0
_CLOCK_SKEW_S = 2  # between slurmctld, which dates the submission, and this host


@dataclass(frozen=True, slots=True)
class Origin:
    """Where and when a submission was made."""

    session: int  # getsid(), which sbatch sends to slurmctld
    host: str
    since_s: int  # Unix seconds


@dataclass(frozen=True, slots=True)
class Candidate:
    """A job of the queue, and where it was submitted."""

    ref: JobRef
    session: int
    submit_s: int
    host: str


Sessions = tuple[Candidate, ...] | Unreachable
SearchResult = JobRef | NotListed | Unreachable


def _print(text: str) -> None:
    with suppress(OSError):  # a closed terminal must not stop the search
        print(f"jobmon: {text}", file=sys.stderr)


def _never_known(_ref: JobRef) -> bool:
    return False


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

    is_known: Callable[[JobRef], bool] = _never_known
    tell: Callable[[str], None] = _print
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.time
    lock: Callable[[], AbstractContextManager[None]] = nullcontext


def read_sessions(text: str) -> tuple[Candidate, ...]:
    """Parse the output of `commands.sessions`; invalid rows are skipped."""
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
    candidates: tuple[Candidate, ...], origin: Origin, is_known: Callable[[JobRef], bool]
) -> JobRef | None:
    """Return the newest job of that session that is not known yet.

    slurmctld names the host by the address that it sees (``login1-ib0``, ``localhost``). So a job of this
    host is preferred, but jobs of other hosts are accepted.
    """
    matching = [
        candidate
        for candidate in candidates
        if candidate.session == origin.session
        and candidate.submit_s >= origin.since_s - _CLOCK_SKEW_S
        and not is_known(candidate.ref)
    ]
    best = max(
        matching,
        key=lambda it: (_short(it.host) == _short(origin.host), it.submit_s, it.ref.job_id),
        default=None,
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
    """Query for about a minute at most.

    Returns:
        The job; if no query listed it, `NotListed`, or `Unreachable` if the last query failed.
    """
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
