"""Accounting queries about batches of ended jobs, shared by all monitors of a host.

Monitors add their jobs to a batch in the shared file. Once none was added for a moment, or the batch is old
enough, the next monitor that asks queries for all and shares the answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.job.tracking.policy import NO_HURRY_S
from jobmon_core.domain.slurm.rows import Disabled, Unreachable
from jobmon_core.store.shared_answers import SharedAnswer, StoredAnswer, stored_answer
from jobmon_core.system.lock import try_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from jobmon_core.domain.slurm.rows import AccountingAnswer
    from jobmon_core.scheduler.base import Scheduler
    from jobmon_core.system.clock import Clock

COALESCE_S = 1.0  # a batch is complete when no job was added for this long
MAX_COLLECT_S = 20.0  # maximum age of a batch; below the default grace period for accounting details
KEEP_S = 60.0  # how long an older answer is kept, for the monitors that still wait for it
_MAX_KEPT_CHARACTERS = 4 << 20  # in all kept answers together; every poll reads them all
_UNRESPONSIVE_S = 120.0  # how long accounting counts as unresponsive after a query without an answer


@dataclass(frozen=True, slots=True)
class SharedAccounting:
    """Answers about ended jobs, shared by all monitors of this host.

    A query includes what ``recently_ended`` returns: those monitors will need the same answer.
    """

    scheduler: Scheduler
    file: SharedAnswer
    clock: Clock
    recently_ended: Callable[[], Iterable[int]] = tuple

    def ask(
        self,
        job_id: int,
        since_s: float,
        timeout_for: Callable[[bool], float] = lambda _is_unresponsive: NO_HURRY_S,
    ) -> AccountingAnswer | None:
        """Return an answer to a query made at ``since_s`` (Unix seconds) or later; else query.

        None means to ask again later: the batch is being collected, or another monitor has the lock.
        ``timeout_for(is_unresponsive)`` returns how many seconds a query may take, by whether the last recent
        one got no answer. Raises StorageFailed if the files cannot be used.
        """
        with try_lock(self.file.lock_path) as is_acquired:
            if not is_acquired:
                return None
            stored = self.file.read()
            answer = self._find(stored, job_id, since_s)
            if answer is not None:
                return answer
            wanted = {str(job_id): self.clock.now(), **stored.wanted}
            if self._is_collecting(wanted.values()):
                self.file.write(replace(stored, wanted=wanted))
                return None
            is_recent = 0 <= self.clock.now() - stored.asked_s - stored.took_s < _UNRESPONSIVE_S
            timeout = timeout_for(bool(stored.problem) and is_recent)
            return self._parse(self._query(stored, wanted, timeout), job_id)

    def known(self, job_id: int, since_s: float) -> AccountingAnswer | None:
        """A stored answer to a query made at ``since_s`` (Unix seconds) or later."""
        return self._find(self.file.read(), job_id, since_s)

    def _find(self, stored: StoredAnswer, job_id: int, since_s: float) -> AccountingAnswer | None:
        for answer in (stored, *stored.earlier):
            if job_id in answer.about and since_s <= answer.asked_s <= self.clock.now():
                return self._parse(answer, job_id)
        return None

    def _is_collecting(self, added_s: Collection[float]) -> bool:
        """By when each job of the batch was added."""
        now_s = self.clock.now()
        return 0 <= now_s - max(added_s) < COALESCE_S and 0 <= now_s - min(added_s) < MAX_COLLECT_S

    def _query(self, stored: StoredAnswer, wanted: dict[str, float], timeout_s: float) -> StoredAnswer:
        asked_s = self.clock.now()
        earlier = tuple(_worth_keeping((stored, *stored.earlier), asked_s))
        answered = {job_id for answer in earlier for job_id in answer.about}
        job_ids = tuple(sorted({*map(int, wanted), *(set(self.recently_ended()) - answered)}))
        answer = stored_answer(self.scheduler.ask_accounting(job_ids, timeout_s), asked_s)
        took_s = max(0.0, self.clock.now() - asked_s)
        answer = replace(answer, about=job_ids, earlier=earlier, took_s=took_s)
        self.file.write(answer)
        return answer

    def _parse(self, stored: StoredAnswer, job_id: int) -> AccountingAnswer:
        if stored.disabled:
            return Disabled()
        if stored.problem:
            return Unreachable(stored.problem)
        return self.scheduler.read_accounting(stored.text, job_id)


def _worth_keeping(answers: Iterable[StoredAnswer], now_s: float) -> Iterator[StoredAnswer]:
    """Those, newest first, that some monitor may not have read yet."""
    characters = 0
    for answer in answers:
        characters += len(answer.text)
        if characters > _MAX_KEPT_CHARACTERS:
            return  # a monitor that has not read the older ones queries again
        if answer.about and 0 <= now_s - answer.asked_s < KEEP_S:
            yield replace(answer, wanted={}, earlier=())
