"""Waiting for what concerns a shepherd: the end of a child, the wish to cancel, a moment in time.

All signals are held back and taken one by one, so none can interrupt a write, and the sender is known.
"""

from __future__ import annotations

import signal

_CANCEL = frozenset({signal.SIGTERM, signal.SIGINT, signal.SIGQUIT})
_AWAITED = _CANCEL | {signal.SIGCHLD}
_LONGEST_S = 3600.0  # a longer wait overflows the kernel's clock on some machines


class Bell:
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
