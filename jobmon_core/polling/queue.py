"""The shared questions: whoever finds an answer too old asks once for all, the others read.

So the load on the scheduler does not grow with the number of monitors. See design: one ``squeue`` an
interval for a user on a host, one ``sacct`` for a batch of endings.
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

    from jobmon_core.domain.slurm.rows import QueueRow
    from jobmon_core.scheduler.base import Scheduler
    from jobmon_core.store.shared_answers import Stamp
    from jobmon_core.system.clock import Clock

_MOMENT_S = 60.0  # endings that are no further apart are asked about together


@dataclass(frozen=True, slots=True)
class QueueView:
    """What the queue said about one job, when it was asked, and when it had answered."""

    asked_s: float
    answer: tuple[QueueRow, ...] | Unreachable
    came_s: float


@dataclass(slots=True)
class SharedQueue:
    """The queue of one user, as all monitors of this host see it.

    An answer is read once for all jobs that this process follows, and of the others in it nothing is kept.
    """

    scheduler: Scheduler
    file: SharedAnswer
    clock: Clock
    _followed: dict[int, int] = field(default_factory=dict, init=False)  # parts of one array share an id
    _views: dict[int, QueueView] = field(default_factory=dict, init=False)  # of those that are followed
    _stamp: Stamp | None = field(default=None, init=False)  # of the answer that the views are of
    _unwritten: StoredAnswer = field(default_factory=StoredAnswer, init=False)  # which the disk refused

    def follow(self, job_id: int) -> None:
        """Read the next answers for this job too."""
        self._followed[job_id] = self._followed.get(job_id, 0) + 1

    def forget(self, job_id: int) -> None:
        """Undo one `follow`."""
        self._followed[job_id] = self._followed.get(job_id, 0) - 1
        if self._followed[job_id] <= 0:
            del self._followed[job_id]
            self._views.pop(job_id, None)

    def look(self, user: str, job_id: int, max_age_s: float) -> QueueView | None:
        """Return a view not older than ``max_age_s``; None while another monitor is asking for one.

        Where the last question had no answer, that stands while the next is asked: a scheduler that hangs
        must not keep those who wait for their turn from knowing it.
        """
        view = self._view(job_id)
        if self._is_fresh(view, max_age_s):
            return view
        with try_lock(self.file.lock_path) as mine:
            if not mine:
                return view if isinstance(view.answer, Unreachable) else None
            view = self._view(job_id)
            if not self._is_fresh(view, max_age_s):
                self._ask(user)
                view = self._view(job_id)
        return view

    def ended_lately(self, job_ids: Iterable[int]) -> Iterator[int]:
        """Yield those of these jobs that the latest answer shows as ended, as a whole, a moment ago."""
        reply = self._latest()
        for job_id, rows in self._rows(reply, set(job_ids)).items():
            last_s = max((row.end_s for row in rows if row.end_s is not None), default=0)
            if rows and last_s > reply.asked_s - _MOMENT_S and not any(row.state.is_alive for row in rows):
                yield job_id

    def _is_fresh(self, view: QueueView, max_age_s: float) -> bool:
        # from its coming on: a scheduler that takes long to answer is not to be asked without a pause
        return 0 <= self.clock.now() - view.came_s < max_age_s

    def _view(self, job_id: int) -> QueueView:
        """Return what the answer in the file says of a job; the file is read where it is another one."""
        stamp = self.file.stamp()
        if stamp is None or stamp != self._stamp or job_id not in self._views:
            self._views = self._read(self._latest(), {*self._followed, job_id})
            self._stamp = stamp
        return self._views[job_id]

    def _latest(self) -> StoredAnswer:
        return max(self.file.read(), self._unwritten, key=lambda reply: reply.asked_s)

    def _read(self, reply: StoredAnswer, job_ids: set[int]) -> dict[int, QueueView]:
        came_s = reply.asked_s + reply.took_s
        if reply.problem:
            silence = QueueView(reply.asked_s, Unreachable(reply.problem), came_s)
            return dict.fromkeys(job_ids, silence)
        rows = self._rows(reply, job_ids)
        return {job_id: QueueView(reply.asked_s, rows[job_id], came_s) for job_id in job_ids}

    def _rows(self, reply: StoredAnswer, job_ids: set[int]) -> dict[int, tuple[QueueRow, ...]]:
        """Return what an answer lists of each job; nothing where nobody has asked yet, or nobody answered."""
        rows = self.scheduler.read_queue(reply.text, job_ids) if reply.asked_s and not reply.problem else ()
        of_job: dict[int, list[QueueRow]] = {job_id: [] for job_id in job_ids}
        for row in rows:
            of_job[row.ref.job_id].append(row)
        return {job_id: tuple(listed) for job_id, listed in of_job.items()}

    def _ask(self, user: str) -> None:
        asked_s = self.clock.now()
        reply = stored_answer(self.scheduler.ask_queue(user), asked_s)
        reply = replace(reply, took_s=max(0.0, self.clock.now() - asked_s))
        try:
            self.file.write(reply)
        except StorageFailed:  # not a question more for that: a full disk is no fault of the scheduler's
            self._unwritten, self._stamp = reply, None
