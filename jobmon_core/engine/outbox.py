"""Sending what is owed: noted before the attempt, judged by its receipt, noted again."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.config import Config
from jobmon_core.domain.delivery import Owed, Receipt, Verdict, begun, settled
from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.engine.child import ChildFailed, ChildRaised, Children

if TYPE_CHECKING:
    from jobmon_core.domain.channels import Route
    from jobmon_core.engine.clock import Clock

_ATTEMPT_TIMEOUT_S = 60.0

Send = Callable[[Config, Owed], Receipt]


@dataclass(frozen=True, slots=True)
class Outbox:
    """How messages leave. The configuration is read for every attempt: a mended one takes effect at once."""

    configuration: Callable[[], Config]
    send: Send
    children: Children
    clock: Clock

    def deliver(self, owed: Owed, note: Callable[[Owed], None]) -> Owed:
        """Make one attempt; ``note`` saves the message durably before it is made.

        Raises:
            StorageFailed: the attempt could not be noted, so it was not made.
        """
        try:
            config = self.configuration()
        except ConfigInvalid as error:
            faults = "; ".join(error.faults)
            why = f"the configuration has faults: {faults}; after mending them run `jobmon recover`"
            return replace(owed, given_up=why, channel="")
        channel = _mark(config, owed.message.route)
        if not channel:
            why = f"no {owed.message.route} webhook is configured; after `jobmon init` run `jobmon recover`"
            return replace(owed, given_up=why, channel="")
        attempt = replace(begun(owed, self.clock.now()), channel=channel)
        note(attempt)
        return settled(attempt, self._attempt(config, attempt), self.clock.now())

    def _attempt(self, config: Config, owed: Owed) -> Receipt:
        try:
            return self.children.run(Receipt, lambda: self.send(config, owed), _ATTEMPT_TIMEOUT_S)
        except ChildRaised as error:
            # the plain form may do where the full one can't even be built; it must not block the channel
            return Receipt(Verdict.REFUSED_BODY, f"a fault of jobmon itself: {error}")
        except ChildFailed as error:
            return Receipt(Verdict.MAYBE_DELIVERED, f"the attempt was cut off: {error}")


def reopened(owed: Owed, config: Config) -> Owed:
    """Take up a message that was given up, if its channel has been configured anew since."""
    channel = _mark(config, owed.message.route)
    if not owed.given_up or not channel or channel == owed.channel:
        return owed
    return replace(owed, given_up="", attempts=0, next_try_s=0.0, plain=False)


def _mark(config: Config, route: Route) -> str:
    """Return what tells a webhook from any other without giving it away; empty where none is configured.

    Its redacted name would not do: a mended token leaves that as it is.
    """
    webhook = config.webhook(route)
    return f"{webhook} ({zlib.crc32(webhook.url.encode()):08x})" if webhook else ""
