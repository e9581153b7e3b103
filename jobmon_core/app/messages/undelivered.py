"""The messages of no single job that are not delivered."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jobmon_core.domain.delivery.outbox import StoredMessage
from jobmon_core.monitor.outbox import reopen_all

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jobmon_core.context import Context
    from jobmon_core.domain.config import Config


def undelivered_messages(ctx: Context) -> Iterator[str]:
    """Yield a line about each that is not delivered, or whose file is damaged."""
    for stored in ctx.messages.all():
        if not isinstance(stored, StoredMessage):
            yield f"skipped a message: {stored.path} cannot be read: {stored.why}; move it away"
        elif stored.given_up:
            drop = "`jobmon forget --messages` drops it"
            yield f"message {stored.message.title!r} was not delivered: {stored.given_up}; {drop}"
        elif stored.is_open:
            why = f" ({stored.problem})" if stored.problem else ""
            yield f"message {stored.message.title!r} is not delivered yet{why}"


def drop_given_up(ctx: Context) -> list[str]:
    """Drop those that were given up; return their titles."""
    titles: list[str] = []
    for stored in ctx.messages.all():
        if isinstance(stored, StoredMessage) and stored.given_up:
            outbox = [replace(each, counted=each.given_up, given_up="") for each in stored.outbox]
            ctx.messages.save(replace(stored, outbox=tuple(outbox)))
            titles.append(stored.message.title)
    return titles


def reopen_messages(ctx: Context, config: Config) -> tuple[list[str], bool]:
    """Reopen those given up that can be sent now; return their titles, and whether any is still open."""
    reopened: list[str] = []
    is_any_open = False
    for stored in ctx.messages.all():
        if not isinstance(stored, StoredMessage):
            continue
        outbox = reopen_all(stored.outbox, config, ctx.channel_files)
        if outbox != stored.outbox:
            ctx.messages.save(replace(stored, outbox=outbox))
            reopened.append(stored.message.title)
        is_any_open = is_any_open or any(entry.is_open for entry in outbox)
    return reopened, is_any_open
