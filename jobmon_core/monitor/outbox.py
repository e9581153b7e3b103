"""Sends the messages of an outbox: save the attempt, send, and return the entry with the result."""

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
_CONFIG_RETRY_S, _CONFIG_DEADLINE_S = 30.0, 86_400.0  # while the configuration is invalid

Send = Callable[[Config, OutboxEntry], Receipt]


@dataclass(frozen=True, slots=True)
class Outbox:
    """Delivers messages. Every attempt reads the configuration, so that a change takes effect at once."""

    configuration: Callable[[], Config]
    send: Send
    worker: Worker
    clock: Clock
    dead_channels: DeadChannels

    def deliver(self, entry: OutboxEntry, note: Callable[[OutboxEntry], None]) -> OutboxEntry:
        """Make one attempt, or postpone it if older messages of other jobs wait for the same channel.

        Args:
            entry: the message.
            note: saves the entry durably; called before the attempt is made.

        Returns:
            The entry with the result.

        Raises:
            StorageFailed: the attempt could not be saved, so it was not made.
        """
        try:
            config = self.configuration()
        except ConfigInvalid as error:
            return self._wait_for_config(entry, error)
        channel = channel_fingerprint(config, entry.message.route)
        if not channel:
            why = f"no {entry.message.route} webhook is configured; after `jobmon init` run `jobmon recover`"
            return replace(entry, given_up=why, channel="")
        attempt = replace(mark_attempt(entry, self.clock.now()), channel=channel)
        if why := self.dead_channels.why(channel):
            return replace(attempt, attempt_since_s=None, given_up=why, channel_was_dead=True)
        queues = SendQueues(self.dead_channels.folder)
        next_try_s = unconfirmed_until_s(entry, self.clock.now()) or queues.request_turn(
            channel, entry.message, self.clock.now()
        )
        if next_try_s is not None:
            return replace(entry, next_try_s=next_try_s)
        note(attempt)
        receipt = self._attempt(config, attempt)
        if receipt.outcome is DeliveryOutcome.CHANNEL_DEAD:
            self.dead_channels.mark_dead(channel, receipt.why)
        result = apply_receipt(attempt, receipt, self.clock.now())
        queues.record_result(channel, result, receipt, self.clock.now())
        return result

    def _wait_for_config(self, entry: OutboxEntry, error: ConfigInvalid) -> OutboxEntry:
        """Postpone the message until the configuration is valid again; give it up after a day."""
        now_s = self.clock.now()
        if now_s - entry.message.created_s < _CONFIG_DEADLINE_S:
            return replace(entry, next_try_s=now_s + _CONFIG_RETRY_S)
        faults = "; ".join(error.faults)
        why = f"the configuration is invalid: {faults}; correct it and run `jobmon recover`"
        return replace(entry, given_up=why, channel="")

    def _attempt(self, config: Config, entry: OutboxEntry) -> Receipt:
        try:
            monitor = os.getpid()
            return self.worker.run(Receipt, lambda: self._send(config, entry, monitor), _ATTEMPT_TIMEOUT_S)
        except WorkerRaised as error:
            # the plain form of the message may work where the full one cannot even be built
            return Receipt(DeliveryOutcome.REFUSED_BODY, f"internal error: {error}")
        except WorkerFailed as error:
            return Receipt(DeliveryOutcome.MAYBE_DELIVERED, f"the attempt was interrupted: {error}")

    def _send(self, config: Config, entry: OutboxEntry, monitor: int) -> Receipt:
        """Send in a child process that dies with the monitor, or it might send after the next monitor has."""
        die_with_parent(monitor)
        return self.send(config, entry)


def reopen(entry: OutboxEntry, config: Config, dead: DeadChannels) -> OutboxEntry:
    """Reset a message that was given up, if its channel was changed or cleared since; return the entry."""
    channel = channel_fingerprint(config, entry.message.route)
    is_cleared = entry.channel_was_dead and not dead.why(channel)
    if not entry.given_up or not channel or (channel == entry.channel and not is_cleared):
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
    """Return an identifier of the configured webhook that does not reveal it; empty if none is configured.

    The redacted URL alone would not change with the token.
    """
    webhook = config.webhook(route)
    return f"{webhook} ({zlib.crc32(webhook.url.encode()):08x})" if webhook else ""
