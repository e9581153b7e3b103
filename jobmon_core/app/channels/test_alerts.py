"""Sends an example of each level to each channel, and reports every answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.channels import Level
from jobmon_core.domain.delivery.outbox import DeliveryOutcome, OutboxEntry
from jobmon_core.domain.errors import JobmonError
from jobmon_core.notify.test_message import level_sample

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.channels import ConfiguredChannel
    from jobmon_core.notify.base import AttemptResult, Channel


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
    found = []
    for configured in (each for each in config.channels if not names or each.name in names):
        channel = ctx.channel_types()[configured.kind].build(configured.settings)
        found.append(ChannelUnderTest(configured.name, channel.name, _results(ctx, configured, channel)))
    return found


def _results(
    ctx: Context, configured: ConfiguredChannel, channel: Channel
) -> Iterator[tuple[Level, AttemptResult]]:
    """Send the examples, the most urgent one first; stop at a failure that would affect all others, too."""
    for level in Level:
        message = level_sample(configured.name, level, int(ctx.clock.now()))
        result = channel.deliver(OutboxEntry(message, channel=configured.name))
        if result.worked:
            ctx.dead_channels.clear(configured.settings.fingerprint)  # it is no longer considered dead
        yield level, result
        if result.receipt.outcome is DeliveryOutcome.CHANNEL_DEAD or result.receipt.for_all:
            return
