"""A class that reads the time and waits, so that tests can replace it."""

from __future__ import annotations

import os
import signal
import time
from enum import StrEnum


class Wake(StrEnum):
    """Why a wait ended."""

    DUE = "due"  # the time has passed
    NOTIFIED = "notified"  # another process asks for attention (SIGUSR1)
    TERMINATE = "terminate"  # the process is asked to end (SIGTERM)


class Clock:
    """The time as monitors and commands use it."""

    WAKING: tuple[signal.Signals, ...] = (signal.SIGUSR1, signal.SIGTERM)

    def now(self) -> float:
        """Return the time in Unix seconds."""
        return time.time()

    def wait(self, seconds: float) -> Wake:
        """Wait for ``seconds``; return early on a notification or a request to terminate.

        A monitor blocks these signals, so one that arrived before the call ends the wait at once.
        """
        signal_info = signal.sigtimedwait(self.WAKING, max(0.0, seconds))
        if signal_info is None:
            return Wake.DUE
        return Wake.TERMINATE if signal_info.si_signo == signal.SIGTERM else Wake.NOTIFIED

    def cpu_s(self) -> float:
        """Return the CPU time of this process without its children, in seconds, as RLIMIT_CPU counts it."""
        return time.process_time()

    def children_cpu_s(self) -> float:
        """Return the CPU time of the ended children of this process, in seconds."""
        times = os.times()
        return times.children_user + times.children_system
