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
class LevelResult:
    """The answer of a channel to the example of one level."""

    level: Level
    worked: bool
    why: str = ""  # why it did not work
    advice: str = ""  # what the user can do


@dataclass(frozen=True, slots=True)
class ChannelUnderTest:
    """One channel; iterating over ``results`` sends the examples one by one and yields the answers."""

    name: str
    destination: str  # without secrets
    results: Iterator[LevelResult]


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
    return [_under_test(ctx, channel) for channel in config.channels if not names or channel.name in names]


def _under_test(ctx: Context, configured: ConfiguredChannel) -> ChannelUnderTest:
    channel = ctx.channel_types()[configured.kind].build(configured.settings)
    return ChannelUnderTest(configured.name, channel.name, _results(ctx, configured, channel))


def _results(ctx: Context, configured: ConfiguredChannel, channel: Channel) -> Iterator[LevelResult]:
    """Send the examples, the most urgent one first; stop at a failure that would affect all others, too."""
    for level in Level:
        message = level_sample(configured.name, level, int(ctx.clock.now()))
        result = channel.deliver(OutboxEntry(message, channel=configured.name))
        outcome = result.receipt.outcome
        if outcome is DeliveryOutcome.DELIVERED:
            ctx.dead_channels.clear(configured.settings.fingerprint)  # it is no longer considered dead
        yield _level_result(level, result)
        if outcome is DeliveryOutcome.CHANNEL_DEAD or result.receipt.for_all:
            return


def _level_result(level: Level, result: AttemptResult) -> LevelResult:
    worked = result.receipt.outcome is DeliveryOutcome.DELIVERED
    return LevelResult(level, worked, result.receipt.why, result.advice)
