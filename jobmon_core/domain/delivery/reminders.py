"""Reminders of a critical message that nobody acknowledged, at growing intervals."""

from __future__ import annotations

from dataclasses import replace

from jobmon_core.domain.channels import Level
from jobmon_core.domain.delivery.outbox import OutboxEntry

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
    """Return the entry of a reminder, held until it is due; jobmon looks at it earlier, for an `ack`."""
    due_s = entry.held_until_s or now_s
    return replace(entry, held=HELD, next_try_s=min(due_s, now_s + _RECHECK_S))


def after_ack(entry: OutboxEntry, acked_s: float | None, now_s: float) -> OutboxEntry:
    """Return the entry of a reminder: closed if the user acknowledged the message, else held until it is due.

    ``acked_s`` is when the user last acknowledged the job.
    """
    if acked_s is not None and acked_s >= (entry.reminds_of_s or 0.0):
        return replace(entry, counted=ACKNOWLEDGED, held="", held_until_s=None)
    is_early = entry.held == HELD and entry.held_until_s is not None and now_s < entry.held_until_s
    return wait_for_ack(entry, now_s) if is_early else entry
