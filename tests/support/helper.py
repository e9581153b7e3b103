"""A helper without a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, get_origin

from jobmon_core.system.helper import Helper

T = TypeVar("T")


class AtHome(Helper):
    """Runs work in this process instead of a child, so that its changes remain visible."""

    def run(self, kind: type[T], work: Callable[[], T], timeout_s: float) -> T:
        assert timeout_s > 0
        result = work()
        assert isinstance(result, get_origin(kind) or kind)
        return result
