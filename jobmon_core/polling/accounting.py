"""One question to accounting for a batch of endings, whoever asks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.rows import NO_HURRY_S, Disabled, Unreachable
from jobmon_core.store.shared_answers import SharedAnswer, StoredAnswer, stored_answer
from jobmon_core.system.lock import try_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from jobmon_core.domain.slurm.rows import AccountingAnswer
    from jobmon_core.scheduler.base import Scheduler
    from jobmon_core.system.clock import Clock

COALESCE_S = 1.0  # endings are collected until so long none came, and then asked about all at once
COLLECTED_AT_MOST_S = 20.0  # however many come: accounting's details are waited for a little longer than this
_SILENT_S = 120.0  # for how long after an unanswered question a database is thought to hang
KEPT_S = 60.0  # how long an answer stays beside newer ones: those who wait for it look once a second
_KEPT_LETTERS = 4 << 20  # of all those that stay: every look reads them


@dataclass(frozen=True, slots=True)
class SharedAccounting:
    """Accounting's answers about the jobs that ended, whoever asked for them.

    ``others`` yields jobs that ended too, as far as anybody knows: whoever asks, asks for them as well, since
    their monitors may not have come to it yet.
    """

    scheduler: Scheduler
    file: SharedAnswer
    clock: Clock
    others: Callable[[], Iterable[int]] = tuple

    def ask(
        self, job_id: int, since_s: float, within_s: Callable[[bool], float] = lambda _silent: NO_HURRY_S
    ) -> AccountingAnswer | None:
        """Return an answer asked for at ``since_s`` or later; None while a batch is being collected.

        ``within_s``: how long the asker can wait for it, given whether the last question, a moment ago, had
        no answer.
        """
        with try_lock(self.file.lock_path) as mine:
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

    def _found(self, reply: StoredAnswer, job_id: int, since_s: float) -> AccountingAnswer | None:
        for known in (reply, *reply.earlier):
            if job_id in known.about and since_s <= known.asked_s <= self.clock.now():
                return self._answer(known, job_id)
        return None

    def _is_silence(self, reply: StoredAnswer) -> bool:
        """Whether accounting did not answer when it was last asked, a moment ago."""
        return bool(reply.problem) and 0 <= self.clock.now() - reply.asked_s < _SILENT_S

    def _more_may_come(self, since_s: Collection[float]) -> bool:
        """Whether to wait for other endings of the same moment: a busy host finds them one by one."""
        now_s = self.clock.now()
        return 0 <= now_s - max(since_s) < COALESCE_S and 0 <= now_s - min(since_s) < COLLECTED_AT_MOST_S

    def _ask(self, known: StoredAnswer, wanted: dict[str, float], within_s: float) -> StoredAnswer:
        asked_s = self.clock.now()
        earlier = tuple(_still_kept((known, *known.earlier), asked_s))
        told = {job_id for each in earlier for job_id in each.about}
        job_ids = tuple(sorted({*map(int, wanted), *(other for other in self.others() if other not in told)}))
        answer = stored_answer(self.scheduler.ask_accounting(job_ids, within_s), asked_s)
        reply = replace(answer, about=job_ids, earlier=earlier)
        self.file.write(reply)
        return reply

    def _answer(self, reply: StoredAnswer, job_id: int) -> AccountingAnswer:
        if reply.disabled:
            return Disabled()
        if reply.problem:
            return Unreachable(reply.problem)
        return self.scheduler.read_accounting(reply.text, job_id)


def _still_kept(replies: Iterable[StoredAnswer], now_s: float) -> Iterator[StoredAnswer]:
    """Yield the answers that somebody may still have to read, the newest first."""
    room = _KEPT_LETTERS
    for reply in replies:
        room -= len(reply.text)
        if room < 0:
            return  # who has not read the others asks again
        if reply.about and 0 <= now_s - reply.asked_s < KEPT_S:
            yield replace(reply, wanted={}, earlier=())
