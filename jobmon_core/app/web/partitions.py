"""What each partition has free, asked at most once a minute, however often somebody looks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

# a forked process that loads modules writes to much of the memory that it shares: 3 MB
import jobmon_core.scheduler.slurm.partitions  # noqa: F401 - to load it before the fork
from jobmon_core.domain.backends import DEFAULT_BACKEND
from jobmon_core.domain.slurm.rows import Unreachable
from jobmon_core.scheduler.backends import find_backend
from jobmon_core.system.runner import Runner

if TYPE_CHECKING:
    from jobmon_core.context import Context
    from jobmon_core.domain.before.pending.partitions import PartitionUse

_PERIOD_S = 60.0


class FreeNow(NamedTuple):
    """What the scheduler said at ``at_s`` (Unix seconds), or why it said nothing."""

    at_s: float
    partitions: tuple[PartitionUse, ...] = ()
    why_not: str = ""


class Partitions:
    """Remembers the latest answer, also that there was none."""

    def __init__(self, ctx: Context, runner: Runner | None = None) -> None:
        """Ask nothing yet."""
        self._clock, self._runner = ctx.clock, runner or Runner()
        self._known: FreeNow | None = None

    def free(self) -> FreeNow:
        """Return what is free, as of at most a minute ago."""
        now_s, known = self._clock.now(), self._known
        if known is None or not 0 <= now_s - known.at_s < _PERIOD_S:
            self._known = known = self._ask(now_s)
        return known

    def _ask(self, now_s: float) -> FreeNow:
        query = find_backend(DEFAULT_BACKEND).partition_uses
        if query is None:
            return FreeNow(now_s, why_not="this scheduler has no partitions")
        answer = query(self._runner)
        if isinstance(answer, Unreachable):
            return FreeNow(now_s, why_not=answer.why)
        return FreeNow(now_s, answer)
