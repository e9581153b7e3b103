"""Wait for a condition instead of sleeping."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 180.0  # costs nothing when things go well, and a busy machine may be slow
_STEP_S = 0.05


def eventually(condition: Callable[[], bool], timeout_s: float = PATIENCE_S, step_s: float = _STEP_S) -> None:
    """Return as soon as ``condition`` holds; fail if it does not within ``timeout_s``."""
    deadline_s = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline_s, f"not within {timeout_s} s: {condition}"
        time.sleep(step_s)
