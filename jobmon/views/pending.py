"""The screen of ``jobmon why``, and the same for a program."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon.views.model import fields, span
from jobmon.views.progress import moment
from jobmon_core.domain.backends import is_local, scheduler_phrase, uses_slurm
from jobmon_core.domain.before.pending.categories import is_eligible
from jobmon_core.domain.before.pending.explain import explain, pending_tasks, place_text
from jobmon_core.domain.before.pending.model import Category
from jobmon_core.domain.finding import Finding, pending
from jobmon_core.domain.humanize import count, filled, joined
from jobmon_core.domain.slurm.states import Phase, stated_reason

if TYPE_CHECKING:
    from jobmon.views.console import Console, Lines, Rows
    from jobmon.views.model import Json
    from jobmon_core.app.why import PendingAnswer


_NAME_WIDTH = 9
_ENDLESS_S = 300 * 86_400.0  # Slurm counts a job without a time limit as one of a year


def why_lines(answer: PendingAnswer, now_s: float, console: Console) -> Lines:
    """Yield why a job is pending; of a job that is not, one sentence."""
    if not answer.is_pending:
        yield from console.prose(not_pending(answer), hanging="  ")
        return
    yield from console.heading(_heading(answer, now_s), hanging="  ")
    yield from console.rows(_rows(answer, _explanation(answer, now_s), now_s), _NAME_WIDTH, "  ")


def not_pending(answer: PendingAnswer) -> str:
    """Return a sentence about a job that is not pending."""
    job, more = answer.facts.job, f"`jobmon diagnose {answer.ref}`"
    who = f"Job {job.ref} ({job.name})" if job.name else f"Job {job.ref}"
    if answer.never_pending:
        where = " on this machine" if is_local(answer.backend) else ""
        never = f"{who} runs{where} without a queue, so it is never pending"
        return f"{never}; {more} shows whether anything is wrong."
    if job.state.phase in (Phase.ACTIVE, Phase.FINISHING):
        return f"{who} is not pending, it is {job.raw_state}; {more} shows whether anything is wrong."
    if job.state.phase is Phase.UNKNOWN:
        return f"{who} is not known to be pending (state {job.raw_state}); {more} asks all sources."
    return f"{who} is not pending, it has ended: {job.raw_state}; {more} explains how."


def _explanation(answer: PendingAnswer, now_s: float) -> Finding:
    if not uses_slurm(answer.backend):
        reason, scheduler = answer.facts.job.reason, scheduler_phrase(answer.backend, "")
        found = pending(f"waits: {reason or f'{scheduler} has not said for what'}")
        return replace(found, id=Category.UNKNOWN)
    return explain(answer.facts, now_s, lambda at_s: moment(at_s, now_s))


def _heading(answer: PendingAnswer, now_s: float) -> str:
    job = answer.facts.job
    tasks = pending_tasks(answer.facts)
    listed = f"{job.ref}_[{tasks}]" if tasks else str(job.ref)
    text = f"{f'{listed} {job.name}'.rstrip()}: {job.raw_state}"
    if job.submit_s and now_s > job.submit_s:
        text += f" for {span(now_s - job.submit_s)}"
    if reason := stated_reason(job.reason):
        text += f" ({reason})"
    return text


def _rows(answer: PendingAnswer, found: Finding, now_s: float) -> Rows:
    facts = answer.facts
    yield from _as_of(answer, now_s)
    yield "why", f"It {found.text}."
    yield from (("because", text) for text in found.evidence)
    if place := place_text(facts):
        yield "queue", place
    # Slurm estimates no start of a job in a reservation until the reservation begins
    has_start = facts.job.expected_start_s is not None or not facts.job.reservation
    if (
        uses_slurm(answer.backend)
        and is_eligible(Category(found.id))
        and has_start
        and not answer.unreachable
    ):
        yield "start", _start(answer, now_s)
    yield from _suspects(answer)
    if facts.also_pending:
        yield "tasks", f"Also pending: {count(facts.also_pending, 'further task')}."
    if found.advice:
        yield "to do", found.advice
    yield from (("missing", f"Not available: {why}.") for why in facts.unavailable)


def _as_of(answer: PendingAnswer, now_s: float) -> Rows:
    """Yield nothing if the scheduler has just answered."""
    if not answer.unreachable and answer.seen_s is None:
        return
    scheduler = "Slurm" if uses_slurm(answer.backend) else scheduler_phrase(answer.backend, "")
    why, age = f"{scheduler} no longer lists it", ""
    if answer.unreachable:
        why = f"{scheduler} is not responding ({answer.unreachable})"
    if answer.seen_s is not None:
        age = f", {span(now_s - answer.seen_s)} ago"
    yield "as of", f"{why}. This is what jobmon saw last{age}."


def _suspects(answer: PendingAnswer) -> Rows:
    for each in answer.suspects:
        exclude = f"`scontrol update jobid={answer.facts.job.ref} excnodelist={each.node}`"
        yield "node", f"{each.sentence}. Exclude it: {exclude}."


def _start(answer: PendingAnswer, now_s: float) -> str:
    job = answer.facts.job
    expected_s = job.expected_start_s
    if expected_s is None or expected_s <= now_s:
        return "Slurm has no estimate."
    if expected_s - now_s > _ENDLESS_S:
        return "Slurm expects no start: jobs before it have no time limit."
    on = filled("on {}", job.expected_nodes)
    return f"Slurm's estimate: {joined(moment(expected_s, now_s), f'in {span(expected_s - now_s)}', on)}."


def why_json(answer: PendingAnswer, now_s: float) -> Json:
    """Return the documented object of ``jobmon why --json``; what is not known is null or empty."""
    facts, job = answer.facts, answer.facts.job
    found = _explanation(answer, now_s) if answer.is_pending else None
    return {
        "job_id": str(job.ref),
        **fields(
            job, "name", "priority", state="raw_state", submitted_at="submit_s", eligible_at="eligible_s"
        ),
        **fields(answer, "is_pending", "is_watched", as_of="seen_s"),
        "reason": job.reason if found else "",
        **fields(found, category="id"),
        "problem": found.text if found else not_pending(answer),
        "evidence": list(found.evidence) if found else [],
        "action": found.advice if found else "",
        "partition": ",".join(job.partitions),
        "expected_start_at": job.expected_start_s if found else None,
        "expected_nodes": job.expected_nodes if found else "",
        **fields(facts.place, jobs_ahead="ahead", jobs_waiting="others"),
        "pending_tasks": pending_tasks(facts) or None,
        "suspect_nodes": [each.node for each in answer.suspects],
        "unavailable": [*([answer.unreachable] if answer.unreachable else []), *facts.unavailable],
    }
