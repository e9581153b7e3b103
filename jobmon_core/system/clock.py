"""The seam through which the engine knows the time and passes it."""

from __future__ import annotations

import signal
import time
from enum import StrEnum
from typing import Protocol


class Wake(StrEnum):
    """Why a wait ended."""

    DUE = "due"  # the time is over
    NOTIFIED = "asked"  # somebody has a request
    TERMINATE = "leave"  # the process is to end


class Clock(Protocol):
    """Time, as the engine sees it."""

    def now(self) -> float:
        """Return the time in Unix seconds."""
        ...

    def wait(self, seconds: float) -> Wake:
        """Let time pass; return early when somebody has a request or the process is to end."""
        ...

    def cpu_s(self) -> float:
        """Return the CPU time that this process has taken, in seconds."""
        ...


class SystemClock:
    """The machine's own clock. SIGUSR1 asks for attention, SIGTERM for an end."""

    WAKING = (signal.SIGUSR1, signal.SIGTERM)

    def now(self) -> float:
        """Return the time in Unix seconds."""
        return time.time()

    def wait(self, seconds: float) -> Wake:
        """Sleep; a monitor blocks the waking signals, so that none is lost before the sleep."""
        woken = signal.sigtimedwait(self.WAKING, max(0.0, seconds))
        if woken is None:
            return Wake.DUE
        return Wake.TERMINATE if woken.si_signo == signal.SIGTERM else Wake.NOTIFIED

    def cpu_s(self) -> float:
        """Return the CPU time of this process, without its children: what a site and a limit count."""
        return time.process_time()
