"""Decides whether a message is sent now: mutes, quiet hours, limits and acknowledgements."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.delivery.plan import Situation, targets_of
from jobmon_core.domain.delivery.reminders import after_ack

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.domain.delivery.alert_settings import AlertSettings
    from jobmon_core.domain.delivery.outbox import Message, OutboxEntry
    from jobmon_core.domain.delivery.routing import ConfiguredChannel
    from jobmon_core.store.messages.alerts import AlertFiles


@dataclass(frozen=True, slots=True)
class AlertGate:
    """Decides about the messages of one job, or about messages of no single job."""

    files: AlertFiles
    state_id: str = ""  # of the job; empty: the messages are about no single job
    groups: Callable[[Message], tuple[str, ...]] = lambda _message: ()  # those that a message is about

    def admit(
        self, entry: OutboxEntry, channel: ConfiguredChannel, settings: AlertSettings, now_s: float
    ) -> OutboxEntry:
        """Return the entry of a message that nobody sent yet.

        It is to be sent, held, or closed: a digest lists it, or it is a reminder that was acknowledged.
        """
        user, message = self.files.user(), entry.message
        if entry.reminders:
            entry = after_ack(entry, user.acks.get(self.state_id), now_s)
            if not entry.is_open or entry.next_try_s > now_s:
                return entry
        muted_until_s = None
        if user.mutes:
            targets = targets_of(self.state_id, self.groups(message), message.kind)
            muted_until_s = user.muted_until_s(targets, now_s)
        fingerprint = channel.channel.fingerprint
        is_limited = muted_until_s is not None or settings.limits_messages
        if not (is_limited or self.files.has_history(fingerprint)):
            return replace(entry, held="", held_until_s=None)
        local = time.localtime(now_s)
        situation = Situation(
            level=message.level,
            subject=f"{self.state_id} {message.ref} {message.kind}",
            now_s=now_s,
            minute=60 * local.tm_hour + local.tm_min,
            muted_until_s=muted_until_s,
        )
        return self.files.admit(fingerprint, entry, situation, settings)
