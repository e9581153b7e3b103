"""What became of a job's messages, what the user can do about it, and what is muted and acknowledged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon.views.model import clock
from jobmon_core.domain.humanize import count, filled

if TYPE_CHECKING:
    from jobmon.views.console import Rows
    from jobmon.views.model import Json
    from jobmon_core.app.messages.mute import JobAlerts
    from jobmon_core.domain.delivery.outbox import OutboxEntry
    from jobmon_core.lifecycle.health import JobStatus


def delivery(entry: OutboxEntry, now_s: float) -> str:
    """Return e.g. ``not delivered: connection refused, next try 12:40``."""
    channel = filled(" to channel {!r}", entry.channel)
    if entry.delivered_s is not None:
        repeated = " (perhaps twice)" if entry.maybe_delivered else ""
        return f"delivered{channel} at {clock(entry.delivered_s, now_s)}{repeated}"
    if entry.given_up:
        instead = filled("; channel {!r} gets it instead", entry.told_on)
        return f"not delivered{channel}, given up: {entry.given_up}{instead}"
    if entry.counted:
        return f"not sent{channel} on its own: {entry.counted}"
    if entry.held:
        until = f" until {clock(entry.held_until_s, now_s)}" if entry.held_until_s else ""
        return f"held{channel}{until}: {entry.held}"
    return _pending(entry, channel, now_s)


def _pending(entry: OutboxEntry, channel: str, now_s: float) -> str:
    next_try = "trying now"
    if entry.next_try_s > now_s:
        next_try = f"next try {clock(entry.next_try_s, now_s)}"
    if entry.problem:
        return f"not delivered{channel}: {entry.problem}, {next_try}"
    if entry.attempts:
        return f"not delivered{channel} yet, {count(entry.attempts, 'attempt')}, {next_try}"
    return f"not sent{channel} yet, {next_try}"


def undelivered(status: JobStatus, now_s: float) -> Rows:
    """Yield the state of each undelivered message, and what the user can do about it."""
    for entry in status.job.outbox:
        if not entry.is_undelivered:
            continue
        if status.job.unwatched_s is not None:
            yield "message not delivered: the job is no longer watched", ""
        else:
            yield f"message {delivery(entry, now_s)}", advice(entry, status)


def advice(entry: OutboxEntry, status: JobStatus) -> str:
    """Return what the user can do, unless the text about the message already says it."""
    if not entry.is_undelivered or entry.held or status.job.unwatched_s is not None:
        return ""
    if entry.given_up:
        if "`jobmon" in entry.given_up:
            return "or `jobmon forget --given-up JOB` drops it" if status.job.closed else ""
        return "check the channel with `jobmon test`, then `jobmon replay JOB` sends the message again"
    if status.health.is_lost:
        return "its monitor is gone; `jobmon recover` sends the message"
    if entry.problem:
        return "jobmon keeps trying; `jobmon test` checks the channel"
    return ""


def alert_rows(alerts: JobAlerts, now_s: float) -> Rows:
    """Yield names and values for ``jobmon show``."""
    if alerts.muted_until_s is not None:
        yield "muted", f"until {clock(alerts.muted_until_s, now_s)}; `jobmon mute` lists what you muted"
    if alerts.acknowledged_s is not None:
        yield "ack", f"you acknowledged it at {clock(alerts.acknowledged_s, now_s)}"


def alerts_json(alerts: JobAlerts) -> Json:
    """Return the keys that ``jobmon status --json`` and ``jobmon show --json`` add."""
    return {"muted_until": alerts.muted_until_s, "acknowledged_at": alerts.acknowledged_s}
