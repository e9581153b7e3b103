"""The name of the cluster that this host talks to, asked for once for all monitors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.store.shared_answers import SharedAnswer, StoredAnswer

if TYPE_CHECKING:
    from jobmon_core.scheduler.base import Scheduler
    from jobmon_core.system.clock import Clock

_NAME_LASTS_S = 86_400.0
_NAME_AGAIN_S = 60.0  # after a question without an answer


@dataclass(frozen=True, slots=True)
class SharedClusterName:
    """The name of the cluster that this host talks to: asked for once a day, whatever the monitors."""

    scheduler: Scheduler
    file: SharedAnswer
    clock: Clock

    def get(self) -> str:
        """Return the name; empty where the scheduler will not say now."""
        known = self.file.read()
        if known.text and not known.problem and 0 <= self.clock.now() - known.asked_s < _NAME_LASTS_S:
            return known.text
        if known.problem and 0 <= self.clock.now() - known.asked_s < _NAME_AGAIN_S:
            return known.text
        name = self.scheduler.cluster_name()
        # a host does not change its cluster while that one is away: what it was is better than nothing
        reply = StoredAnswer(self.clock.now(), name or known.text, "" if name else "no answer")
        self.file.write(reply)
        return reply.text

    def last_known(self) -> str:
        """Return the name as it was last told, without asking; empty where it never was."""
        return self.file.read().text
