"""Waiting for a condition instead of sleeping."""

import time
from collections.abc import Callable

from .errors import PrivateSlurmError


def until(condition: Callable[[], bool], seconds: float, pause: float = 0.02) -> bool:
    """Ask again and again until the condition holds (True) or the time is up (False)."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
    return True


def require(condition: Callable[[], bool], seconds: float, otherwise: str) -> None:
    """Wait for the condition, and say what is missing when it never holds."""
    if not until(condition, seconds):
        raise PrivateSlurmError(f"{otherwise} (waited {seconds:.0f} s)")
