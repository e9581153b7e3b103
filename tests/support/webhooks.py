"""A configuration with the two Discord webhooks of `jobmon init`."""

from __future__ import annotations

from jobmon_core.domain.channels import ConfiguredChannel, Route
from jobmon_core.domain.config import Config
from jobmon_core.domain.webhook import Webhook
from jobmon_core.notify.discord.settings import DiscordSettings


def with_webhooks(success: Webhook | None = None, error: Webhook | None = None) -> Config:
    """Return a configuration with these webhooks."""
    webhooks = {Route.SUCCESS: success, Route.ERROR: error}
    return Config(
        tuple(
            ConfiguredChannel(route.value, "discord", (route,), DiscordSettings(webhook))
            for route, webhook in webhooks.items()
            if webhook
        )
    )


def webhook_of(config: Config, name: str) -> Webhook | None:
    """Return the webhook of one of the channels of a configuration."""
    channel = config.channel(name)
    return channel.settings.webhook if channel and isinstance(channel.settings, DiscordSettings) else None
