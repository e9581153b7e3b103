"""Waiting for a condition instead of sleeping."""

import time
from collections.abc import Callable


def until(condition: Callable[[], bool], seconds: float, pause: float = 0.02) -> bool:
    """Check repeatedly until the condition holds (True) or the time is up (False)."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
    return True
