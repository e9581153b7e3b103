"""The status of a task in a backend without query commands, and its form as a row of Slurm's."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

from jobmon_core.domain.job.tracking.policy import NO_HURRY_S
from jobmon_core.domain.slurm.job_ids import IndexSet, JobRef
from jobmon_core.domain.slurm.rows import Disabled, JobRow, Unreachable, Usage
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.system.json_codec import from_json, to_json

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from _typeshed import DataclassInstance

    from jobmon_core.domain.slurm.log_paths import LogPaths


@dataclass(frozen=True, slots=True)
class StatusRow:
    """One task, or all tasks of an array that have not started."""

    JSON_KEYS: ClassVar[dict[str, str]] = {
        "raw_job_id": "own_id",
        "pending_indices": "waiting",
        "nodes": "node",
    }

    job_id: int
    state: str
    raw_job_id: int
    task: int | None = None
    pending_indices: str = ""
    reason: str = ""
    cancelled_by: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    submit_s: int | None = None
    start_s: int | None = None
    end_s: int | None = None
    limit_s: int | None = None
    nodes: str = ""
    name: str = ""
    user: str = ""
    uid: int | None = None
    workdir: str = ""
    stdout: str = ""
    stderr: str = ""
    command: str = ""
    max_rss_bytes: int | None = None
    cpu_s: float | None = None
    backend_state: str = ""

    @property
    def raw_state(self) -> str:
        """With the backend's own word if that differs: ``CANCELLED (STOPPED)``."""
        own = self.backend_state
        if own in ("", self.state):
            return self.state
        return f"{self.state} ({own})"

    @property
    def job_state(self) -> JobState:
        """As an enumeration."""
        return JobState.from_slurm(self.state)

    def as_queue_row(self) -> JobRow:
        """As squeue would show it."""
        return self._as_row(**({} if self.job_state.is_alive else {"pending_indices": None}))

    def as_accounting_row(self, cluster: str) -> JobRow:
        """As sacct would show it."""
        by = "" if self.cancelled_by is None else f" by {self.cancelled_by}"
        ran_s = None
        if self.end_s is not None and self.start_s is not None:
            ran_s = self.end_s - self.start_s
        return self._as_row(
            raw_state=f"{self.raw_state}{by}",
            elapsed_s=None if ran_s is None else max(0, ran_s),
            cluster=cluster,
            usage=Usage(max_rss_bytes=self.max_rss_bytes, cpu_s=self.cpu_s),
        )

    def as_record(self) -> JobRow:
        """As scontrol would show it."""
        return self._as_row(batch_host=self.nodes if self.start_s is not None else "")

    def _as_row(self, **changes: Any) -> JobRow:  # noqa: ANN401 - a field's value
        derived = {
            "ref": JobRef(self.job_id, self.task),
            "state": self.job_state,
            "raw_state": self.raw_state,
            "pending_indices": IndexSet.parse(self.pending_indices) if self.pending_indices else None,
        }
        return JobRow(**{**same_fields(self, JobRow), **derived, **changes})


def same_fields(record: DataclassInstance, kind: type[DataclassInstance]) -> dict[str, Any]:
    """The fields of a record that ``kind`` has."""
    names = {field.name for field in fields(kind)}
    return {field.name: getattr(record, field.name) for field in fields(record) if field.name in names}


def to_answer(rows: Iterable[StatusRow]) -> str:
    """The text of an answer: one JSON object per line."""
    return "".join(f"{json.dumps(to_json(row))}\n" for row in rows)


def from_answer(text: str, job_ids: Collection[int]) -> Iterator[StatusRow]:
    """Yield the rows of these jobs; damaged lines are skipped."""
    for line in text.splitlines():
        with suppress(ValueError, RecursionError):
            row = from_json(StatusRow, json.loads(line))
            if row.job_id in job_ids:
                yield row


@dataclass(frozen=True, slots=True)
class Reply:
    """The rows of a service, as the text of `to_answer`, or why there are none."""

    text: str = ""
    problem: str = ""

    @property
    def answer(self) -> str | Unreachable:
        """As `Scheduler.ask_queue` returns it."""
        return Unreachable(self.problem) if self.problem else self.text


class WithoutAccounting:
    """What schedulers that answer with such rows have in common."""

    def read_queue(self, text: str, job_ids: Collection[int]) -> tuple[JobRow, ...]:
        """See `Scheduler`."""
        return tuple(row.as_queue_row() for row in from_answer(text, job_ids))

    def ask_accounting(self, job_ids: Sequence[int], within_s: float = NO_HURRY_S) -> Disabled:  # noqa: ARG002 - there is none
        """See `Scheduler`."""
        return Disabled()

    def read_accounting(self, text: str, job_id: int) -> tuple[JobRow, ...]:  # noqa: ARG002 - see above
        """See `Scheduler`."""
        return ()

    def ask_log_templates(self, job_id: int) -> LogPaths | None:  # noqa: ARG002 - known from the beginning
        """See `Scheduler`."""
        return None

    def script_of(self, job_id: int) -> str:  # noqa: ARG002 - a job need not have one
        """See `Scheduler`."""
        return ""

    def cluster_name(self) -> str:
        """See `Scheduler`."""
        return ""
