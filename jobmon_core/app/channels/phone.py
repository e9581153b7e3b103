"""Makes an ntfy topic for a phone, so that messages reach it without an account."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.app.setup import existing_config, save_config
from jobmon_core.domain.errors import ConfigInvalid
from jobmon_core.notify.channels.ntfy import SERVER
from jobmon_core.notify.http_channel import HttpChannel

if TYPE_CHECKING:
    from jobmon_core.context import Context

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

    Raises:
        ConfigInvalid: the configuration has faults, or the channel is not one of ntfy; nothing was written.
        StorageFailed: the file cannot be written.
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
