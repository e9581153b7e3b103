"""Send a message that belongs to no single job, within seconds if that is possible."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.delivery.outbox import Field, StoredMessage
from jobmon_core.domain.errors import JobmonError, StorageFailed
from jobmon_core.domain.messages.notice import notice
from jobmon_core.domain.redaction import redacted
from jobmon_core.lifecycle.daemonize import detach
from jobmon_core.monitor.jobless_messages import MESSAGES, MessageSender, keep_sending

if TYPE_CHECKING:
    from jobmon_core.context import Context
    from jobmon_core.domain.channels import Level
    from jobmon_core.domain.delivery.outbox import Message

WAIT_S = 10.0
_STEP_S = 0.5


def send_message(
    ctx: Context, message: Message, wait_s: float = WAIT_S, *, channel: str = ""
) -> StoredMessage:
    """Save a message, then try to send it for up to ``wait_s`` seconds; return its record.

    If it is still open then, a process in the background goes on, and so do all monitors. A message with an
    id that exists is not created again. With ``channel``, it is sent to this channel only.

    Raises:
        StorageFailed: the message cannot be saved; or it is saved, but the host cannot create the process.
    """
    store, sender = ctx.messages, MessageSender(ctx)
    store.create(message, channel)
    deadline_s = ctx.clock.now() + wait_s
    stored = StoredMessage.of(message, channel)
    while ctx.clock.now() < deadline_s:
        with suppress(StorageFailed):  # the message is saved, and the disk may have room again soon
            sender.send_due()
        stored = store.load(message.id) or stored
        if not stored.is_open:
            return stored
        ctx.clock.wait(_STEP_S)
    send_in_background(ctx)
    return stored


class Notified(NamedTuple):
    """What became of a text."""

    stored: StoredMessage
    was_hidden: bool  # a part of it looked like a secret

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels that have the message."""
        return tuple(entry.channel for entry in self.stored.outbox if entry.delivered_s is not None)


def notify(ctx: Context, level: Level, title: str, text: str, wait_s: float) -> Notified:
    """Save a text as a message, and try to send it; raise JobmonError if it is empty."""
    clean_title, clean_text = redacted(title.strip()), redacted(text.strip())
    if not clean_title and not clean_text:
        raise JobmonError("the text is empty, so nothing was sent")
    ctx.configuration()  # a script should learn at once that its messages cannot be sent
    now_s = ctx.clock.now()
    message_id = f"notice/{int(now_s)}-{os.urandom(4).hex()}"
    message = notice(message_id, level, clean_title, clean_text, now_s)
    message = replace(message, fields=_fields(ctx))
    hidden = (clean_title, clean_text) != (title.strip(), text.strip())
    return Notified(send_message(ctx, message, wait_s), hidden)


def send_in_background(ctx: Context) -> None:
    """Start a process that sends until no message is open, unless one runs on this host.

    It survives a logout as monitors do. If it is killed, any monitor or `jobmon recover` goes on.
    """
    try:
        pid = os.fork()
    except OSError as error:
        raise StorageFailed(f"cannot start a process that sends the message: {error.strerror}") from error
    if pid:
        os.waitpid(pid, 0)  # python-daemon forks again, so the child ends at once
        return
    try:
        detach(ctx.home, MESSAGES, [])
        keep_sending(ctx, MessageSender(ctx))
    finally:
        os._exit(0)


def _fields(ctx: Context) -> tuple[Field, ...]:
    job = ctx.environment.get("SLURM_JOB_ID", "")
    name = ctx.environment.get("SLURM_JOB_NAME", "")
    fields = [Field("Host", os.uname().nodename)]
    if job:
        fields.insert(0, Field("Job", f"{job} {name}".rstrip()))
    return tuple(fields)
