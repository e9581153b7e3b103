"""The processes of one task, and the signals of its supervisor."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass

from jobmon_core.system.process import descendants, own_peak_kib

_KILL_INTERVAL_S = 0.05  # between two attempts: new processes may be forked while others are killed


@dataclass(slots=True)
class ProcessTree:
    """All processes of one task; ``leader`` runs its script in a session of its own."""

    leader: int
    max_rss_bytes: int | None = None  # None if none of them needed more than this process itself
    cpu_s: float = 0.0
    status: int | None = None  # the leader's wait status; None while it runs
    ended_s: float = 0.0  # Unix seconds

    def reap(self) -> bool:
        """Collect all processes that ended and their usage; return whether the leader has ended.

        In the peak memory of a process, Linux includes the time before its exec, when it was a copy of this
        process. So a peak that is not above that of this process may not be its own, and is left out.
        """
        inherited_kib = own_peak_kib()
        with suppress(ChildProcessError):  # there is none
            pid, status, usage = os.wait4(-1, os.WNOHANG)
            while pid:
                if inherited_kib is not None and usage.ru_maxrss > inherited_kib:
                    self.max_rss_bytes = max(self.max_rss_bytes or 0, usage.ru_maxrss * 1024)
                self.cpu_s += usage.ru_utime + usage.ru_stime
                if pid == self.leader:
                    self.status, self.ended_s = status, time.time()
                pid, status, usage = os.wait4(-1, os.WNOHANG)
        return self.status is not None

    def send(self, number: signal.Signals) -> bool:
        """Send a signal to every process of the task; return whether there is any process.

        The script gets the signal before the commands it runs, so that it does not start the next one.
        """
        pids = descendants(os.getpid(), self.leader)
        for pid in pids:
            with suppress(ProcessLookupError, PermissionError):  # just ended, or of another user (sudo)
                os.kill(pid, number)
        return bool(pids)

    def interrupt(self, number: signal.Signals) -> None:
        """Send a signal to the process group of the script, as a terminal does."""
        with suppress(ProcessLookupError, PermissionError):  # as in `send`
            os.killpg(self.leader, number)

    def clear(self, timeout_s: float) -> None:
        """Kill what the script left running, as Slurm does; give up after ``timeout_s`` seconds."""
        deadline = time.monotonic() + timeout_s
        while self.send(signal.SIGKILL) and time.monotonic() < deadline:
            time.sleep(_KILL_INTERVAL_S)
            self.reap()
        self.reap()


_INTERRUPT = frozenset({signal.SIGINT, signal.SIGQUIT})  # what a terminal sends for Ctrl-C and Ctrl-\
_AWAITED = _INTERRUPT | {signal.SIGTERM, signal.SIGCHLD}
_MAX_WAIT_S = 3600.0  # a longer wait overflows the kernel's clock on some machines


class SignalWaiter:
    """Blocks all signals of this process: those in `_AWAITED` end `wait`, the others have no effect."""

    def __init__(self) -> None:
        """Block all signals, including those that the parent ignored."""
        self.cancelled_by: int | None = None  # uid of the first sender of SIGTERM
        self.interrupted_by: int | None = None  # uid of the first sender of SIGINT or SIGQUIT
        self._interrupts: list[signal.Signals] = []
        every = signal.valid_signals()
        signal.pthread_sigmask(signal.SIG_SETMASK, every)
        for number in every - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)  # or the job would inherit what nohup ignores

    @property
    def stopped_by(self) -> int | None:
        """The uid of the user who asked the job to end, by any signal; None if nobody did."""
        if self.cancelled_by is None:
            return self.interrupted_by
        return self.cancelled_by

    def wait(self, seconds: float) -> None:
        """Return when a child ends, a signal arrives or time is up; store who sent that signal."""
        received = signal.sigtimedwait(_AWAITED, max(0.0, min(seconds, _MAX_WAIT_S)))
        if received is None:
            return
        if received.si_signo == signal.SIGTERM and self.cancelled_by is None:
            self.cancelled_by = received.si_uid
        if received.si_signo in _INTERRUPT:
            self._interrupts.append(signal.Signals(received.si_signo))
            if self.interrupted_by is None:
                self.interrupted_by = received.si_uid

    def take_interrupts(self) -> list[signal.Signals]:
        """Return the signals for the task that arrived since the last call."""
        taken, self._interrupts = self._interrupts, []
        return taken
