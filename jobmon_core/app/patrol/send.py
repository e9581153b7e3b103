"""Use cases: remember and send what a patrol says, and run it unattended."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from jobmon_core.app.messages.send import send_message
from jobmon_core.domain.channels import Level
from jobmon_core.domain.errors import JobmonError, StorageFailed
from jobmon_core.domain.finding import Severity
from jobmon_core.domain.many.autostart.command import AutostartUnavailable
from jobmon_core.domain.many.patrol import Memories, Memory
from jobmon_core.domain.messages.notice import notice
from jobmon_core.domain.redaction import redacted
from jobmon_core.store.json_file import JsonFile
from jobmon_core.store.monitor_log import MonitorLog
from jobmon_core.system.helper import Helper, HelperFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from jobmon_core.app.autostart import Autostart
    from jobmon_core.context import Context
    from jobmon_core.domain.delivery.outbox import StoredMessage


_MAX_BYTES = 64 * 2**20  # far more than a few hundred bytes for each of ten thousand jobs


def check_channel(ctx: Context, channel: str) -> None:
    """Raise JobmonError if it is not configured."""
    names = [each.name for each in ctx.configuration().channels]
    if channel not in names:
        known = "no channel is configured"
        if names:
            known = f"the configured ones are {', '.join(names)}"
        raise JobmonError(f"there is no channel {channel!r}: {known}")


def send_patrol(ctx: Context, channel: str, severity: Severity, lines: Sequence[str]) -> StoredMessage:
    """Send the lines of a patrol, the first as the title; return what became of the message.

    The monitors send a message of their own about each failure, so that of a patrol is never critical.
    """
    now_s = ctx.clock.now()
    level = Level.INFO if severity is Severity.INFO else Level.WARNING
    message_id = f"patrol/{channel}/{int(now_s)}-{os.urandom(4).hex()}"
    title, *rest = map(redacted, lines)
    message = notice(message_id, level, f"Patrol {title}", "\n".join(rest), now_s)
    configured = ctx.configuration().channel(channel)
    if configured and configured.routes:  # it is sent to this channel, whatever it usually gets
        message = replace(message, route=configured.routes[0])
    return send_message(ctx, message, channel=channel)


def read_memory(ctx: Context, reader: str) -> tuple[Memory, str]:
    """Return what the last patrol of a reader saw, and why that is not known: `save_memory` replaces it."""
    file = _file(ctx)
    try:
        return file.read_to_change().readers.get(reader, Memory()), ""
    except StorageFailed:
        return Memory(), f"the memory of the last patrol cannot be read and starts empty: {file.path}"


def save_memory(ctx: Context, reader: str, memory: Memory) -> None:
    """Replace the memory of a reader.

    Two patrols at once may lose what one of them saw: the next one says it again.
    """
    file = _file(ctx)
    file.write(Memories({**file.read().readers, reader: memory}))


def _file(ctx: Context) -> JsonFile[Memories]:
    # after a power cut, a patrol repeats what it said
    return JsonFile(ctx.home.patrol_file, Memories, _MAX_BYTES, durable=False)


T = TypeVar("T")
_TIMEOUT_S = 60.0


class PatrolFailed(JobmonError):
    """The jobs could not be looked at, so nothing is known about them."""

    exit_code = 2  # as for a job that failed: someone must look


def in_bounded_time(kind: type[T], work: Callable[[], T]) -> T:
    """Return the result of ``work``, a record of ``kind``.

    Raise PatrolFailed if it took over a minute, e.g. because a file server does not respond.
    """
    try:
        return Helper().run(kind, work, _TIMEOUT_S)
    except HelperFailed as error:
        raise PatrolFailed(f"the patrol could not look at the jobs: {error.reason}") from error


def log_patrol(ctx: Context, lines: Iterable[str]) -> None:
    """Append to the patrol's log."""
    log = MonitorLog(ctx.home.patrol_log)
    for line in lines:
        log.write(line)


def remove_entries(autostart: Autostart) -> list[str]:
    """Remove what runs the patrol regularly; return a line about each."""
    lines = []
    for installer in autostart.installers.values():
        if not installer.installed():
            continue
        try:
            installer.uninstall()
            lines.append(f"nothing is watched any more: the patrol's entry in {installer.method} was removed")
        except AutostartUnavailable as error:
            lines.append(f"nothing is watched any more, but the patrol's entry cannot be removed: {error}")
    return lines
