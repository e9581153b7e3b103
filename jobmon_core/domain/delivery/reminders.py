"""What follows an attempt: reminders of a critical message, or another channel that takes a message over."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from jobmon_core.domain.channels import Level
from jobmon_core.domain.delivery.outbox import Field, OutboxEntry
from jobmon_core.domain.delivery.routing import ConfiguredChannel

MAX_REMINDERS = 8  # if the first one comes after 10 minutes, the last one comes after 42 hours
HELD = "not acknowledged"
ACKNOWLEDGED = "acknowledged"
_RECHECK_S = 300.0
_PREFIX = "Not acknowledged: "


def reminder(entry: OutboxEntry, first_after_s: float, now_s: float) -> OutboxEntry | None:
    """Return the reminder of a message that was just delivered; None if there is none.

    The first follows after ``first_after_s`` seconds (0: never), each other after twice the previous wait.
    """
    message = entry.message
    if not first_after_s or entry.delivered_s is None or message.level is not Level.CRITICAL:
        return None
    if entry.reminders >= MAX_REMINDERS:
        return None
    number = entry.reminders + 1
    due_s = now_s + first_after_s * 2**entry.reminders
    again = replace(
        message,
        id=f"{message.id.partition('/again-')[0]}/again-{number}",
        title=f"{_PREFIX}{message.title.removeprefix(_PREFIX)}",
        summary=f"Reminder {number} of at most {MAX_REMINDERS}; `jobmon ack {message.ref}` ends them.",
        attachment="",
        digestible=False,
        created_s=int(due_s),
    )
    return wait_for_ack(
        OutboxEntry(
            again,
            channel=entry.channel,
            held_until_s=due_s,
            reminders=number,
            reminds_of_s=now_s if entry.reminds_of_s is None else entry.reminds_of_s,
        ),
        now_s,
    )


def wait_for_ack(entry: OutboxEntry, now_s: float) -> OutboxEntry:
    """Return a reminder, held until it is due; jobmon looks at it earlier, for an `ack`."""
    due_s = entry.held_until_s or now_s
    return replace(entry, held=HELD, next_try_s=min(due_s, now_s + _RECHECK_S))


def after_ack(entry: OutboxEntry, acked_s: float | None, now_s: float) -> OutboxEntry:
    """Return a reminder: closed if the job was acknowledged since, else held until it is due."""
    if acked_s is not None and acked_s >= (entry.reminds_of_s or 0.0):
        return replace(entry, counted=ACKNOWLEDGED, held="", held_until_s=None)
    is_early = entry.held == HELD and entry.held_until_s is not None and now_s < entry.held_until_s
    if is_early:
        return wait_for_ack(entry, now_s)
    return entry


def takeover(
    entry: OutboxEntry, routed: Iterable[ConfiguredChannel], working: Iterable[ConfiguredChannel]
) -> OutboxEntry | None:
    """Return the entry by which another channel gets a message that was given up; None if none must or can.

    ``routed`` are the channels that get the message anyway, ``working`` all those that may accept one. No
    channel takes over from one that took over itself.
    """
    if not entry.given_up or not entry.channel or entry.instead_of:
        return None
    names = {channel.name for channel in routed} - {entry.channel}
    usable = [channel for channel in working if channel.channel.fingerprint != entry.fingerprint]
    usable.sort(key=lambda channel: channel.name not in names)  # first those that get such messages anyway
    # no fingerprint: the channel is not configured any more. If it was only renamed, its new name is among
    # ``names``, but that channel did not get the message
    is_told_anyway = bool(entry.fingerprint) and any(channel.name in names for channel in usable)
    if not usable or is_told_anyway:
        return None
    note = Field("Instead of", f"channel {entry.channel}: {entry.given_up}")
    message = replace(entry.message, fields=(note, *entry.message.fields))
    return OutboxEntry(
        message, channel=usable[0].name, instead_of=entry.channel, maybe_delivered=entry.maybe_delivered
    )
