"""What every rule that explains a pending job starts from, and the sentences that several share.

The caller, who knows the time zone, formats times. JOBID stands for the job's id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from jobmon_core.domain.before.pending.capacity import Fit, fit_of, free_text, is_usable, request_text
from jobmon_core.domain.before.pending.categories import category_of, pending_words
from jobmon_core.domain.before.pending.model import Category, PendingFacts, PendingJob, Reservation
from jobmon_core.domain.finding import Finding, pending
from jobmon_core.domain.humanize import count
from jobmon_core.domain.slurm.pending_reasons import RELEASE, pending_hint
from jobmon_core.domain.slurm.rows import node_names
from jobmon_core.domain.slurm.states import JobState

_MINUTE_S, _HOUR_S, _DAY_S = 60, 3600, 86_400
_MARGIN_S = 120  # a job that starts this long after the advice still ends before the reservation
_WORTH_IT_S = 300  # a shorter limit is no help
NO_ACTION = "No action is needed: it starts by itself."


class Obstacle(NamedTuple):
    """A reservation of others, on nodes that the job could use."""

    reservation: Reservation  # which ends in the future
    takes_all: bool  # all nodes that the job could use
    is_active: bool  # now


class Case(NamedTuple):
    """What a rule explains."""

    facts: PendingFacts
    now_s: float
    at: Callable[[float], str]

    @property
    def job(self) -> PendingJob:
        """Or the pending tasks of an array."""
        return self.facts.job

    @property
    def fit(self) -> Fit | None:
        """None if the nodes or the request are not known."""
        if self.facts.nodes is None or self.job.request is None:
            return None
        return fit_of(self.job.request, self.facts.nodes)

    def obstacles(self) -> list[Obstacle]:
        """The reservations that the job would run into if it started now on the nodes it could use.

        Those that take all these nodes come first, then the earlier ones.
        """
        nodes, wanted = self.facts.nodes or (), node_names(self.job.requested_nodes)
        usable = [node.name for node in nodes if is_usable(node)]
        names = {*(wanted or usable or (node.name for node in nodes))}
        found = []
        for each in self.facts.reservations:
            reserved = names.intersection(node_names(each.nodes))
            if reserved and each.start_s is not None and self._runs_into(each, each.start_s):
                found.append(Obstacle(each, len(reserved) == len(names), each.start_s <= self.now_s))
        return sorted(found, key=lambda obstacle: (not obstacle.takes_all, obstacle.reservation.start_s or 0))

    def _runs_into(self, reservation: Reservation, start_s: float) -> bool:
        is_own = reservation.name == self.job.reservation
        is_over = reservation.end_s is not None and reservation.end_s <= self.now_s
        if is_own or is_over:
            return False
        return self.job.limit_s is None or self.now_s + self.job.limit_s > start_s


Rule = Callable[[Case], Finding]


def by_hint(case: Case) -> Finding:
    """Explain by the hint for the reason."""
    reason, state = case.job.reason, case.job.state
    category = category_of(reason, state)
    if category is Category.HELD and state in (JobState.SPECIAL_EXIT, JobState.REQUEUE_HOLD):
        return pending("was requeued after it failed, and is held", RELEASE)
    if hint := pending_hint(reason):
        return pending(hint.problem, hint.advice)
    words = pending_words(reason)
    problem = f"waits: {words or f'Slurm gives the reason {reason}'}"
    return pending(problem, NO_ACTION if words else "")


def request_sentences(case: Case) -> Iterator[str]:
    """What the job asks for."""
    if case.job.request:
        yield f"It asks for {request_text(case.job.request)}."


def free_sentences(case: Case) -> Iterator[str]:
    """On how many nodes the job fits now, and what is free."""
    nodes, fit, request = case.facts.nodes, case.fit, case.job.request
    if not nodes or fit is None or request is None:
        return
    has_too_few = fit.ever < request.nodes
    number, when = (fit.ever, "at all") if has_too_few else (fit.now, "free now")
    share = "its share of that" if request.nodes > 1 else "that"
    usable = count(len(nodes) - fit.unusable, "usable node")
    verb = "has" if number == 1 else "have"
    where = case.facts.where
    fits = f"Of {usable} in {where}, {number or 'none'} {verb} {share} {when}"
    yield f"{fits}; free: {free_text(request, nodes)}."


def limit_before(obstacle: Obstacle, now_s: float) -> int | None:
    """The longest useful time limit (seconds) of a job that ends before a reservation begins."""
    if obstacle.is_active or obstacle.reservation.start_s is None:
        return None
    left_s = int(obstacle.reservation.start_s - now_s) - _MARGIN_S
    unit_s = _HOUR_S if left_s > 6 * _HOUR_S else _MINUTE_S  # a round number is easier to remember
    limit_s = left_s // unit_s * unit_s
    return limit_s if limit_s >= _WORTH_IT_S else None


def time_option(limit_s: int) -> str:
    """As sbatch and scontrol read it: ``45:00``, ``2:30:00``, ``2-13:00:00``."""
    days, rest = divmod(limit_s, _DAY_S)
    hours, rest = divmod(rest, _HOUR_S)
    minutes, seconds = divmod(rest, _MINUTE_S)
    if days:
        return f"{days}-{hours:02}:{minutes:02}:{seconds:02}"
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
