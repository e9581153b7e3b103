"""Calls the user's dead-man's switch while the watch really sees: a watcher that can't must not look well."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import JobmonError
from jobmon_core.domain.heartbeat import HeartbeatUrl, is_due, wait_after
from jobmon_core.system.files import read_own, write_atomically
from jobmon_core.system.lock import try_lock
from jobmon_core.system.worker import Worker, WorkerFailed

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jobmon_core.monitor.settings import Settings
    from jobmon_core.system.clock import Clock

_ATTEMPT_TIMEOUT_S = 10.0
_STAMP_BYTES = 64


@dataclass(slots=True)
class Heartbeat:
    """The heart of one monitor. Those of one home share a stamp, so that one of them beats for all."""

    settings: Callable[[], Settings]
    call: Callable[[HeartbeatUrl], str]  # returns why it failed, empty where it did not
    children: Worker
    clock: Clock
    stamp: Path  # holds when the address was last called (Unix seconds)
    log: Callable[[str], None]
    _heard_s: float = field(default=0.0, init=False)
    _failures: int = field(default=0, init=False)

    def after_poll(self, heard_s: float | None) -> None:
        """Call the address if the scheduler answered since the last pass and it is time.

        Whatever comes of it, the watch goes on.

        Args:
            heard_s: when the scheduler last answered (Unix seconds); None where it does not now.
        """
        if heard_s is None or heard_s == self._heard_s:
            return
        self._heard_s = heard_s
        try:
            self._beat()
        except JobmonError as error:  # a full disk, a configuration that is being edited
            self._note(f"it can't be called now ({type(error).__name__})")

    def _beat(self) -> None:
        settings = self.settings()
        address = settings.heartbeat
        if address is None or not self._is_my_turn(settings.policy.running_s):
            return
        try:
            self._note(self.children.run(str, lambda: self.call(address), _ATTEMPT_TIMEOUT_S))
        except WorkerFailed:
            self._note(f"{address} could not be called")  # the child's own words might show the address

    def _is_my_turn(self, every_s: float) -> bool:
        """Stamp the time, unless a monitor of this home called within the interval, or is about to."""
        with try_lock(self.stamp.with_suffix(".lock")) as mine:
            now_s = self.clock.now()
            due = mine and is_due(now_s, self._last_s(), wait_after(self._failures, every_s))
            if due:
                write_atomically(self.stamp, f"{now_s}".encode(), durable=False)
            return due

    def _last_s(self) -> float:
        try:
            return float(read_own(self.stamp, _STAMP_BYTES))
        except (OSError, ValueError):
            return 0.0  # never, or it can't be told

    def _note(self, why: str) -> None:
        """Count a failure, or forget those before a success; the log hears of changes alone."""
        if why and not self._failures:
            self.log(f"the heartbeat failed: {why}")
        elif self._failures and not why:
            self.log("the heartbeat is taken again")
        self._failures = self._failures + 1 if why else 0
