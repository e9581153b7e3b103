"""Explain why a job is pending: the problem, the evidence, and what its user can do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from jobmon_core.domain.before.pending import own_request
from jobmon_core.domain.before.pending.capacity import unusable_texts
from jobmon_core.domain.before.pending.case import (
    NO_ACTION,
    Case,
    Obstacle,
    Rule,
    by_hint,
    free_sentences,
    limit_before,
    request_sentences,
    time_option,
)
from jobmon_core.domain.before.pending.categories import category_of, reason_name
from jobmon_core.domain.before.pending.model import Category, PendingFacts, Reservation
from jobmon_core.domain.finding import Finding, pending
from jobmon_core.domain.humanize import duration
from jobmon_core.domain.slurm.job_ids import IndexSet

_EARLIER = (
    "No action is needed. A shorter time limit (`scontrol update jobid=JOBID timelimit=...`) may let it "
    "start earlier, as backfill before larger jobs."
)
_CHANGE = "Cancel it (`scancel JOBID`), ask for less or use another partition, and submit it again."
_SHORTER = "`scontrol update jobid=JOBID timelimit={}`"


def explain(facts: PendingFacts, now_s: float, at: Callable[[float], str]) -> Finding:
    """``at`` formats a point in time (Unix seconds) for a sentence."""
    category = category_of(facts.job.reason, facts.job.state)
    found = _RULES.get(category, by_hint)(Case(facts, now_s, at))
    ref = facts.job.ref
    # Slurm holds, releases and changes all components of a het job by the id of the first
    job_id = str(ref) if ref.component is None else str(ref.job_id)
    return replace(found, id=category, advice=found.advice.replace("JOBID", job_id))


def place_text(facts: PendingFacts) -> str:
    """The place in the queue as a sentence; empty if not known."""
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
    """Of an array, those that are explained, e.g. ``4-9``."""
    return str(facts.job.pending_indices or IndexSet(()))


def _scheduling(_case: Case) -> Finding:
    problem = "waits: Slurm has not considered it yet"
    advice = "No action is needed. Slurm looks at new jobs within a minute or so."
    return pending(problem, advice)


def _priority(case: Case) -> Finding:
    earlier, reserved = _blocked(case)
    evidence = (*request_sentences(case), *reserved)
    return pending("waits: jobs with a higher priority come first", earlier or _EARLIER, evidence)


def _resources(case: Case) -> Finding:
    """They are in use, or no node has them."""
    fit, job = case.fit, case.job
    advice, reserved = _blocked(case)
    needed = job.request.nodes if job.request else 1
    evidence = (*request_sentences(case), *free_sentences(case), *reserved)
    if fit and fit.ever + fit.if_usable < needed:
        problem = f"will not start: {case.facts.where} does not have what it asks for"
        return pending(problem, _CHANGE, evidence)
    if fit and fit.ever < needed:
        problem = f"waits: too many nodes of {case.facts.where} are down, drained or not responding"
        down = tuple(unusable_texts(case.facts.nodes or ()))
        advice = "It starts when the nodes are back; `sinfo -R` shows why they are not."
        return pending(problem, advice, (*evidence, *down))
    problem = "waits: the resources that it asks for are not free"
    return pending(problem, advice or _EARLIER, evidence)


def _blocked(case: Case) -> tuple[str, tuple[str, ...]]:
    """With which time limit the job could start before reservations, and which keep it from nodes."""
    found = case.obstacles()
    if not found:
        return "", ()
    evidence = tuple(_obstacle_text(case, each) for each in found[:2])
    action = ""
    if (limit_s := limit_before(found[0], case.now_s)) and found[0].takes_all:
        kind = "maintenance reservation" if found[0].reservation.is_maintenance else "reservation"
        shorter = _SHORTER.format(time_option(limit_s))
        action = (
            f"With a time limit of {duration(limit_s)} or less ({shorter}), it could start before the {kind}."
        )
    return action, evidence


def _obstacle_text(case: Case, obstacle: Obstacle) -> str:
    each = obstacle.reservation
    what = "Maintenance reservation" if each.is_maintenance else "Reservation"
    on = "all nodes it could use" if obstacle.takes_all else each.nodes
    if obstacle.is_active:
        until = f" until {case.at(each.end_s)}" if each.end_s else ""
        return f"{what} {each.name} has {on}{until}."
    limit = f"its time limit is {duration(case.job.limit_s)}" if case.job.limit_s else "it has no time limit"
    return f"{what} {each.name} takes {on} ({_period(case, each)}), and {limit}."


def _period(case: Case, reservation: Reservation) -> str:
    """``Tue 08:00 to Tue 17:00``."""
    times = (case.at(each) if each else "?" for each in (reservation.start_s, reservation.end_s))
    return " to ".join(times)


def _reservation(case: Case) -> Finding:
    """It is not active yet, or keeps the job from its nodes."""
    job = case.job
    own = next((each for each in case.facts.reservations if each.name == job.reservation), None)
    if own and reason_name(job.reason) == "Reservation":
        starts_later = own.start_s is not None and own.start_s > case.now_s
        problem = f"waits for its reservation {own.name}"
        advice = NO_ACTION if starts_later else "It starts when nodes of the reservation are free."
        return pending(problem, advice, (f"The reservation lasts from {_period(case, own)}.",))
    if reason_name(job.reason) in ("ReservationDeleted", "ReservationInvalid"):
        return by_hint(case)
    advice, evidence = _blocked(case)
    problem = "waits: nodes that it needs are reserved"
    if any(each.reservation.is_maintenance for each in case.obstacles()):
        problem = "waits: a maintenance reservation takes nodes that it needs"
    advice = advice or "It starts after the reservation; `scontrol show reservation` lists all."
    return pending(problem, advice, evidence)


def _nodes(case: Case) -> Finding:
    earlier, reserved = _blocked(case)
    down = tuple(unusable_texts(case.facts.nodes or ()))
    wanted = f"It asks for the nodes {case.job.requested_nodes}." if case.job.requested_nodes else ""
    evidence = tuple(filter(None, (wanted, *down, *reserved)))
    problem = "waits: nodes that it needs are down, drained or reserved"
    advice = earlier or "It starts when they are back. `sinfo -R` shows why nodes are down or drained."
    if case.job.requested_nodes and not earlier:
        advice = (
            "It starts when they are back. To use other nodes, drop this request: "
            "`scontrol update jobid=JOBID reqnodelist=`."
        )
    return pending(problem, advice, evidence)


_RULES: dict[Category, Rule] = {
    Category.SCHEDULING: _scheduling,
    Category.PRIORITY: _priority,
    Category.RESOURCES: _resources,
    Category.RESERVATION: _reservation,
    Category.NODES: _nodes,
    Category.LIMIT: own_request.limit,
    Category.DEPENDENCY: own_request.dependency,
    Category.BEGIN_TIME: own_request.begin_time,
    Category.LICENSES: own_request.licenses,
    Category.CONSTRAINTS: own_request.constraints,
    Category.ARRAY_LIMIT: own_request.array_limit,
    Category.PARTITION: own_request.partition,
    Category.ACCOUNT: own_request.account,
}
