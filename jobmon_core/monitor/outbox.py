"""Sending what is owed, when it is its turn: noted before the attempt, judged by its receipt, noted again."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.config import Config
from jobmon_core.domain.delivery.outbox import Owed, Receipt, Verdict, begun, in_doubt_until_s, settled
from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.store.send_queues import Lanes
from jobmon_core.system.process import end_with
from jobmon_core.system.worker import ChildFailed, ChildRaised, Children

if TYPE_CHECKING:
    from jobmon_core.domain.channels import Route
    from jobmon_core.store.dead_channels import DeadChannels
    from jobmon_core.system.clock import Clock

_ATTEMPT_TIMEOUT_S = 60.0
_MENDED_LOOK_S, _MENDED_WITHIN_S = 30.0, 86_400.0

Send = Callable[[Config, Owed], Receipt]


@dataclass(frozen=True, slots=True)
class Outbox:
    """How messages leave. The configuration is read for every attempt: a mended one takes effect at once."""

    configuration: Callable[[], Config]
    send: Send
    children: Children
    clock: Clock
    dead: DeadChannels

    def deliver(self, owed: Owed, note: Callable[[Owed], None]) -> Owed:
        """Make one attempt, or put it off where older messages of other jobs wait for the same channel.

        ``note`` saves the message durably before the attempt is made.

        Raises:
            StorageFailed: the attempt could not be noted, so it was not made.
        """
        try:
            config = self.configuration()
        except ConfigInvalid as error:
            return self._until_mended(owed, error)
        channel = mark(config, owed.message.route)
        if not channel:
            why = f"no {owed.message.route} webhook is configured; after `jobmon init` run `jobmon recover`"
            return replace(owed, given_up=why, channel="")
        attempt = replace(begun(owed, self.clock.now()), channel=channel)
        if dead := self.dead.why(channel):
            return replace(attempt, attempt_since_s=None, given_up=dead, channel_was_dead=True)
        lanes = Lanes(self.dead.folder)  # both are what the senders of a channel tell each other
        again_s = in_doubt_until_s(owed, self.clock.now()) or lanes.ask(
            channel, owed.message, self.clock.now()
        )
        if again_s is not None:
            return replace(owed, next_try_s=again_s)
        note(attempt)
        receipt = self._attempt(config, attempt)
        if receipt.verdict is Verdict.CHANNEL_DEAD:
            self.dead.bury(channel, receipt.why)
        done = settled(attempt, receipt, self.clock.now())
        lanes.leave(channel, done, receipt, self.clock.now())
        return done

    def _until_mended(self, owed: Owed, error: ConfigInvalid) -> Owed:
        """Wait for a configuration that is being edited, or that a file server hides; not for ever."""
        now_s = self.clock.now()
        if now_s - owed.message.made_s < _MENDED_WITHIN_S:
            return replace(owed, next_try_s=now_s + _MENDED_LOOK_S)
        faults = "; ".join(error.faults)
        why = f"the configuration has faults: {faults}; after mending them run `jobmon recover`"
        return replace(owed, given_up=why, channel="")

    def _attempt(self, config: Config, owed: Owed) -> Receipt:
        try:
            monitor = os.getpid()
            return self.children.run(Receipt, lambda: self._send(config, owed, monitor), _ATTEMPT_TIMEOUT_S)
        except ChildRaised as error:
            # the plain form may do where the full one can't even be built; it must not block the channel
            return Receipt(Verdict.REFUSED_BODY, f"a fault of jobmon itself: {error}")
        except ChildFailed as error:
            return Receipt(Verdict.MAYBE_DELIVERED, f"the attempt was cut off: {error}")

    def _send(self, config: Config, owed: Owed, monitor: int) -> Receipt:
        """Send, in a child that ends with the monitor: its next one would send again, and be overtaken."""
        end_with(monitor)
        return self.send(config, owed)


def reopened(owed: Owed, config: Config, dead: DeadChannels) -> Owed:
    """Take up a message that was given up, if its channel has been configured anew or revived since."""
    channel = mark(config, owed.message.route)
    revived = owed.channel_was_dead and not dead.why(channel)
    if not owed.given_up or not channel or (channel == owed.channel and not revived):
        return owed
    return replace(
        owed, given_up="", channel_was_dead=False, attempts=0, doubts=0, next_try_s=0.0, plain=False
    )


def mark(config: Config, route: Route) -> str:
    """Return what tells a webhook from any other without giving it away; empty where none is configured.

    Its redacted name would not do: a mended token leaves that as it is.
    """
    webhook = config.webhook(route)
    return f"{webhook} ({zlib.crc32(webhook.url.encode()):08x})" if webhook else ""
