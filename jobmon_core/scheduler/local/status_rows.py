"""What the local scheduler answers: one line per task, as JSON text; and how that is read. Pure."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.job_ids import IndexSet, JobRef
from jobmon_core.domain.slurm.rows import AccountingRow, QueueRow, Record, Usage
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.local.records import from_object

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

_ABOUT = re.compile(r'\{"job_id": (\d+),', re.ASCII)  # how each line of `to_reply` begins


@dataclass(frozen=True, slots=True)
class StatusRow:
    """One task, or with ``waiting`` all tasks of an array that have not started. Times are Unix seconds."""

    job_id: int
    state: str
    raw_job_id: int
    task: int | None = None
    pending_indices: str = ""  # the indices
    reason: str = ""
    cancelled_by: int | None = None
    exit_code: int | None = None
    signal: int | None = None
    submit_s: int | None = None
    start_s: int | None = None
    end_s: int | None = None
    limit_s: int | None = None
    node: str = ""
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
    def ref(self) -> JobRef:
        """The part of the job that this line is about."""
        return JobRef(self.job_id, self.task)

    @property
    def job_state(self) -> JobState:
        """The state."""
        return JobState.from_slurm(self.state)

    @property
    def indices(self) -> IndexSet | None:
        """The waiting tasks, None where this line is about one."""
        return IndexSet.parse(self.pending_indices) if self.pending_indices else None

    def as_queue_row(self) -> QueueRow:
        """Return it as squeue shows it: tasks that will never start are one row without index."""
        return QueueRow(
            ref=self.ref,
            state=self.job_state,
            raw_state=self.state,
            reason=self.reason,
            pending_indices=self.indices if self.job_state.is_alive else None,
            raw_job_id=self.raw_job_id,
            submit_s=self.submit_s,
            start_s=self.start_s,
            end_s=self.end_s,
            limit_s=self.limit_s,
            nodes=self.node,
        )

    def as_accounting_row(self, cluster: str) -> AccountingRow:
        """Return it as sacct shows it."""
        by = "" if self.cancelled_by is None else f" by {self.cancelled_by}"
        ran = self.start_s is not None and self.end_s is not None
        return AccountingRow(
            ref=self.ref,
            state=self.job_state,
            raw_state=f"{self.state}{by}",
            raw_job_id=self.raw_job_id,
            pending_indices=self.indices,
            cancelled_by=self.cancelled_by,
            exit_code=self.exit_code,
            signal=self.signal,
            submit_s=self.submit_s,
            start_s=self.start_s,
            end_s=self.end_s,
            elapsed_s=max(0, (self.end_s or 0) - (self.start_s or 0)) if ran else None,
            limit_s=self.limit_s,
            nodes=self.node,
            reason=self.reason,
            name=self.name,
            cluster=cluster,
            user=self.user,
            workdir=self.workdir,
            usage=Usage(max_rss_bytes=self.max_rss_bytes, cpu_s=self.cpu_s),
        )

    def as_record(self) -> Record:
        """Return it as scontrol shows it."""
        return Record(
            ref=self.ref,
            state=self.job_state,
            raw_state=self.state,
            raw_job_id=self.raw_job_id,
            pending_indices=self.indices,
            reason=self.reason,
            name=self.name,
            user=self.user,
            uid=self.uid,
            exit_code=self.exit_code,
            signal=self.signal,
            submit_s=self.submit_s,
            start_s=self.start_s,
            end_s=self.end_s,
            limit_s=self.limit_s,
            nodes=self.node,
            batch_host=self.node if self.start_s is not None else "",
            workdir=self.workdir,
            stdout=self.stdout,
            stderr=self.stderr,
            command=self.command,
        )


def to_reply(lines: Iterable[StatusRow]) -> str:
    """Write lines as the text of a reply: one JSON object on each."""
    return "".join(f"{json.dumps(asdict(line))}\n" for line in lines)


def from_reply(text: str, job_ids: Collection[int]) -> Iterator[StatusRow]:
    """Yield the lines about some jobs; one that makes no sense costs itself only."""
    wanted = {str(job_id) for job_id in job_ids}
    for row in text.splitlines():
        about = _ABOUT.match(row)  # sought first: to read all the others takes far longer
        if about is None or about[1] not in wanted:
            continue
        line = _read(row)
        if line is not None and line.job_id in job_ids:
            yield line


def _read(row: str) -> StatusRow | None:
    try:
        return from_object(StatusRow, json.loads(row))
    except (ValueError, RecursionError):
        return None
