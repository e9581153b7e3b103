"""The user's jobmon, for callers in Python."""

from __future__ import annotations

import os
import time

from jobmon_core.context import Context
from jobmon_core.store.home import Home
from jobmon_core.system.clock import Clock, Wake


class CallersClock(Clock):
    """A clock that leaves the signals of the process to the caller's own handlers."""

    def wait(self, seconds: float) -> Wake:
        """Wait for ``seconds``; only an exception of a signal handler, e.g. of Ctrl-C, ends it early."""
        time.sleep(max(0.0, seconds))
        return Wake.DUE


def open_context() -> Context:
    """Return the user's context. Later changes of ``os.environ`` apply to it, but do not move its home."""
    return Context(Home.find(os.environ), os.environ, clock=CallersClock())
