"""Use case: send a text of the user, or of a script, to the channels."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.app.messages.send import send_message
from jobmon_core.domain.delivery.outbox import Field
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.messages.notice import notice
from jobmon_core.domain.redaction import redacted

if TYPE_CHECKING:
    from jobmon_core.context import Context
    from jobmon_core.domain.channels import Level
    from jobmon_core.domain.delivery.stored_message import StoredMessage


class Notified(NamedTuple):
    """What became of a text."""

    stored: StoredMessage
    was_hidden: bool  # whether a part of it looked like a secret

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels that have the message."""
        return tuple(entry.channel for entry in self.stored.outbox if entry.delivered_s is not None)


def notify(ctx: Context, level: Level, title: str, text: str, wait_s: float) -> Notified:
    """Save the message, and try to send it for up to ``wait_s`` seconds.

    Raises:
        JobmonError: the text is empty.
        ConfigInvalid: the configuration has faults; nothing was sent.
        StorageFailed: see `send_message`.
    """
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


def _fields(ctx: Context) -> tuple[Field, ...]:
    """Return where the text comes from: the host, and the job of which the script is a part."""
    job = ctx.environment.get("SLURM_JOB_ID", "")
    name = ctx.environment.get("SLURM_JOB_NAME", "")
    fields = [Field("Host", os.uname().nodename)]
    if job:
        fields.insert(0, Field("Job", f"{job} {name}".rstrip()))
    return tuple(fields)
