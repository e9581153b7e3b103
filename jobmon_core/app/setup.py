"""Setting jobmon up: the configuration file, and the proof that both channels work."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core import __version__
from jobmon_core.context import backend_names
from jobmon_core.domain.channels import Route
from jobmon_core.domain.config import parse_config
from jobmon_core.domain.delivery.outbox import DeliveryOutcome, OutboxEntry
from jobmon_core.domain.errors import ConfigInvalid, StorageFailed
from jobmon_core.monitor.outbox import channel_fingerprint
from jobmon_core.notify.discord.channel import DiscordChannel
from jobmon_core.notify.discord.inbox import Inbox
from jobmon_core.notify.discord.responses import advice_for
from jobmon_core.notify.discord.test_message import worst_case_message
from jobmon_core.notify.http import post
from jobmon_core.store.config_file import write_config
from jobmon_core.store.owner import STALE_AFTER_S
from jobmon_core.system.filesystem import Filesystem, LockScope
from jobmon_core.system.lock import command_lock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jobmon_core.context import Context


_LOCK_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class ChannelTestResult:
    """What a channel answered to a test message."""

    route: Route
    channel: str  # redacted
    worked: bool
    answer: str
    advice: str


def configure(ctx: Context, success_webhook: str, error_webhook: str) -> None:
    """Write the two webhooks into the configuration; what else it holds stays.

    Raises:
        ConfigInvalid: a webhook, or the file that is there, has faults; nothing was written.
        StorageFailed: the disk refused.
        CommandBusy: another `jobmon init` does not end.
    """
    # two commands that read and write at once would lose the change of one
    with command_lock(ctx.home.monitors / "config.lock", "jobmon init", _LOCK_TIMEOUT_S):
        _write_webhooks(ctx, success_webhook, error_webhook)


def _write_webhooks(ctx: Context, success_webhook: str, error_webhook: str) -> None:
    data = _present(ctx)
    present = data.get("discord", {})
    discord = dict(present) if isinstance(present, dict) else {}
    for key, webhook in (("success_webhook", success_webhook), ("error_webhook", error_webhook)):
        discord[key] = webhook.strip()
        discord.pop(f"{key}_file", None)  # it would win over what is written here
    data["discord"] = discord
    parse_config(data, str(ctx.home.config), {}, lambda _: success_webhook, backend_names())
    write_config(ctx.home.config, data)


def _present(ctx: Context) -> dict[str, object]:
    path = ctx.home.config
    try:
        data = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except (OSError, ValueError) as error:
        raise ConfigInvalid(str(path), [f"it can't be read, so nothing was written: {error}"]) from error
    if not isinstance(data, dict):
        raise ConfigInvalid(str(path), ["it is no object, so nothing was written"])
    return data


def try_channels(ctx: Context) -> Iterator[ChannelTestResult]:
    """Post a message of the worst allowed size to both channels.

    Raises:
        ConfigInvalid: the configuration has faults.
    """
    config = ctx.configuration()
    for route in Route:
        webhook = config.webhook(route)
        if webhook is None:
            yield ChannelTestResult(
                route, "none", worked=False, answer="no webhook is configured", advice="run `jobmon init`"
            )
            continue
        channel = DiscordChannel(webhook, post, __version__, config.mentions)
        answer = channel.post(channel.payload(OutboxEntry(worst_case_message(route, int(ctx.clock.now())))))
        receipt = channel.receipt(answer)
        worked = receipt.outcome is DeliveryOutcome.DELIVERED
        if worked:
            ctx.dead_channels.clear(channel_fingerprint(config, route))
        yield ChannelTestResult(
            route, channel.name, worked=worked, answer=receipt.why, advice=advice_for(answer)
        )


def open_inbox(port: int) -> Inbox:
    """Return a stand-in for Discord on this machine, to be used in a ``with``; port 0 takes a free one.

    Raises:
        StorageFailed: the port can't be had.
    """
    try:
        return Inbox(port)
    except OSError as error:
        raise StorageFailed(
            f"port {port} can't be had: {error.strerror}; --port 0 takes a free one"
        ) from error


def describe_home(ctx: Context) -> str:
    """Say on what file system the home lies, how far its locks reach, and what holds beyond that."""
    return describe(ctx.home.root, Filesystem.of(ctx.home.root))


def describe(home: Path, filesystem: Filesystem) -> str:
    """Say that of a home on a given file system."""
    kind = filesystem.kind or "a file system that is not known"
    at = f"{home} lies on {kind} (mounted at {filesystem.mounted_at})"
    lies = f"{at}; locks hold {filesystem.lock_scope}"
    if filesystem.lock_scope in (LockScope.HOSTS, LockScope.DISK):
        return lies
    return (
        f"{lies}. Monitors of several hosts are kept apart by who is named the owner of a job, "
        f"and one that gives no sign for {STALE_AFTER_S / 60:.0f} minutes is replaced"
    )
