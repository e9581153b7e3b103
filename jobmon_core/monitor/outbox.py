"""Sending what is owed, when it is its turn: noted before the attempt, judged by its receipt, noted again."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.config import Config
from jobmon_core.domain.delivery.outbox import (
    DeliveryOutcome,
    OutboxEntry,
    Receipt,
    apply_receipt,
    mark_attempt,
    unconfirmed_until_s,
)
from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.store.send_queues import SendQueues
from jobmon_core.system.process import die_with_parent
from jobmon_core.system.worker import Worker, WorkerFailed, WorkerRaised

if TYPE_CHECKING:
    from jobmon_core.domain.channels import Route
    from jobmon_core.store.dead_channels import DeadChannels
    from jobmon_core.system.clock import Clock

_ATTEMPT_TIMEOUT_S = 60.0
_MENDED_LOOK_S, _MENDED_WITHIN_S = 30.0, 86_400.0

Send = Callable[[Config, OutboxEntry], Receipt]


@dataclass(frozen=True, slots=True)
class Outbox:
    """How messages leave. The configuration is read for every attempt: a mended one takes effect at once."""

    configuration: Callable[[], Config]
    send: Send
    children: Worker
    clock: Clock
    dead: DeadChannels

    def deliver(self, entry: OutboxEntry, note: Callable[[OutboxEntry], None]) -> OutboxEntry:
        """Make one attempt, or put it off where older messages of other jobs wait for the same channel.

        ``note`` saves the message durably before the attempt is made.

        Raises:
            StorageFailed: the attempt could not be noted, so it was not made.
        """
        try:
            config = self.configuration()
        except ConfigInvalid as error:
            return self._until_mended(entry, error)
        channel = channel_fingerprint(config, entry.message.route)
        if not channel:
            why = f"no {entry.message.route} webhook is configured; after `jobmon init` run `jobmon recover`"
            return replace(entry, given_up=why, channel="")
        attempt = replace(mark_attempt(entry, self.clock.now()), channel=channel)
        if dead := self.dead.why(channel):
            return replace(attempt, attempt_since_s=None, given_up=dead, channel_was_dead=True)
        lanes = SendQueues(self.dead.folder)  # both are what the senders of a channel tell each other
        again_s = unconfirmed_until_s(entry, self.clock.now()) or lanes.request_turn(
            channel, entry.message, self.clock.now()
        )
        if again_s is not None:
            return replace(entry, next_try_s=again_s)
        note(attempt)
        receipt = self._attempt(config, attempt)
        if receipt.outcome is DeliveryOutcome.CHANNEL_DEAD:
            self.dead.mark_dead(channel, receipt.why)
        done = apply_receipt(attempt, receipt, self.clock.now())
        lanes.record_result(channel, done, receipt, self.clock.now())
        return done

    def _until_mended(self, entry: OutboxEntry, error: ConfigInvalid) -> OutboxEntry:
        """Wait for a configuration that is being edited, or that a file server hides; not for ever."""
        now_s = self.clock.now()
        if now_s - entry.message.created_s < _MENDED_WITHIN_S:
            return replace(entry, next_try_s=now_s + _MENDED_LOOK_S)
        faults = "; ".join(error.faults)
        why = f"the configuration has faults: {faults}; after mending them run `jobmon recover`"
        return replace(entry, given_up=why, channel="")

    def _attempt(self, config: Config, entry: OutboxEntry) -> Receipt:
        try:
            monitor = os.getpid()
            return self.children.run(Receipt, lambda: self._send(config, entry, monitor), _ATTEMPT_TIMEOUT_S)
        except WorkerRaised as error:
            # the plain form may do where the full one can't even be built; it must not block the channel
            return Receipt(DeliveryOutcome.REFUSED_BODY, f"a fault of jobmon itself: {error}")
        except WorkerFailed as error:
            return Receipt(DeliveryOutcome.MAYBE_DELIVERED, f"the attempt was cut off: {error}")

    def _send(self, config: Config, entry: OutboxEntry, monitor: int) -> Receipt:
        """Send, in a child that ends with the monitor: its next one would send again, and be overtaken."""
        die_with_parent(monitor)
        return self.send(config, entry)


def reopen(entry: OutboxEntry, config: Config, dead: DeadChannels) -> OutboxEntry:
    """Take up a message that was given up, if its channel has been configured anew or revived since."""
    channel = channel_fingerprint(config, entry.message.route)
    revived = entry.channel_was_dead and not dead.why(channel)
    if not entry.given_up or not channel or (channel == entry.channel and not revived):
        return entry
    return replace(
        entry,
        given_up="",
        channel_was_dead=False,
        attempts=0,
        unconfirmed_attempts=0,
        next_try_s=0.0,
        plain=False,
    )


def channel_fingerprint(config: Config, route: Route) -> str:
    """Return what tells a webhook from any other without giving it away; empty where none is configured.

    Its redacted name would not do: a mended token leaves that as it is.
    """
    webhook = config.webhook(route)
    return f"{webhook} ({zlib.crc32(webhook.url.encode()):08x})" if webhook else ""
