"""A configuration with the two Discord webhooks of `jobmon init`."""

from __future__ import annotations

from jobmon_core.domain.channels import Route
from jobmon_core.domain.config import Config
from jobmon_core.domain.delivery.routing import ConfiguredChannel
from jobmon_core.domain.webhook import Webhook
from jobmon_core.notify.discord.channel import DiscordChannel


def with_webhooks(success: Webhook | None = None, error: Webhook | None = None) -> Config:
    """Return a configuration with these webhooks."""
    webhooks = {Route.SUCCESS: success, Route.ERROR: error}
    return Config(
        tuple(
            ConfiguredChannel(route.value, "discord", (route,), DiscordChannel(webhook))
            for route, webhook in webhooks.items()
            if webhook
        )
    )


def webhook_of(config: Config, name: str) -> Webhook | None:
    """Return the webhook of one of the channels of a configuration."""
    channel = config.channel(name)
    return channel.channel.webhook if channel and isinstance(channel.channel, DiscordChannel) else None
