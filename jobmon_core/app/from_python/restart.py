"""Restart monitors that are gone, for a caller that may have threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.app.from_python.call import call
from jobmon_core.app.from_python.request import Recover

if TYPE_CHECKING:
    from collections.abc import Callable

    from jobmon_core.context import Context


def restart_monitors(_ctx: Context, tell: Callable[[str], None]) -> None:
    """Restart the monitors that are gone, as `jobmon recover` does, in a process of its own.

    Raises:
        CommandBusy: another command that restarts monitors is running, e.g. `jobmon recover`.
        StorageFailed: a file cannot be written, or the new monitor did not start.
    """
    reply, _ = call(Recover())
    for text in reply.messages:
        tell(text)
