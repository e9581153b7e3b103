"""Use cases of a patrol that runs unattended: bound its time, log it, and end it when all jobs have ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.many.autostart.command import AutostartUnavailable
from jobmon_core.store.monitor_log import MonitorLog
from jobmon_core.system.helper import Helper, HelperFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from jobmon_core.app.autostart import Autostart
    from jobmon_core.context import Context

T = TypeVar("T")
_TIMEOUT_S = 60.0


class PatrolFailed(JobmonError):
    """The jobs could not be looked at, so nothing is known about them."""

    exit_code = 2  # as for a job that failed: someone must look


def in_bounded_time(kind: type[T], work: Callable[[], T]) -> T:
    """Return the result of ``work``, a record of ``kind``.

    Raises:
        PatrolFailed: it took over a minute, e.g. because a file server does not respond; or it failed.
    """
    try:
        return Helper().run(kind, work, _TIMEOUT_S)
    except HelperFailed as error:
        raise PatrolFailed(f"the patrol could not look at the jobs: {error.reason}") from error


def log_patrol(ctx: Context, lines: Iterable[str]) -> None:
    """Append the lines of a patrol to its log."""
    log = MonitorLog(ctx.home.patrol_log)
    for line in lines:
        log.write(line)


def remove_entries(autostart: Autostart) -> list[str]:
    """Remove what runs the patrol regularly; return a line about each entry."""
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
