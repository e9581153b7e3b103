"""Posts and edits the card of a job; a monitor calls this in a short-lived helper process.

A monitor that is killed after a card was posted and before that is saved leaves a card that nobody edits; the
next monitor posts another one.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.domain.channels import DeliveryOutcome, Receipt, Route
from jobmon_core.domain.delivery.card import CardChannel, CardPhase
from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.domain.messages.card import card_of
from jobmon_core.domain.messages.card_schedule import closed_card, current_card, phase_of, postponed_card
from jobmon_core.system.json_codec import to_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.context import Context
    from jobmon_core.domain.config import Config
    from jobmon_core.domain.delivery.card import Card, JobCard
    from jobmon_core.domain.job.tracking.model import WatchedJob
    from jobmon_core.domain.node.telemetry.model import AgentReport

_LATER_S = 60.0  # after a failure, unless the channel says how long to wait


def updated_card(ctx: Context, job: WatchedJob) -> JobCard:
    """Post the card of a job, or edit it if its content has changed; return what to remember of it."""
    now_s = ctx.clock.now()
    try:
        config = ctx.configuration()
    except ConfigInvalid:  # the next message reports it
        return postponed_card(job, now_s + _LATER_S)
    to = _channel_for(ctx, config, job.card)
    if to is None:
        why = "no channel for successes takes cards, or the channel was changed or refuses all messages"
        return closed_card(job.card, why)
    content = card_of(job, ctx.progress_file(job.id).read(), tuple(_reports(ctx, job)), now_s)
    shown = _checksum(content)
    if job.card.message_id and shown == job.card.shown:
        return current_card(job, now_s)
    again_s, is_full = ctx.channel_files.request_card_turn(
        to.fingerprint,
        job.id,
        now_s,
        is_posted=bool(job.card.message_id),
        is_pending=phase_of(job) is CardPhase.PENDING,
    )
    if is_full and phase_of(job) is CardPhase.RUNNING:
        return closed_card(job.card, "other jobs have all the cards")
    if again_s is not None:
        return postponed_card(job, again_s)
    receipt, card = _send(to, job, content, now_s)
    card = replace(card, shown=shown) if receipt.is_delivered else card
    ctx.channel_files.record_card_result(
        to.fingerprint, job.id, receipt, ctx.clock.now(), is_closed=card.closed
    )
    return card


def _channel_for(ctx: Context, config: Config, card: JobCard) -> CardChannel | None:
    """Return the channel of the card; of a card not yet posted, the first for successes that takes cards.

    None without one, e.g. if the card's channel was changed, removed, or refuses all messages.
    """
    for configured in config.channels_for(Route.SUCCESS):
        channel = configured.channel
        if not isinstance(channel, CardChannel) or card.fingerprint not in ("", channel.fingerprint):
            continue
        if not ctx.channel_files.why_dead(channel.fingerprint):
            return channel
    return None


def _reports(ctx: Context, job: WatchedJob) -> Iterator[AgentReport]:
    for key in job.tasks if len(job.tasks) == 1 else ():
        telemetry = ctx.telemetry(job.id, key)
        yield from (telemetry.report(node) for node in telemetry.nodes())


def _checksum(content: Card) -> str:
    return f"{zlib.crc32(json.dumps(to_json(content)).encode()):08x}"


def _send(to: CardChannel, job: WatchedJob, content: Card, now_s: float) -> tuple[Receipt, JobCard]:
    """Make one attempt; return its result and what to remember of the card."""
    card = current_card(job, now_s)
    if job.card.message_id:
        receipt = to.edit_card(job.card.message_id, content, now_s)
    else:
        receipt, message_id = to.post_card(content, now_s)
        card = replace(card, message_id=message_id, fingerprint=to.fingerprint)
    match receipt.outcome:
        case DeliveryOutcome.DELIVERED if card.message_id:
            return receipt, card
        case DeliveryOutcome.TRY_AGAIN:
            return receipt, postponed_card(job, now_s + (receipt.retry_after_s or _LATER_S))
        case DeliveryOutcome.MAYBE_DELIVERED if job.card.message_id:  # an edit does no harm twice
            return receipt, postponed_card(job, now_s + _LATER_S)
        case _:
            why = receipt.why or "the channel did not say which message it is"
            return receipt, closed_card(job.card, why)
