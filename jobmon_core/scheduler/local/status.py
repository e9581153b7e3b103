"""The current status of a local job: its records, and whether its supervisor still runs.

If the supervisor was killed, its unfinished tasks are not listed, unless their process still runs.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from jobmon_core.domain.errors import StateUnreadable
from jobmon_core.domain.slurm.job_ids import IndexSet, JobRef, compact
from jobmon_core.domain.slurm.rows import AccountingRow, JobRow, QueueRow, Record, Usage
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.local.task_env import CLUSTER, TaskEnv
from jobmon_core.system.json_codec import from_json, to_json
from jobmon_core.system.process import ProcessId, ProcessStatus, start_ticks

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from _typeshed import DataclassInstance

    from jobmon_core.scheduler.local.job_dir import JobDir, JobSpec, TaskRecord

Row = TypeVar("Row", bound=JobRow)

_SUPERVISOR_KILLED = "its supervisor was killed: how the job ends will not be recorded"
_QUEUED = "JobArrayTaskLimit"  # Slurm's reason for tasks that wait for others of their array


@dataclass(frozen=True, slots=True)
class StatusRow:
    """One task, or all tasks of an array that have not started. Times are Unix seconds."""

    JSON_KEYS: ClassVar[dict[str, str]] = {
        "raw_job_id": "own_id",
        "pending_indices": "waiting",
        "nodes": "node",
    }

    job_id: int  # for an array, that of the whole array
    state: str
    raw_job_id: int  # the task's own (sacct's JobIDRaw)
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

    @property
    def job_state(self) -> JobState:
        """The state as an enumeration."""
        return JobState.from_slurm(self.state)

    def as_queue_row(self) -> QueueRow:
        """Return the row that squeue would show; that of tasks that will never start lacks indices."""
        return self._as(QueueRow, **({} if self.job_state.is_alive else {"pending_indices": None}))

    def as_accounting_row(self) -> AccountingRow:
        """Return the row that sacct would show."""
        by = "" if self.cancelled_by is None else f" by {self.cancelled_by}"
        ran_s = self.end_s - self.start_s if self.end_s is not None and self.start_s is not None else None
        return self._as(
            AccountingRow,
            raw_state=f"{self.state}{by}",
            elapsed_s=None if ran_s is None else max(0, ran_s),
            cluster=CLUSTER,
            usage=Usage(max_rss_bytes=self.max_rss_bytes, cpu_s=self.cpu_s),
        )

    def as_record(self) -> Record:
        """Return the record that scontrol would show."""
        return self._as(Record, batch_host=self.nodes if self.start_s is not None else "")

    def _as(self, kind: type[Row], **changes: Any) -> Row:  # noqa: ANN401 - a field's value
        derived = {
            "ref": JobRef(self.job_id, self.task),
            "state": self.job_state,
            "raw_state": self.state,
            "pending_indices": IndexSet.parse(self.pending_indices) if self.pending_indices else None,
        }
        return kind(**{**same_fields(self, kind), **derived, **changes})


def same_fields(record: DataclassInstance, kind: type[DataclassInstance]) -> dict[str, Any]:
    """Return the fields of a record that ``kind`` has too."""
    names = {field.name for field in fields(kind)}
    return {field.name: getattr(record, field.name) for field in fields(record) if field.name in names}


def job_status_rows(folder: JobDir, observer: ProcessId) -> list[StatusRow]:
    """Return the status of all tasks of a job, as seen by ``observer``; empty if none is known.

    Raises:
        OSError: the directory cannot be read.
    """
    try:
        spec, owner = folder.spec(), folder.owner()
        if spec is None or owner is None:
            return []
        # the supervisor's status before its records: otherwise its last record could be missed
        supervisor = owner.status(observer)
        tasks, cancelled = folder.tasks(), folder.never_started()
    except StateUnreadable as error:
        return [StatusRow(folder.id, JobState.UNKNOWN, folder.id, reason=str(error))]
    shared = _shared_fields(folder.id, spec, owner.host)
    pending = ((row, None) for row in _pending_row(shared, spec, tasks, cancelled))
    started = ((replace(shared, task=task.index, **same_fields(task, StatusRow)), task) for task in tasks)
    rows = (_checked(row, task, supervisor, owner.host) for row, task in (*pending, *started))
    return [row for row in rows if row is not None]


def _shared_fields(job_id: int, spec: JobSpec, host: str) -> StatusRow:
    """Return the fields that all tasks of the job share."""
    task_env = TaskEnv(spec, job_id, None, job_id, host)
    return replace(
        StatusRow(job_id, JobState.PENDING, job_id, **same_fields(spec, StatusRow)),
        nodes=task_env.node,
        # the tasks of an array share only the unexpanded patterns
        stdout=spec.stdout if spec.array else task_env.path(spec.stdout),
        stderr=spec.stderr if spec.array else task_env.path(spec.stderr),
        command=" ".join((spec.command, *spec.arguments)) if spec.command else "",
    )


def _pending_row(
    shared: StatusRow, spec: JobSpec, tasks: list[TaskRecord], cancelled: TaskRecord | None
) -> Iterator[StatusRow]:
    """Yield at most one row, for all tasks that have not started."""
    started = {task.index for task in tasks}
    pending = [index for index in IndexSet.parse(spec.array) if index not in started]
    if not pending and (spec.array or started):
        return
    row = replace(shared, pending_indices=compact(pending))
    if cancelled is None:
        yield replace(row, reason=_QUEUED if started else "")
    else:
        yield replace(row, state=cancelled.state, cancelled_by=cancelled.cancelled_by, end_s=cancelled.end_s)


def _checked(
    row: StatusRow, task: TaskRecord | None, supervisor: ProcessStatus, host: str
) -> StatusRow | None:
    """Return the row in the light of the supervisor's status; None if nothing is certain."""
    if not row.job_state.is_alive or supervisor is ProcessStatus.RUNNING:
        return row
    if supervisor is ProcessStatus.REBOOTED:
        return replace(row, state=JobState.NODE_FAIL, reason="the machine was restarted")
    if supervisor is ProcessStatus.REMOTE:
        reason = f"it runs on {host}; only that host knows its status"
        return replace(row, state=JobState.UNKNOWN, reason=reason)
    if task is None or task.pid is None or task.start_ticks is None:
        return None
    still_runs = start_ticks(task.pid) == task.start_ticks
    return replace(row, reason=_SUPERVISOR_KILLED) if still_runs else None


def to_answer(rows: Iterable[StatusRow]) -> str:
    """Return the rows as the text of an answer: one JSON object per line."""
    return "".join(f"{json.dumps(to_json(row))}\n" for row in rows)


def from_answer(text: str, job_ids: Collection[int]) -> Iterator[StatusRow]:
    """Yield the rows of these jobs; a damaged line is skipped."""
    for line in text.splitlines():
        with suppress(ValueError, RecursionError):
            row = from_json(StatusRow, json.loads(line))
            if row.job_id in job_ids:
                yield row
