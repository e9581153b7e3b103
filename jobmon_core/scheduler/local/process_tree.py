"""The processes of one task: started together, ended together, their usage added up."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from dataclasses import dataclass

from jobmon_core.scheduler.local.machine import family

_SET_CHILD_SUBREAPER = 36  # of prctl(2)
_KIB = 1024
_ROUND_S = 0.05  # between two looks for processes that were forked while the others were killed


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends: none can slip away.

    Raises:
        OSError: the kernel refuses.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


@dataclass(slots=True)
class ProcessTree:
    """All processes of one task; ``leader`` runs its script, in a session of its own."""

    leader: int
    signals: SignalWaiter
    max_rss_bytes: int = 0
    cpu_s: float = 0.0
    status: int | None = None  # of the leader, as wait(2) tells it; None while it runs
    ended_s: float = 0.0  # Unix seconds

    def reap(self) -> bool:
        """Take note of every process that ended; return whether the leader did."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return self.status is not None
            if pid == 0:
                return self.status is not None
            self.max_rss_bytes = max(self.max_rss_bytes, usage.ru_maxrss * _KIB)
            self.cpu_s += usage.ru_utime + usage.ru_stime
            if pid == self.leader:
                self.status, self.ended_s = status, time.time()

    def send(self, number: signal.Signals) -> bool:
        """Send a signal to every process; return whether there was any.

        A script gets it before its commands: it must not go on to the next one.
        """
        members = family(os.getpid(), self.leader)
        for pid in members:
            try:
                os.kill(pid, number)
            except (ProcessLookupError, PermissionError):
                continue  # it ended just now, or became another user's (sudo) and is out of reach
        return bool(members)

    def terminate(self) -> None:
        """Ask every process to end, the stopped ones too."""
        self.send(signal.SIGTERM)
        self.send(signal.SIGCONT)

    def clear(self, patience_s: float) -> None:
        """Kill what the script left behind, as Slurm does; a process stuck in the kernel is left there."""
        deadline = time.monotonic() + patience_s
        while self.send(signal.SIGKILL) and time.monotonic() < deadline:
            self.signals.wait(_ROUND_S)
            self.reap()
        self.reap()


_CANCEL = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGQUIT})
_AWAITED = _CANCEL | {signal.SIGCHLD}
_LONGEST_S = 3600.0  # a longer wait overflows the kernel's clock on some machines


class SignalWaiter:
    """The signals of this process. From its creation on none of them does anything by itself."""

    def __init__(self) -> None:
        """Hold all signals back, those that the parent had ignored included."""
        self.cancelled_by: int | None = None  # uid of who asked first to cancel
        every = signal.valid_signals()
        signal.pthread_sigmask(signal.SIG_SETMASK, every)
        for number in every - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)  # or the job would inherit what nohup ignores

    def wait(self, seconds: float) -> None:
        """Return at a signal, or when the time is up; a wish to cancel is remembered."""
        heard = signal.sigtimedwait(_AWAITED, max(0.0, min(seconds, _LONGEST_S)))
        if heard is not None and heard.si_signo in _CANCEL and self.cancelled_by is None:
            self.cancelled_by = heard.si_uid
