"""A clock that moves only when a test sets it, or by the length of a wait."""

from __future__ import annotations

from jobmon_core.system.clock import Clock, Wake


class FakeClock(Clock):
    """A settable time; a wait returns at once, with the next of ``wakes`` or else as due."""

    def __init__(self, now_s: float = 1_000_000.0) -> None:
        self.now_s = now_s
        self.wakes: list[Wake] = []
        self.waits: list[float] = []
        self.taken_s = 0.0  # CPU time of this process
        self.taken_by_children_s = 0.0

    def now(self) -> float:
        return self.now_s

    def wait(self, seconds: float) -> Wake:
        self.waits.append(seconds)
        self.now_s += max(0.0, seconds)
        return self.wakes.pop(0) if self.wakes else Wake.DUE

    def cpu_s(self) -> float:
        return self.taken_s

    def children_cpu_s(self) -> float:
        return self.taken_by_children_s
