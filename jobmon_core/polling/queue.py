"""Queue queries for all jobs of a user, shared by all monitors of a host.

Whoever finds the shared answer too old queries all jobs of the user and replaces it: one ``squeue`` per
interval, for any number of monitors.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.errors import StorageFailed
from jobmon_core.domain.slurm.rows import Unreachable
from jobmon_core.store.shared_answers import SharedAnswer, StoredAnswer, stored_answer
from jobmon_core.system.lock import try_lock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jobmon_core.domain.slurm.rows import JobRow
    from jobmon_core.scheduler.base import Scheduler
    from jobmon_core.system.clock import Clock
    from jobmon_core.system.files import Stamp

_RECENT_S = 60.0  # jobs that ended this shortly before the queue query share an accounting query


@dataclass(frozen=True, slots=True)
class QueueView:
    """What the queue lists of one job. Times are Unix seconds."""

    asked_s: float
    answer: tuple[JobRow, ...] | Unreachable
    answered_s: float


@dataclass(slots=True)
class SharedQueue:
    """The queue of one user.

    An answer is parsed once for all jobs that this process follows; other rows are dropped.
    """

    scheduler: Scheduler
    file: SharedAnswer
    clock: Clock
    _followed: list[int] = field(default_factory=list, init=False)  # job ids, one per call of `follow`
    _views: dict[int, QueueView] = field(default_factory=dict, init=False)  # by job id
    _stamp: Stamp | None = field(default=None, init=False)  # of the answer that the views were parsed from
    _unsaved: StoredAnswer = field(default_factory=StoredAnswer, init=False)  # could not be written to disk

    def follow(self, job_id: int) -> None:
        """Parse this job from the next answers, too."""
        self._followed.append(job_id)

    def forget(self, job_id: int) -> None:
        """Undo one call of `follow`."""
        self._followed.remove(job_id)
        if job_id not in self._followed:
            self._views.pop(job_id, None)

    def view(self, user: str, job_id: int, max_age_s: float) -> QueueView | None:
        """Return a view not older than ``max_age_s``, after a query if there is none.

        While another monitor queries, return None; but if the last query failed, that failure, because this
        one may take long, too. Raises StorageFailed if the lock cannot be used.
        """
        view = self._current_view(job_id)
        if self._is_fresh(view, max_age_s):
            return view
        with try_lock(self.file.lock_path) as is_acquired:
            if not is_acquired:
                return view if isinstance(view.answer, Unreachable) else None
            view = self._current_view(job_id)
            if not self._is_fresh(view, max_age_s):
                self._query(user)
                view = self._current_view(job_id)
        return view

    def recently_ended(self, job_ids: Iterable[int]) -> Iterator[int]:
        """Which of these jobs have ended completely, shortly before the last query."""
        stored = self._latest()
        for job_id, rows in self._rows(stored, set(job_ids)).items():
            end_s = max((row.end_s for row in rows if row.end_s is not None), default=0)
            if rows and end_s > stored.asked_s - _RECENT_S and not any(row.state.is_alive for row in rows):
                yield job_id

    def _is_fresh(self, view: QueueView, max_age_s: float) -> bool:
        # counted from the answer, so that a slow scheduler is not queried without a pause
        return 0 <= self.clock.now() - view.answered_s < max_age_s

    def _current_view(self, job_id: int) -> QueueView:
        """Parse the file only if it has changed or the job is new."""
        stamp = self.file.stamp()
        if stamp is None or stamp != self._stamp or job_id not in self._views:
            self._views = self._parse(self._latest(), {*self._followed, job_id})
            self._stamp = stamp
        return self._views[job_id]

    def _latest(self) -> StoredAnswer:
        return max(self.file.read(), self._unsaved, key=lambda stored: stored.asked_s)

    def _parse(self, stored: StoredAnswer, job_ids: set[int]) -> dict[int, QueueView]:
        answered_s = stored.asked_s + stored.took_s
        if stored.problem:
            view = QueueView(stored.asked_s, Unreachable(stored.problem), answered_s)
            return dict.fromkeys(job_ids, view)
        rows = self._rows(stored, job_ids)
        return {job_id: QueueView(stored.asked_s, rows[job_id], answered_s) for job_id in job_ids}

    def _rows(self, stored: StoredAnswer, job_ids: set[int]) -> dict[int, tuple[JobRow, ...]]:
        """No rows if there was no query yet, or no answer."""
        has_rows = stored.asked_s and not stored.problem
        rows_of: dict[int, list[JobRow]] = {job_id: [] for job_id in job_ids}
        for row in self.scheduler.read_queue(stored.text, job_ids) if has_rows else ():
            rows_of[row.ref.job_id].append(row)
        return {job_id: tuple(rows) for job_id, rows in rows_of.items()}

    def _query(self, user: str) -> None:
        asked_s = self.clock.now()
        answer = stored_answer(self.scheduler.ask_queue(user), asked_s)
        answer = replace(answer, took_s=max(0.0, self.clock.now() - asked_s))
        try:
            self.file.write(answer)
        except StorageFailed:  # keep the answer in memory: a full disk must not increase polling
            self._unsaved, self._stamp = answer, None
