"""Reading the time and waiting; tests replace the class."""

from __future__ import annotations

import signal
import time
from enum import StrEnum


class Wake(StrEnum):
    """Why a wait ended."""

    DUE = "due"  # the time is over
    NOTIFIED = "notified"  # another process asks for attention (SIGUSR1)
    TERMINATE = "terminate"  # the process shall end (SIGTERM)


class Clock:
    """The time as monitors and commands use it."""

    WAKING = (signal.SIGUSR1, signal.SIGTERM)

    def now(self) -> float:
        """Return the time in Unix seconds."""
        return time.time()

    def wait(self, seconds: float) -> Wake:
        """Wait; return early on a notification or a request to terminate.

        A monitor blocks these signals, so one that came before the wait ends it.
        """
        signal_info = signal.sigtimedwait(self.WAKING, max(0.0, seconds))
        if signal_info is None:
            return Wake.DUE
        return Wake.TERMINATE if signal_info.si_signo == signal.SIGTERM else Wake.NOTIFIED

    def cpu_s(self) -> float:
        """Return the CPU time of this process without its children, in seconds, as RLIMIT_CPU counts it."""
        return time.process_time()
