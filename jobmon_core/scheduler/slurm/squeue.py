"""Read what squeue answers. Pure and total: a row that makes no sense is left out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.rows import QueueRow
from jobmon_core.domain.slurm.states import JobState, Phase
from jobmon_core.scheduler.slurm import commands, values

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_LINE = re.compile(r"^(\d+)[|_+].*", re.ASCII | re.MULTILINE)  # an array task and a component too
_STARTED = frozenset(Phase) - {Phase.WAITING}  # else squeue's start is but an estimate
_OVER = frozenset({Phase.FINISHING, Phase.ENDED, Phase.ENDED_UNLESS_REQUEUED})


def read_queue(text: str, job_ids: Collection[int]) -> tuple[QueueRow, ...]:
    """Read the rows of some jobs, their array tasks and components included, in one pass."""
    wanted = {str(job_id) for job_id in job_ids}
    lines = (match[0] for match in _LINE.finditer(text) if match[1] in wanted)
    return tuple(row for line in lines for row in _row(line))


def fault_in(text: str) -> str:
    """Say why this is no answer of squeue's, empty if it is one.

    Garbage and half an answer must not read as "no such job".
    """
    if text and not text.endswith("\n"):
        return "its answer is cut short"
    lines = text.split("\n")[:-1]
    if any(line.strip() for line in lines) and not any(True for line in lines for _ in _row(line)):
        return f"its answer makes no sense: {lines[0][:80]!r:.120}"
    return ""


def estimates_removed(
    state: JobState, start_s: int | None, end_s: int | None
) -> tuple[int | None, int | None]:
    """Keep a start only of what has started and an end only of what is over; Slurm shows forecasts too."""
    return (start_s if state.phase in _STARTED else None), (end_s if state.phase in _OVER else None)


def _row(line: str) -> Iterator[QueueRow]:
    """Read one line: no row or one."""
    columns = line.split("|", commands.QUEUE_COLUMNS - 1)
    if len(columns) != commands.QUEUE_COLUMNS:
        return
    listed, own_id, _, _, word, start, end, submit, limit, nodes, reason = columns
    job = values.listed_id(listed)
    if job is None or not word.strip():
        return
    ref, waiting = job
    state = JobState.from_slurm(word)
    start_s, end_s = estimates_removed(state, values.unix_time(start), values.unix_time(end))
    yield QueueRow(
        ref=ref,
        state=state,
        raw_state=word,
        reason=reason,
        pending_indices=waiting,
        raw_job_id=None if waiting is not None else values.number(own_id),
        submit_s=values.unix_time(submit),
        start_s=start_s,
        end_s=end_s,
        limit_s=values.limit_s(limit),
        nodes=nodes,
    )
