"""The shared questions: whoever finds an answer too old asks once for all, the others read.

So the load on the scheduler does not grow with the number of monitors. See design: one ``squeue`` an
interval for a user on a host, one ``sacct`` for a batch of endings.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.answers import NO_HURRY_S, Disabled, Reply, Unreachable
from jobmon_core.domain.errors import StorageFailed
from jobmon_core.store.lock import turn
from jobmon_core.store.replies import ReplyFile, SharedReply

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from jobmon_core.domain.observation import AccountingAnswer, QueueRow
    from jobmon_core.engine.clock import Clock
    from jobmon_core.scheduler.contract import Scheduler
    from jobmon_core.store.replies import Stamp

_NAME_LASTS_S = 86_400.0
_NAME_AGAIN_S = 60.0  # after a question without an answer
COALESCE_S = 1.0  # endings are collected until so long none came, and then asked about all at once
COLLECTED_AT_MOST_S = 20.0  # however many come: accounting's details are waited for a little longer than this
_MOMENT_S = 60.0  # endings that are no further apart are asked about together
_SILENT_S = 120.0  # for how long after an unanswered question a database is thought to hang
KEPT_S = 60.0  # how long an answer stays beside newer ones: those who wait for it look once a second
_KEPT_LETTERS = 4 << 20  # of all those that stay: every look reads them


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
    file: ReplyFile
    clock: Clock
    _followed: dict[int, int] = field(default_factory=dict, init=False)  # parts of one array share an id
    _views: dict[int, QueueView] = field(default_factory=dict, init=False)  # of those that are followed
    _stamp: Stamp | None = field(default=None, init=False)  # of the answer that the views are of
    _unwritten: SharedReply = field(default_factory=SharedReply, init=False)  # which the disk refused

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
        with turn(self.file.lock_path) as mine:
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

    def _latest(self) -> SharedReply:
        return max(self.file.read(), self._unwritten, key=lambda reply: reply.asked_s)

    def _read(self, reply: SharedReply, job_ids: set[int]) -> dict[int, QueueView]:
        came_s = reply.asked_s + reply.took_s
        if reply.problem:
            silence = QueueView(reply.asked_s, Unreachable(reply.problem), came_s)
            return dict.fromkeys(job_ids, silence)
        rows = self._rows(reply, job_ids)
        return {job_id: QueueView(reply.asked_s, rows[job_id], came_s) for job_id in job_ids}

    def _rows(self, reply: SharedReply, job_ids: set[int]) -> dict[int, tuple[QueueRow, ...]]:
        """Return what an answer lists of each job; nothing where nobody has asked yet, or nobody answered."""
        rows = self.scheduler.read_queue(reply.text, job_ids) if reply.asked_s and not reply.problem else ()
        of_job: dict[int, list[QueueRow]] = {job_id: [] for job_id in job_ids}
        for row in rows:
            of_job[row.ref.job_id].append(row)
        return {job_id: tuple(listed) for job_id, listed in of_job.items()}

    def _ask(self, user: str) -> None:
        asked_s = self.clock.now()
        reply = _shared(self.scheduler.ask_queue(user), asked_s)
        reply = replace(reply, took_s=max(0.0, self.clock.now() - asked_s))
        try:
            self.file.write(reply)
        except StorageFailed:  # not a question more for that: a full disk is no fault of the scheduler's
            self._unwritten, self._stamp = reply, None


@dataclass(frozen=True, slots=True)
class SharedClusterName:
    """The name of the cluster that this host talks to: asked for once a day, whatever the monitors."""

    scheduler: Scheduler
    file: ReplyFile
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
        reply = SharedReply(self.clock.now(), name or known.text, "" if name else "no answer")
        self.file.write(reply)
        return reply.text

    def last_known(self) -> str:
        """Return the name as it was last told, without asking; empty where it never was."""
        return self.file.read().text


@dataclass(frozen=True, slots=True)
class SharedAccounting:
    """Accounting's answers about the jobs that ended, whoever asked for them.

    ``others`` yields jobs that ended too, as far as anybody knows: whoever asks, asks for them as well, since
    their monitors may not have come to it yet.
    """

    scheduler: Scheduler
    file: ReplyFile
    clock: Clock
    others: Callable[[], Iterable[int]] = tuple

    def ask(
        self, job_id: int, since_s: float, within_s: Callable[[bool], float] = lambda _silent: NO_HURRY_S
    ) -> AccountingAnswer | None:
        """Return an answer asked for at ``since_s`` or later; None while a batch is being collected.

        ``within_s``: how long the asker can wait for it, given whether the last question, a moment ago, had
        no answer.
        """
        with turn(self.file.lock_path) as mine:
            if not mine:
                return None
            reply = self.file.read()
            answer = self._found(reply, job_id, since_s)
            if answer is not None:
                return answer
            wanted = {**reply.wanted}
            wanted.setdefault(str(job_id), self.clock.now())
            if self._more_may_come(wanted.values()):
                self.file.write(replace(reply, wanted=wanted))
                return None
            return self._answer(self._ask(reply, wanted, within_s(self._is_silence(reply))), job_id)

    def known(self, job_id: int, since_s: float) -> AccountingAnswer | None:
        """Return an answer asked for at ``since_s`` or later, if there is one; ask for nothing."""
        return self._found(self.file.read(), job_id, since_s)

    def _found(self, reply: SharedReply, job_id: int, since_s: float) -> AccountingAnswer | None:
        for known in (reply, *reply.earlier):
            if job_id in known.about and since_s <= known.asked_s <= self.clock.now():
                return self._answer(known, job_id)
        return None

    def _is_silence(self, reply: SharedReply) -> bool:
        """Whether accounting did not answer when it was last asked, a moment ago."""
        return bool(reply.problem) and 0 <= self.clock.now() - reply.asked_s < _SILENT_S

    def _more_may_come(self, since_s: Collection[float]) -> bool:
        """Whether to wait for other endings of the same moment: a busy host finds them one by one."""
        now_s = self.clock.now()
        return 0 <= now_s - max(since_s) < COALESCE_S and 0 <= now_s - min(since_s) < COLLECTED_AT_MOST_S

    def _ask(self, known: SharedReply, wanted: dict[str, float], within_s: float) -> SharedReply:
        asked_s = self.clock.now()
        earlier = tuple(_still_kept((known, *known.earlier), asked_s))
        told = {job_id for each in earlier for job_id in each.about}
        job_ids = tuple(sorted({*map(int, wanted), *(other for other in self.others() if other not in told)}))
        answer = _shared(self.scheduler.ask_accounting(job_ids, within_s), asked_s)
        reply = replace(answer, about=job_ids, earlier=earlier)
        self.file.write(reply)
        return reply

    def _answer(self, reply: SharedReply, job_id: int) -> AccountingAnswer:
        if reply.disabled:
            return Disabled()
        if reply.problem:
            return Unreachable(reply.problem)
        return self.scheduler.read_accounting(reply.text, job_id)


def _still_kept(replies: Iterable[SharedReply], now_s: float) -> Iterator[SharedReply]:
    """Yield the answers that somebody may still have to read, the newest first."""
    room = _KEPT_LETTERS
    for reply in replies:
        room -= len(reply.text)
        if room < 0:
            return  # who has not read the others asks again
        if reply.about and 0 <= now_s - reply.asked_s < KEPT_S:
            yield replace(reply, wanted={}, earlier=())


def _shared(answer: Reply | Disabled | Unreachable, asked_s: float) -> SharedReply:
    match answer:
        case Reply():
            return SharedReply(asked_s, answer.text)
        case Disabled():
            return SharedReply(asked_s, disabled=True)
        case Unreachable():
            return SharedReply(asked_s, problem=answer.why or "no answer")
