"""The file that a message attaches, for channels that take one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jobmon_core.domain.delivery.outbox import OutboxEntry

_MAX_BYTES = 2**20
_MAX_ATTEMPTS = 3  # with the file; later ones leave it out, since a proxy may let no file through


def attached_file(entry: OutboxEntry) -> tuple[str, bytes] | None:
    """Return the name and the content of the file that a message attaches at this attempt.

    None if it cannot be read, is empty or exceeds 1 MiB; also in the plain form, after an attempt that may
    have arrived, and from the fourth attempt on.
    """
    path = entry.message.attachment
    if not path or entry.plain or entry.maybe_delivered or entry.attempts > _MAX_ATTEMPTS:
        return None
    try:
        with Path(path).open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
    except (OSError, ValueError):
        return None
    if 0 < len(content) <= _MAX_BYTES:
        return Path(path).name, content
    return None
