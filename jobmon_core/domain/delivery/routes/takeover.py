"""Which channel gets a message that another one did not accept."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from jobmon_core.domain.channels import ConfiguredChannel
from jobmon_core.domain.delivery.outbox import Field, OutboxEntry


def takeover(
    entry: OutboxEntry, routed: Iterable[ConfiguredChannel], working: Iterable[ConfiguredChannel]
) -> OutboxEntry | None:
    """Return the entry by which another channel gets a message that was given up.

    None if it is not needed, or if no other channel can take over.

    ``routed`` are the channels that get the message anyway, ``working`` all those that may accept one. No
    channel takes over from one that took over itself.
    """
    if not entry.given_up or not entry.channel or entry.instead_of:
        return None
    names = {channel.name for channel in routed} - {entry.channel}
    usable = [channel for channel in working if channel.settings.fingerprint != entry.fingerprint]
    usable.sort(key=lambda channel: channel.name not in names)  # first those that get such messages anyway
    # no fingerprint: the channel is not configured any more. If it was only renamed, its new name is among
    # ``names``, but that channel did not get the message
    is_told_anyway = bool(entry.fingerprint) and any(channel.name in names for channel in usable)
    if not usable or is_told_anyway:
        return None
    note = Field("Instead of", f"channel {entry.channel}: {entry.given_up}")
    message = replace(entry.message, fields=(note, *entry.message.fields))
    return OutboxEntry(
        message, channel=usable[0].name, instead_of=entry.channel, maybe_delivered=entry.maybe_delivered
    )
