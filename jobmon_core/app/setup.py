"""Set jobmon up: write the configuration file, test every channel, make an ntfy topic for a phone."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.context import configurable_backends
from jobmon_core.domain.channels import DeliveryOutcome, Level, Receipt, Route
from jobmon_core.domain.config import parse_config
from jobmon_core.domain.config_section import SecretSources
from jobmon_core.domain.delivery.outbox import OutboxEntry
from jobmon_core.domain.errors import ConfigInvalid, JobmonError, StorageFailed
from jobmon_core.domain.webhook import Webhook
from jobmon_core.notify.channels.ntfy import SERVER
from jobmon_core.notify.discord.channel import WEBHOOK_VARIABLES
from jobmon_core.notify.discord.channel import check_webhook as ask_about_webhook
from jobmon_core.notify.discord.inbox import Inbox
from jobmon_core.notify.http_channel import HttpChannel
from jobmon_core.notify.test_message import level_sample, sample_message, worst_case_message
from jobmon_core.store.config_file import write_config
from jobmon_core.store.owner import STALE_AFTER_S
from jobmon_core.system.filesystem import Filesystem, LockScope

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from jobmon_core.context import Context
    from jobmon_core.domain.delivery.routing import ConfiguredChannel


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
