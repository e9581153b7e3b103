"""Calls the user's dead man's switch URL while the scheduler responds, and only then."""

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
    """The heartbeat of one monitor. All monitors of a home share a stamp file, so that one calls for all."""

    settings: Callable[[], Settings]
    call: Callable[[HeartbeatUrl], str]  # returns why it failed, empty on success
    worker: Worker
    clock: Clock
    stamp: Path  # contains when the URL was last called (Unix seconds)
    log: Callable[[str], None]
    _last_answer_s: float = field(default=0.0, init=False)
    _failures: int = field(default=0, init=False)

    def after_poll(self, answer_s: float | None) -> None:
        """Call the URL if that is due and the scheduler responded since the last pass; log failures.

        Args:
            answer_s: when the scheduler last responded (Unix seconds); None if it does not respond now.
        """
        if answer_s is None or answer_s == self._last_answer_s:
            return
        self._last_answer_s = answer_s
        try:
            self._call_if_due()
        except JobmonError as error:  # e.g. a full disk, or a configuration that is being edited
            self._record_result(f"it cannot be called now ({type(error).__name__})")

    def _call_if_due(self) -> None:
        settings = self.settings()
        url = settings.heartbeat
        if url is None or not self._claim_turn(settings.policy.running_s):
            return
        try:
            self._record_result(self.worker.run(str, lambda: self.call(url), _ATTEMPT_TIMEOUT_S))
        except WorkerFailed:
            self._record_result(
                f"{url} could not be called"
            )  # the error text of the child may contain secrets

    def _claim_turn(self, interval_s: float) -> bool:
        """Write the stamp and return True, unless a monitor of this home called within the interval."""
        with try_lock(self.stamp.with_suffix(".lock")) as is_acquired:
            now_s = self.clock.now()
            is_turn = is_acquired and is_due(
                now_s, self._last_call_s(), wait_after(self._failures, interval_s)
            )
            if is_turn:
                write_atomically(self.stamp, f"{now_s}".encode(), durable=False)
            return is_turn

    def _last_call_s(self) -> float:
        try:
            return float(read_own(self.stamp, _STAMP_BYTES))
        except (OSError, ValueError):
            return 0.0  # never called, or the stamp cannot be read

    def _record_result(self, error: str) -> None:
        """Count consecutive failures; log only the first failure and the next success."""
        if error and not self._failures:
            self.log(f"the heartbeat failed: {error}")
        elif self._failures and not error:
            self.log("the heartbeat works again")
        self._failures = self._failures + 1 if error else 0
