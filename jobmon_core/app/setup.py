"""Set jobmon up: write the configuration file and test every channel."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.context import configurable_backends
from jobmon_core.domain.channels import Receipt, Route
from jobmon_core.domain.config import parse_config
from jobmon_core.domain.config_section import SecretSources
from jobmon_core.domain.delivery.outbox import OutboxEntry
from jobmon_core.domain.errors import ConfigInvalid, StorageFailed
from jobmon_core.domain.webhook import Webhook
from jobmon_core.notify.discord.channel import WEBHOOK_VARIABLES
from jobmon_core.notify.discord.channel import check_webhook as ask_about_webhook
from jobmon_core.notify.discord.inbox import Inbox
from jobmon_core.notify.test_message import sample_message, worst_case_message
from jobmon_core.store.config_file import write_config
from jobmon_core.store.owner import STALE_AFTER_S
from jobmon_core.system.filesystem import Filesystem, LockScope

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jobmon_core.context import Context


@dataclass(frozen=True, slots=True)
class ChannelTestResult:
    """The result of a test message to one channel."""

    channel: str  # the configured name; for a route without a channel, the route
    destination: str  # without secrets
    worked: bool
    why: str
    advice: str


def configure(ctx: Context, success_webhook: str, error_webhook: str) -> None:
    """Write the two Discord webhooks into the configuration, in place of webhook files; keep the rest.

    If one of them or the existing file has faults, ConfigInvalid says them, and nothing was written.
    """
    webhooks = {Route.SUCCESS: success_webhook, Route.ERROR: error_webhook}
    faults = [f"{route} webhook: {fault}" for route, url in webhooks.items() if (fault := webhook_fault(url))]
    if faults:
        raise ConfigInvalid("the input", faults)
    data = existing_config(ctx)
    existing = data.get("discord", {})
    discord = dict(existing) if isinstance(existing, dict) else {}
    for route, url in webhooks.items():
        discord[f"{route}_webhook"] = url.strip()
        discord.pop(f"{route}_webhook_file", None)  # it would take precedence over the new value
    data["discord"] = discord
    save_config(ctx, data)


def save_config(ctx: Context, data: dict[str, object]) -> None:
    """Write the configuration, unless it has faults; the files of secrets are not opened."""
    secrets = SecretSources({}, lambda _path: None, str(ctx.home.root))
    parse_config(data, str(ctx.home.config), ctx.channel_types(), secrets, configurable_backends())
    write_config(ctx.home.config, data)


def webhook_fault(url: str) -> str:
    """Return what is wrong with the form of a webhook URL, without quoting it."""
    try:
        Webhook.parse(url)
    except ValueError as error:
        return str(error)
    return ""


def check_webhook(url: str) -> tuple[Receipt, str]:
    """Ask Discord whether it knows a webhook, whose URL must be valid; nothing is posted."""
    return ask_about_webhook(Webhook.parse(url))


def overriding_variables(ctx: Context) -> list[str]:
    """Return the set environment variables that override the webhooks in the file."""
    return [name for name in WEBHOOK_VARIABLES.values() if ctx.environment.get(name, "").strip()]


def existing_config(ctx: Context) -> dict[str, object]:
    """Return the content of the configuration file; raise ConfigInvalid if it is no JSON object."""
    path = ctx.home.config
    try:
        data = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except (OSError, ValueError) as error:
        raise ConfigInvalid(str(path), [f"cannot be read, so nothing was written: {error}"]) from error
    if not isinstance(data, dict):
        raise ConfigInvalid(str(path), ["not a JSON object, so nothing was written"])
    return data


def try_channels(ctx: Context, kind: str = "", *, largest: bool = False) -> Iterator[ChannelTestResult]:
    """Post an example to every channel, or those of one type; also yield each route without a channel.

    With ``largest``, its texts reach the limits of every channel. A channel that delivers it is no longer
    considered dead.
    """
    config = ctx.configuration()
    for route in Route:
        if not config.channels_for(route):
            why, advice = "No channel is configured for these messages.", "Run `jobmon init`."
            yield ChannelTestResult(route, "none", worked=False, why=why, advice=advice)
    for configured in (channel for channel in config.channels if kind in ("", channel.kind)):
        route = next(iter(configured.routes), Route.ERROR)
        test_message = worst_case_message if largest else sample_message
        message = test_message(configured.name, route, int(ctx.clock.now()))
        channel = configured.channel
        result = channel.deliver(OutboxEntry(message))
        if result.is_delivered:
            ctx.channel_files.unmark_dead(channel.fingerprint)
        yield ChannelTestResult(configured.name, channel.name, result.is_delivered, result.why, result.advice)


def open_inbox(port: int) -> Inbox:
    """Return a local receiver that stands in for Discord, for use in a ``with``; port 0 takes a free port."""
    try:
        return Inbox(port)
    except OSError as error:
        raise StorageFailed(
            f"cannot open port {port}: {error.strerror}; --port 0 takes a free port"
        ) from error


def describe_home(home: Path, filesystem: Filesystem | None = None) -> str:
    """Describe the home's file system, and how far its locks reach."""
    filesystem = filesystem or Filesystem.of(home)
    kind = filesystem.kind or "an unknown file system"
    text = f"{home} is on {kind} (mounted at {filesystem.mounted_at}); {filesystem.lock_scope}"
    if _has_full_locks(filesystem):
        return text
    return (
        f"{text}. You can use jobmon on several hosts: instead of locks, heartbeats keep their "
        f"monitors apart; a monitor without one for {STALE_AFTER_S / 60:.0f} minutes is replaced"
    )


def lock_problem(home: Path) -> str:
    """Describe the home's file system if its locks do not reach every host that shares it."""
    filesystem = Filesystem.of(home)
    return "" if _has_full_locks(filesystem) else describe_home(home, filesystem)


def _has_full_locks(filesystem: Filesystem) -> bool:
    return filesystem.lock_scope in (LockScope.HOSTS, LockScope.DISK)
