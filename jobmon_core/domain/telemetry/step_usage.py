"""What the scheduler itself samples of a running task. None means "not known"."""

from __future__ import annotations

from typing import NamedTuple


class StepUsage(NamedTuple):
    """The memory and the CPU time of all steps of a task."""

    memory: int | None = None  # bytes, as of the scheduler's latest sample
    cpu_s: float | None = None  # so far

    def plus(self, other: StepUsage) -> StepUsage:
        """Return the sum; what only one of them knows counts alone."""
        memory = [each for each in (self.memory, other.memory) if each is not None]
        cpu_s = [each for each in (self.cpu_s, other.cpu_s) if each is not None]
        return StepUsage(sum(memory) if memory else None, sum(cpu_s) if cpu_s else None)
