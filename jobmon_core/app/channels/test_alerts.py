"""Sends an example of each level to each channel, and reports every answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.channels import DeliveryOutcome, Level
from jobmon_core.domain.delivery.outbox import OutboxEntry
from jobmon_core.domain.errors import JobmonError
from jobmon_core.notify.test_message import level_sample

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.channels import AttemptResult
    from jobmon_core.domain.delivery.routing import ConfiguredChannel


@dataclass(frozen=True, slots=True)
class ChannelUnderTest:
    """One channel; iterating over ``results`` sends the examples one by one and yields the answers."""

    name: str
    destination: str  # without secrets
    results: Iterator[tuple[Level, AttemptResult]]


class UnknownChannel(JobmonError):
    """No channel has this name."""


def channels_under_test(ctx: Context, names: Sequence[str]) -> list[ChannelUnderTest]:
    """Return the channels of these names, all of them if there are no names.

    Raises:
        ConfigInvalid: the configuration has faults.
        UnknownChannel: a channel is not configured.
    """
    config = ctx.configuration()
    if unknown := [name for name in names if config.channel(name) is None]:
        known = ", ".join(channel.name for channel in config.channels) or "none"
        raise UnknownChannel(f"no channel {unknown[0]!r} is configured; there are: {known}")
    return [
        ChannelUnderTest(each.name, each.channel.name, _results(ctx, each))
        for each in config.channels
        if not names or each.name in names
    ]


def _results(ctx: Context, configured: ConfiguredChannel) -> Iterator[tuple[Level, AttemptResult]]:
    """Send the examples, the most urgent one first; stop at a failure that would affect all others, too."""
    for level in Level:
        message = level_sample(configured.name, level, int(ctx.clock.now()))
        result = configured.channel.deliver(OutboxEntry(message, channel=configured.name))
        if result.worked:
            ctx.dead_channels.clear(configured.channel.fingerprint)  # it is no longer considered dead
        yield level, result
        if result.receipt.outcome is DeliveryOutcome.CHANNEL_DEAD or result.receipt.for_all:
            return
