"""Calls the user's heartbeat URL while the scheduler answers; unrelated to the heartbeat in `OwnerRecord`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon_core import __version__
from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.heartbeat import HeartbeatUrl, is_due
from jobmon_core.system.files import read_own, write_atomically
from jobmon_core.system.helper import Helper, HelperFailed
from jobmon_core.system.lock import try_lock

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jobmon_core.monitor.settings import Settings
    from jobmon_core.system.clock import Clock

_CALL_TIMEOUT_S = 10.0
_RESPONSE_TIMEOUT_S = 5.0  # short, because the monitor waits for it and calls again anyway
_STAMP_BYTES = 64


@dataclass(slots=True)
class Heartbeat:
    """Calls the heartbeat URL. The monitors of a home share a stamp file: one of them calls for all."""

    settings: Callable[[], Settings]
    call: Callable[[HeartbeatUrl], str]  # returns why it failed, empty after a success
    helper: Helper
    clock: Clock
    stamp: Path  # holds when the URL was last called (Unix seconds)
    log: Callable[[str], None]
    _answered_s: float = field(default=0.0, init=False)
    _failures: int = field(default=0, init=False)

    def after_poll(self, answered_s: float | None) -> None:
        """Call the URL if a call is due and the scheduler answered since the last poll; log failures.

        ``answered_s`` is when it last answered, None if it does not answer now.
        """
        if answered_s is None or answered_s == self._answered_s:
            return
        self._answered_s = answered_s
        try:
            self._call_if_due()
        except JobmonError as error:  # a full disk, or a configuration that is being edited
            self._record(f"cannot be sent now ({type(error).__name__})")

    def _call_if_due(self) -> None:
        settings = self.settings()
        address = settings.heartbeat
        if address is None or not self._reserve_turn(settings.policy.running_s):
            return
        try:
            self._record(self.helper.run(str, lambda: self.call(address), _CALL_TIMEOUT_S))
        except HelperFailed:  # its text might contain the URL
            self._record(f"{address} could not be called")

    def _reserve_turn(self, interval_s: float) -> bool:
        """Stamp the time and return True, unless a monitor of this home called recently or is about to."""
        with try_lock(self.stamp.with_suffix(".lock")) as is_acquired:
            now_s = self.clock.now()
            due = is_acquired and is_due(now_s, self._last_call_s(), interval_s, self._failures)
            if due:
                write_atomically(self.stamp, f"{now_s}".encode(), durable=False)
            return due

    def _last_call_s(self) -> float:
        try:
            return float(read_own(self.stamp, _STAMP_BYTES))
        except (OSError, ValueError):
            return 0.0  # never called, or the stamp is damaged

    def _record(self, error: str) -> None:
        """Count a failure, or reset the count after a success; log only the first of several in a row."""
        if error and not self._failures:
            self.log(f"the heartbeat failed: {error}")
        elif self._failures and not error:
            self.log("the heartbeat works again")
        self._failures = self._failures + 1 if error else 0


def call_url(address: HeartbeatUrl) -> str:
    """Call the URL once; return why that failed, empty after a success."""
    from jobmon_core.system.http import HttpRequest, HttpResponse, send  # only in a child process

    request = HttpRequest(address.url, str(address), b"{}", f"jobmon/{__version__}")
    answer = send("POST", request, _RESPONSE_TIMEOUT_S)
    if not isinstance(answer, HttpResponse):
        return answer.why
    if answer.is_success:
        return ""
    return f"{address} answered {answer.status}"
