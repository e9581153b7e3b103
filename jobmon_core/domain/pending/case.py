"""What every rule that explains a pending job starts from, and the sentences that several of them share.

Times in sentences are formatted by the caller, who knows the time zone. JOBID stands for the job's id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from jobmon_core.domain.humanize import count
from jobmon_core.domain.pending.capacity import Fit, fit_of, free_text, is_usable, request_text
from jobmon_core.domain.pending.categories import category_of, pending_words
from jobmon_core.domain.pending.model import Category, Explanation, PendingFacts, PendingJob
from jobmon_core.domain.pending.reserved import Obstacle, obstacles
from jobmon_core.domain.slurm.node_list import node_names
from jobmon_core.domain.slurm.pending_reasons import RELEASE, pending_hint
from jobmon_core.domain.slurm.states import JobState

NO_ACTION = "No action is needed: it starts by itself."


class Case(NamedTuple):
    """What a rule explains; ``at`` formats a time."""

    facts: PendingFacts
    now_s: float
    at: Callable[[float], str]

    @property
    def job(self) -> PendingJob:
        """The pending job, or the pending tasks of an array."""
        return self.facts.job

    @property
    def fit(self) -> Fit | None:
        """On how many nodes the job fits; None if the nodes or the request are not known."""
        if self.facts.nodes is None or self.job.request is None:
            return None
        return fit_of(self.job.request, self.facts.nodes)

    def obstacles(self) -> list[Obstacle]:
        """Return the reservations that the job would run into on the nodes it could use."""
        nodes, wanted = self.facts.nodes or (), node_names(self.job.requested_nodes)
        names = [node.name for node in nodes if is_usable(node)] or [node.name for node in nodes]
        return obstacles(self.job, self.facts.reservations, wanted or names, self.now_s)


Rule = Callable[[Case], Explanation]


def by_hint(case: Case) -> Explanation:
    """Explain by the hint for the reason, if there is one."""
    reason, state = case.job.reason, case.job.state
    category = category_of(reason, state)
    if category is Category.HELD and state in (JobState.SPECIAL_EXIT, JobState.REQUEUE_HOLD):
        return Explanation(category, "was requeued after it failed, and is held", (), RELEASE)
    if hint := pending_hint(reason):
        return Explanation(category, hint.problem, (), hint.advice)
    words = pending_words(reason)
    problem = f"waits: {words or f'Slurm gives the reason {reason}'}"
    return Explanation(category, problem, (), NO_ACTION if words else "")


def request_sentences(case: Case) -> Iterator[str]:
    """Yield what the job asks for, if that is known."""
    if case.job.request:
        yield f"It asks for {request_text(case.job.request)}."


def free_sentences(case: Case) -> Iterator[str]:
    """Yield on how many nodes the job fits now, and what is free."""
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
