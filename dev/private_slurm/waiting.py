"""Waiting for a condition instead of sleeping."""

import time
from collections.abc import Callable

from .errors import PrivateSlurmError


def until(condition: Callable[[], bool], seconds: float, pause: float = 0.02) -> bool:
    """Check repeatedly until the condition holds (True) or the time is up (False)."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
    return True


def require(condition: Callable[[], bool], seconds: float, error: str) -> None:
    """Wait for the condition.

    Raises:
        PrivateSlurmError: it did not hold in time.
    """
    if not until(condition, seconds):
        raise PrivateSlurmError(f"{error} (waited {seconds:.0f} s)")
