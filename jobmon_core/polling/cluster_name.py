"""The name of the local cluster: queried once a day, or once a minute during an outage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jobmon_core.store.shared_answers import SharedAnswer, StoredAnswer

if TYPE_CHECKING:
    from jobmon_core.scheduler.base import Scheduler
    from jobmon_core.system.clock import Clock

_MAX_AGE_S = 86_400.0
_RETRY_S = 60.0


@dataclass(frozen=True, slots=True)
class SharedClusterName:
    """The name of this host's cluster, shared by all its monitors."""

    scheduler: Scheduler
    file: SharedAnswer
    clock: Clock

    def get(self) -> str:
        """During an outage the last known one; empty if never known. Raises StorageFailed."""
        stored = self.file.read()
        max_age_s = _RETRY_S if stored.problem else _MAX_AGE_S
        if (stored.text or stored.problem) and 0 <= self.clock.now() - stored.asked_s < max_age_s:
            return stored.text
        name = self.scheduler.cluster_name()
        answer = StoredAnswer(self.clock.now(), name or stored.text, "" if name else "no answer")
        self.file.write(answer)
        return answer.text

    def last_known(self) -> str:
        """Without a query."""
        return self.file.read().text
