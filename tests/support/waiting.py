"""Wait for a condition instead of sleeping."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 600.0  # costs nothing when things go well, and a busy machine may be slow
_STEP_S = 0.05
_PAUSE, _LONGEST_PAUSE_S = 4, 2.0  # a pause takes so many times as long as the check before it
_SHARE, _LONGEST_STEP_S = 0.05, 0.5  # and this share of the time waited so far


def eventually(condition: Callable[[], bool], timeout_s: float = PATIENCE_S, step_s: float = _STEP_S) -> None:
    """Return as soon as ``condition`` holds; fail if it does not within ``timeout_s``.

    A check that takes long, e.g. because it starts a program, is made less often than every ``step_s``
    seconds: it would slow down what is waited for. So is every check once the wait has become long.
    """
    started_s = checked_s = time.monotonic()
    while not condition():
        now_s = time.monotonic()
        assert now_s - started_s < timeout_s, f"not within {timeout_s} s: {condition}"
        after_check_s = min(_LONGEST_PAUSE_S, _PAUSE * (now_s - checked_s))
        time.sleep(max(step_s, after_check_s, min(_LONGEST_STEP_S, _SHARE * (now_s - started_s))))
        checked_s = time.monotonic()
