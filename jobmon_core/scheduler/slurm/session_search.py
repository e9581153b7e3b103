"""Find a job whose id sbatch did not tell: by the login session that it was submitted from."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass

from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import NotListed, Unreachable
from jobmon_core.scheduler.base import Submitted
from jobmon_core.scheduler.slurm import commands, values

# how long to wait before each look: a slurmctld that hung answers when it comes back
_WAITS_S = (0, 2, 5, 10, 15, 25)
# so many answers without the job, seconds apart: a request that came before them has been served by now
_ANSWERS = 3
_BUDGET_S = 60.0
_SKEW_S = 2  # of slurmctld's clock, which stamps the submission, against ours


@dataclass(frozen=True, slots=True)
class Origin:
    """Where and when a submission was made."""

    session: int  # getsid(), which sbatch sends along
    host: str
    since_s: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A job of the queue, and where it was submitted."""

    ref: JobRef
    session: int
    submit_s: int
    host: str


Sessions = tuple[Candidate, ...] | Unreachable
Found = JobRef | NotListed | Unreachable


def read_sessions(text: str) -> tuple[Candidate, ...]:
    """Read the rows that `commands.sessions` asks for; a row that makes no sense is left out."""
    rows = (line.split(commands.SEP) for line in text.split("\n"))
    found = (_candidate(row) for row in rows if len(row) == len(commands.SESSION_FIELDS))
    return tuple(candidate for candidate in found if candidate)


def _candidate(row: list[str]) -> Candidate | None:
    array, het, session, submit = (values.number(text) for text in row[:-1])
    job_id = array if het is None else het
    if job_id is None or session is None or submit is None:
        return None
    return Candidate(JobRef(job_id), session, submit, row[-1])


def newest(
    candidates: tuple[Candidate, ...], origin: Origin, already_known: Callable[[JobRef], bool]
) -> JobRef | None:
    """Choose the newest job of that session that nobody has claimed.

    slurmctld names the host by the address that it sees (``login1-ib0``, ``localhost``): a host of our
    name is preferred, no other is refused.
    """
    ours = [
        candidate
        for candidate in candidates
        if candidate.session == origin.session
        and candidate.submit_s >= origin.since_s - _SKEW_S
        and not already_known(candidate.ref)
    ]
    best = max(
        ours,
        key=lambda it: (_short(it.host) == _short(origin.host), it.submit_s, it.ref.job_id),
        default=None,
    )
    return best.ref if best else None


def _short(host: str) -> str:
    return host.partition(".")[0].lower()


def search(
    look: Callable[[], Sessions],
    choose: Callable[[tuple[Candidate, ...]], JobRef | None],
    sleep: Callable[[float], None],
    clock: Callable[[], float],
) -> Found:
    """Look until the job is there, or surely is not, or for a minute; the last answer says which."""
    deadline = clock() + _BUDGET_S
    answers = 0
    last: NotListed | Unreachable = NotListed()
    for wait_s in _WAITS_S:
        if clock() + wait_s > deadline:
            break
        sleep(wait_s)
        candidates = look()
        if isinstance(candidates, Unreachable):
            last = candidates
            continue
        found = choose(candidates)
        if found:
            return found
        answers += 1
        last = NotListed()
        if answers == _ANSWERS:
            break
    return last


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
