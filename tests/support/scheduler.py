"""A scheduler with scripted answers that counts its queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from jobmon_core.domain.job.tracking.policy import NO_HURRY_S
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.log_paths import LogPaths
from jobmon_core.domain.slurm.rows import Disabled, JobRow, NotListed, RecordAnswer, Unreachable
from jobmon_core.scheduler.base import Submission, Submitted

T = TypeVar("T")

QueueScript = tuple[JobRow, ...] | Unreachable
AccountingScript = tuple[JobRow, ...] | Disabled | Unreachable


class FakeScheduler:
    """Gives the answers of its scripts in turn; the last one of each repeats."""

    name = "fake"

    def __init__(self) -> None:
        self.queue: list[QueueScript] = [()]
        self.accounting: list[AccountingScript] = [()]
        self.records: list[RecordAnswer] = [NotListed()]
        self.templates: LogPaths | None = None
        self.script = ""
        self.cluster = "fake"  # empty while it is unknown
        self.read_for: list[frozenset[int]] = []  # the jobs that each answer about the queue was parsed for
        self.asked: Counter[str] = Counter()
        self.asked_about: list[tuple[int, ...]] = []
        self.accounting_within_s: list[float] = []
        self._queue_answers: dict[str, tuple[JobRow, ...]] = {}
        self._accounting_answers: dict[str, tuple[JobRow, ...]] = {}

    def submit(
        self,
        arguments: Sequence[str],
        on_job: Callable[[Submitted], None],
        on_start: Callable[[], None] | None = None,
    ) -> Submission:
        if on_start:
            on_start()
        self.asked["submit"] += 1
        job = Submitted(JobRef(int(arguments[0])))
        on_job(job)
        return Submission(0, job)

    def ask_queue(self, user: str) -> str | Unreachable:
        self.asked["queue"] += 1
        answer = _next(self.queue)
        if isinstance(answer, Unreachable):
            return answer
        text = f"queue of {user}, number {self.asked['queue']}"
        self._queue_answers[text] = answer
        return text

    def read_queue(self, text: str, job_ids: Collection[int]) -> tuple[JobRow, ...]:
        self.read_for.append(frozenset(job_ids))
        return tuple(row for row in self._queue_answers[text] if row.ref.job_id in job_ids)

    def ask_accounting(
        self, job_ids: Sequence[int], within_s: float = NO_HURRY_S
    ) -> str | Disabled | Unreachable:
        self.asked["accounting"] += 1
        self.accounting_within_s.append(within_s)
        self.asked_about.append(tuple(job_ids))
        answer = _next(self.accounting)
        if isinstance(answer, Disabled | Unreachable):
            return answer
        text = f"accounting, number {self.asked['accounting']}"
        self._accounting_answers[text] = answer
        return text

    def read_accounting(self, text: str, job_id: int) -> tuple[JobRow, ...]:
        return tuple(row for row in self._accounting_answers[text] if row.ref.job_id == job_id)

    def ask_record(self, job_id: int) -> RecordAnswer:
        self.asked["record"] += 1
        answer = _next(self.records)
        if isinstance(answer, tuple):
            return tuple(record for record in answer if record.ref.job_id == job_id) or NotListed()
        return answer

    def ask_log_templates(self, job_id: int) -> LogPaths | None:
        self.asked[f"templates of {job_id}"] += 1
        return self.templates

    def script_of(self, job_id: int) -> str:
        self.asked[f"script of {job_id}"] += 1
        return self.script

    def cluster_name(self) -> str:
        self.asked["cluster"] += 1
        return self.cluster


def _next(script: list[T]) -> T:
    return script.pop(0) if len(script) > 1 else script[0]
