"""Find a job whose id sbatch did not print, by its login session."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import NotListed, Unreachable
from jobmon_core.scheduler.slurm import commands, values

if TYPE_CHECKING:
    from collections.abc import Callable


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
        matching,
        key=lambda it: (_short(it.host) == _short(host), it.submit_s, it.ref.job_id),
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
