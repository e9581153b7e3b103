"""Send an example of each level to each channel, and make an ntfy topic for a phone."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.app.setup import existing_config, save_config
from jobmon_core.domain.channels import DeliveryOutcome, Level
from jobmon_core.domain.delivery.outbox import OutboxEntry
from jobmon_core.domain.errors import ConfigInvalid, JobmonError
from jobmon_core.notify.channels.ntfy import SERVER
from jobmon_core.notify.http_channel import HttpChannel
from jobmon_core.notify.test_message import level_sample

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jobmon_core.context import Context
    from jobmon_core.domain.channels import Receipt
    from jobmon_core.domain.delivery.routing import ConfiguredChannel

CHANNEL = "phone"
_CHARACTERS = "abcdefghijkmnpqrstuvwxyz23456789"  # those that cannot be taken for others: five bits each
_LENGTH = 26  # 130 bits, more than anyone can guess


class PhoneTopic(NamedTuple):
    """The topic of the phone. It is a password: anyone who knows it can read and send its messages."""

    server: str
    topic: str
    is_new: bool

    @property
    def url(self) -> str:
        """The page of the topic."""
        return f"{self.server}/{self.topic}"


def set_up_phone(ctx: Context) -> PhoneTopic:
    """Return the topic of the channel ``phone``; if there is no such channel, add it to the configuration.

    ConfigInvalid says that a channel of this name is not one of ntfy; then nothing was written.
    """
    data = existing_config(ctx)
    channels = data.setdefault("channels", {})
    if not isinstance(channels, dict):
        raise ConfigInvalid(str(ctx.home.config), ["channels: expected an object"])
    if CHANNEL in channels:
        return _existing(ctx)
    topic = f"jobmon-{''.join(secrets.choice(_CHARACTERS) for _ in range(_LENGTH))}"
    channels[CHANNEL] = {"type": "ntfy", "topic": topic, "server": SERVER, "details": "short"}
    save_config(ctx, data)
    return PhoneTopic(SERVER, topic, is_new=True)


def _existing(ctx: Context) -> PhoneTopic:
    channel = ctx.configuration().channel(CHANNEL)
    if channel is None or channel.kind != "ntfy" or not isinstance(channel.channel, HttpChannel):
        fault = f"channels.{CHANNEL}: not a channel of ntfy; rename it, then run `jobmon init --phone` again"
        raise ConfigInvalid(str(ctx.home.config), [fault])
    server, _, topic = channel.channel.page.rpartition("/")
    return PhoneTopic(server, topic, is_new=False)


@dataclass(frozen=True, slots=True)
class ChannelUnderTest:
    """One channel; iterating over ``results`` sends the examples and yields the answers."""

    name: str
    destination: str  # without secrets
    results: Iterator[tuple[Level, Receipt]]


def channels_under_test(ctx: Context, names: Sequence[str]) -> list[ChannelUnderTest]:
    """Return the channels of these names, or all; raise JobmonError for one that is not configured."""
    config = ctx.configuration()
    if unknown := [name for name in names if config.channel(name) is None]:
        known = ", ".join(channel.name for channel in config.channels) or "none"
        raise JobmonError(f"no channel {unknown[0]!r} is configured; there are: {known}")
    return [
        ChannelUnderTest(each.name, each.channel.name, _results(ctx, each))
        for each in config.channels
        if not names or each.name in names
    ]


def _results(ctx: Context, configured: ConfiguredChannel) -> Iterator[tuple[Level, Receipt]]:
    """Send the examples, the most urgent one first; stop at a failure that would affect all others, too."""
    for level in Level:
        message = level_sample(configured.name, level, int(ctx.clock.now()))
        result = configured.channel.deliver(OutboxEntry(message, channel=configured.name))
        if result.is_delivered:
            ctx.channel_files.unmark_dead(configured.channel.fingerprint)  # it is no longer considered dead
        yield level, result
        if result.outcome is DeliveryOutcome.CHANNEL_DEAD or result.for_all:
            return
