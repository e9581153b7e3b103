"""Ending with one's parent: a copy whose result nobody will read must not act on its own."""

from __future__ import annotations

import os
import signal

_SET_PARENT_DEATH_SIGNAL = 1  # of prctl(2)


def end_with(parent: int) -> None:
    """Have the kernel kill this process as soon as its parent ends, or at once where that has ended already.

    Where the kernel refuses, nothing changes: that is no reason to leave the work undone. Nor does anything
    change in the parent itself.
    """
    if os.getpid() == parent:
        return
    import ctypes  # only in the copy: a monitor that waits for days stays small

    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)
