"""When the card of a job is posted and edited.

A job has a card once it has been watched for a minute without ending: the many jobs that fail earlier only
get their message. The card is then looked at when the job's phase changes and at intervals that grow with the
time in the phase; it is edited if its content has changed.
"""

from __future__ import annotations

from dataclasses import replace

from jobmon_core.domain.delivery.card import CardPhase, JobCard
from jobmon_core.domain.job.tracking.model import WatchedJob
from jobmon_core.domain.job.tracking.policy import Policy
from jobmon_core.domain.slurm.states import Phase

_FIRST_AFTER_S = 60.0
_SHORTEST_S, _LONGEST_S = 60.0, 600.0
_SHARE = 0.1  # of the time in the phase passes until the next look
_FINAL_WITHIN_S = 600.0  # a channel that accepts no final edit for so long after the end keeps the old card


def phase_of(job: WatchedJob) -> CardPhase:
    """Return the phase of a job as its card shows it."""
    if job.closed:
        return CardPhase.OVER
    is_pending = all(task.state.phase is Phase.WAITING for task in job.tasks.values())
    if is_pending:
        return CardPhase.PENDING
    return CardPhase.RUNNING


def card_due_s(job: WatchedJob, policy: Policy) -> float | None:
    """Return when to look at the card of a job; None for never."""
    card = job.card
    is_too_late = (job.closed or job.ended) and not card.message_id
    if card.closed or not policy.cards or is_too_late:
        return None
    due_s = 0.0
    if card.phase is phase_of(job):
        due_s = card.next_s
    if card.message_id:
        return due_s
    return max(due_s, job.registered_s + _FIRST_AFTER_S)


def settle_card(job: WatchedJob, policy: Policy, now_s: float) -> WatchedJob:
    """Close the card of a job if cards were turned off, or if its final edit failed for long."""
    is_late = job.concluded_s is not None and now_s - job.concluded_s >= _FINAL_WITHIN_S
    if job.card.is_open and (is_late or not policy.cards):
        why = "cards were turned off"
        if policy.cards:
            why = "the channel did not accept the final edit"
        return replace(job, card=closed_card(job.card, why))
    return job


def current_card(job: WatchedJob, now_s: float) -> JobCard:
    """Return the card of a job that shows its current state; the card of a closed job is closed."""
    since_s = job.registered_s
    if (phase := phase_of(job)) is CardPhase.RUNNING:
        since_s = min((task.start_s for task in job.tasks.values() if task.start_s), default=since_s)
    interval_s = min(_LONGEST_S, max(_SHORTEST_S, _SHARE * (now_s - since_s)))
    return replace(job.card, phase=phase, next_s=now_s + interval_s, closed=job.closed)


def postponed_card(job: WatchedJob, until_s: float) -> JobCard:
    """Return a card that could not be posted or edited, to be looked at again at ``until_s``."""
    return replace(job.card, phase=phase_of(job), next_s=until_s)


def closed_card(card: JobCard, why: str) -> JobCard:
    """Return a card that is not edited any more, for a reason other than the end of its job."""
    return replace(card, closed=True, problem=why)
