"""Calls that may hang, because a file server or a driver does not answer, made beside the agent's loop."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Background:
    """Makes one call at a time in a thread of its own; the thread cannot keep the process from ending."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._thread: threading.Thread | None = None

    def run(self, call: Callable[[], None], timeout_s: float) -> bool:
        """Start a call and wait for its end; return whether it ended within ``timeout_s``.

        While an earlier call has not ended, the new one is not started, and False is returned at once.
        """
        if self._thread is not None and self._thread.is_alive():
            return False
        self._thread = threading.Thread(target=call, daemon=True)
        self._thread.start()
        self._thread.join(timeout_s)
        return not self._thread.is_alive()
