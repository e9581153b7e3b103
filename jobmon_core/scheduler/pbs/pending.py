"""What a waiting job of PBS waits for: the comment of the scheduler, holds, a dependency, a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.before.pending.model import PendingFacts, PendingJob
from jobmon_core.domain.slurm.job_ids import JobRef
from jobmon_core.domain.slurm.rows import NotListed, Unreachable
from jobmon_core.domain.slurm.states import Phase
from jobmon_core.scheduler.pbs.client import PbsScheduler
from jobmon_core.scheduler.pbs.record import rows_of
from jobmon_core.scheduler.records import same_fields

if TYPE_CHECKING:
    from jobmon_core.scheduler.pbs.record import Record
    from jobmon_core.system.runner import Runner

_HOLDS = {
    "u": "it is held by its owner (`qrls` releases it)",
    "o": "it is held by an operator",
    "s": "it is held by PBS or an administrator",
}
_WAITING_FOR_TIME = "W"


def ask_pending(runner: Runner, ref: JobRef, server: str) -> PendingFacts | NotListed | Unreachable:
    """See `Backend`: by the record of the job."""
    records = PbsScheduler(runner, server).records(JobRef(ref.job_id))
    if isinstance(records, NotListed | Unreachable):
        return records
    rows = [row for row in rows_of(records, ref.job_id) if ref.key in ("", row.ref.key)]
    if not rows:
        return NotListed()
    waiting = [row for row in rows if row.state.phase is Phase.WAITING]
    row = (waiting or rows)[0]
    record = next((each for each in records if not each.is_whole_array), records[0])
    own = {"reason": _reason(record, row.reason), "partitions": (row.partition,) if row.partition else ()}
    job = PendingJob(**{**same_fields(row, PendingJob), **own})
    return PendingFacts(job, also_pending=max(0, len(waiting) - 1))


def _reason(record: Record, comment: str) -> str:
    fields = record.fields
    reasons = [text for letter, text in _HOLDS.items() if letter in fields.get("Hold_Types", "n")]
    if depend := fields.get("depend", ""):
        reasons = [f"it waits for another job ({depend})"]  # PBS holds it meanwhile
    if fields.get("job_state") == _WAITING_FOR_TIME:
        reasons.append("its start time (`-a`) has not come")
    return "; ".join(filter(None, (*reasons, comment)))
