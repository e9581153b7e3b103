"""What a script or a training says: a message to the channels, a marker of success."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from jobmon.api.records import Sent, options, tell
from jobmon_core.app.chain import write_marker
from jobmon_core.app.from_python import call, open_context
from jobmon_core.app.messages.send import Notified
from jobmon_core.domain.channels import Level
from jobmon_core.domain.errors import JobmonError

if TYPE_CHECKING:
    from pathlib import Path

    from jobmon.api.records import FileName

_MAX_STATUS = 255


def notify(text: str, *, title: str = "", level: Level | str = Level.INFO, wait_s: float = 10.0) -> Sent:
    """Send a text to your channels. It is saved before it is sent, so it is not lost.

    Args:
        text: up to about 3,500 characters are shown; what looks like a password or a token is hidden.
        title: by default the first line of the text.
        level: critical, warning, info or progress; the first two go to the error channels.
        wait_s: how long to wait for the channels; 0 leaves the sending to a process in the background.

    Raises:
        ConfigInvalid: the configuration has faults; nothing was sent.
        JobmonError: the text is empty, or there is no such level.
        StorageFailed: the message cannot be saved.
    """
    try:
        level = Level(level)
    except ValueError as error:
        names = ", ".join(each.value for each in Level)
        raise JobmonError(f"{level!r} is not a level; expected one of {names}") from error
    about = options(level=level.value, title=title, wait=f"{max(wait_s, 0):g}")
    # after an empty word, since `-` alone stands for stdin
    sent = call(Notified, ["notify", *about, "--", "", text], tell)
    return Sent(
        channels=sent.channels,
        is_pending=sent.stored.is_open,
        problem=sent.stored.problem,
        was_hidden=sent.was_hidden,
    )


def mark(path: FileName, *, status: int = 0, note: str = "") -> Path:
    """Write a marker: a small file that shows that a stage is done; return its absolute path.

    A job configuration may name it (``done: {marker: FILE}``): for processes without a scheduler, it proves
    how they ended. Any ``status`` other than 0 proves a failure.

    Raises:
        StorageFailed: it cannot be written.
        JobmonError: ``status`` is not an exit status.
    """
    if not 0 <= status <= _MAX_STATUS:
        raise JobmonError(f"{status} is not an exit status (0 to {_MAX_STATUS})")
    return write_marker(open_context(), os.fspath(path), status, note)
