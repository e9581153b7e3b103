"""Parse the output of squeue. Never raises: invalid rows are skipped."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.rows import JobRow
from jobmon_core.domain.slurm.states import JobState, Phase
from jobmon_core.scheduler.slurm import commands, values

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_LINE = re.compile(r"^(\d+)[|_+].*", re.ASCII | re.MULTILINE)
_STARTED = frozenset(Phase) - {Phase.WAITING}  # in other states squeue prints an estimated start
_ENDED = frozenset({Phase.FINISHING, Phase.ENDED, Phase.ENDED_UNLESS_REQUEUED})


def read_queue(text: str, job_ids: Collection[int]) -> tuple[JobRow, ...]:
    """Parse the rows of these jobs, their tasks and components, in one pass."""
    wanted = {str(job_id) for job_id in job_ids}
    lines = (match[0] for match in _LINE.finditer(text) if match[1] in wanted)
    return tuple(row for line in lines for row in _row(line))


def defect_of(text: str) -> str:
    """Why this is not a complete output."""
    if text and not text.endswith("\n"):
        return "truncated output"
    lines = text.split("\n")[:-1]
    if any(line.strip() for line in lines) and not any(True for line in lines for _ in _row(line)):
        return f"unintelligible output: {lines[0][:80]!r:.120}"
    return ""


def estimates_removed(
    state: JobState, start_s: int | None, end_s: int | None
) -> tuple[int | None, int | None]:
    """Drop times that are Slurm's estimates: of a job that has not started, or not ended."""
    return (start_s if state.phase in _STARTED else None), (end_s if state.phase in _ENDED else None)


def _row(line: str) -> Iterator[JobRow]:
    columns = line.split("|", commands.QUEUE_COLUMNS - 1)
    if len(columns) != commands.QUEUE_COLUMNS:
        return
    listed_id, raw_job_id, _, _, raw_state, start, end, submit, limit, nodes, reason = columns
    job = values.listed_id(listed_id)
    if job is None or not raw_state.strip():
        return
    ref, pending = job
    state = JobState.from_slurm(raw_state)
    start_s, end_s = estimates_removed(state, values.unix_time(start), values.unix_time(end))
    yield JobRow(
        ref=ref,
        state=state,
        raw_state=raw_state,
        reason=reason,
        pending_indices=pending,
        raw_job_id=None if pending is not None else values.number(raw_job_id),
        submit_s=values.unix_time(submit),
        start_s=start_s,
        end_s=end_s,
        limit_s=values.limit_s(limit),
        nodes=nodes,
    )
