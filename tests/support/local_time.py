"""The clock of a test in a time zone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def local_time(zone: str) -> Iterator[None]:
    """Use a time zone, e.g. ``Europe/Berlin``, for the block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", zone)
        time.tzset()
        yield
    time.tzset()
