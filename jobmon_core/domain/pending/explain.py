"""Explain why a job is pending: the problem, the evidence, and what its user can do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from jobmon_core.domain.pending import own_request, room
from jobmon_core.domain.pending.case import Case, Rule, by_hint
from jobmon_core.domain.pending.categories import category_of
from jobmon_core.domain.pending.model import Category, Explanation, PendingFacts
from jobmon_core.domain.slurm.job_ids import IndexSet

_RULES: dict[Category, Rule] = {
    Category.SCHEDULING: room.scheduling,
    Category.PRIORITY: room.priority,
    Category.RESOURCES: room.resources,
    Category.RESERVATION: room.reservation,
    Category.NODES: room.nodes,
    Category.LIMIT: own_request.limit,
    Category.DEPENDENCY: own_request.dependency,
    Category.BEGIN_TIME: own_request.begin_time,
    Category.LICENSES: own_request.licenses,
    Category.CONSTRAINTS: own_request.constraints,
    Category.ARRAY_LIMIT: own_request.array_limit,
    Category.PARTITION: own_request.partition,
    Category.ACCOUNT: own_request.account,
}


def explain(facts: PendingFacts, now_s: float, at: Callable[[float], str]) -> Explanation:
    """Return why a job is pending; ``at`` formats a point in time (Unix seconds) for a sentence."""
    rule = _RULES.get(category_of(facts.job.reason, facts.job.state), by_hint)
    found = rule(Case(facts, now_s, at))
    ref = facts.job.ref
    # Slurm holds, releases and changes all components of a het job by the id of the first
    job_id = str(ref) if ref.component is None else str(ref.job_id)
    return replace(found, action=found.action.replace("JOBID", job_id))


def place_text(facts: PendingFacts) -> str:
    """Return the place in the queue as a sentence; empty if it is not known."""
    place, where = facts.place, facts.where
    if place is None:
        return ""
    if not place.others:
        return f"No other job waits in {where}."
    if place.others == 1:
        return f"The only other job that waits in {where} comes {'before' if place.ahead else 'after'} it."
    if not place.ahead:
        return f"It is the first of the {place.others + 1:,} jobs that wait in {where}."
    come = "comes" if place.ahead == 1 else "come"
    return f"{place.ahead:,} of the {place.others:,} other jobs that wait in {where} {come} before it."


def pending_tasks(facts: PendingFacts) -> str:
    """Return which tasks of an array the explanation is about, e.g. ``4-9``; empty for any other job."""
    return str(facts.job.pending_indices or IndexSet(()))
