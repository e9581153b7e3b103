"""Read what squeue answers. Pure and total: a row that makes no sense is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobmon_core.domain.observation import QueueRow
from jobmon_core.domain.states import JobState, Phase
from jobmon_core.scheduler.slurm import commands, ids, units

if TYPE_CHECKING:
    from collections.abc import Iterator

_BEHIND_AN_ID = ("|", "_", "+")
_STARTED = frozenset(Phase) - {Phase.WAITING}  # else squeue's start is but an estimate
_OVER = frozenset({Phase.FINISHING, Phase.ENDED, Phase.ENDED_UNLESS_REQUEUED})


def read_queue(text: str, job_id: int) -> tuple[QueueRow, ...]:
    """Read the rows of one job, its array tasks and components included."""
    return tuple(row for line in _lines_of(text, job_id) for row in _row(line))


def _lines_of(text: str, job_id: int) -> Iterator[str]:
    """Find the lines of one job without splitting all: a snapshot is read once for each of many jobs."""
    starts = tuple(f"{job_id}{mark}" for mark in _BEHIND_AN_ID)
    padded = f"\n{text}"
    at = padded.find(f"\n{job_id}")
    while at >= 0:
        end = padded.find("\n", at + 1)
        line = padded[at + 1 : None if end < 0 else end]
        if line.startswith(starts):
            yield line
        at = padded.find(f"\n{job_id}", at + 1)


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
    job = ids.listed(listed)
    if job is None or not word.strip():
        return
    ref, waiting = job
    state = JobState.from_slurm(word)
    start_s, end_s = estimates_removed(state, units.moment(start), units.moment(end))
    yield QueueRow(
        ref=ref,
        state=state,
        word=word,
        reason=reason,
        waiting=waiting,
        own_id=None if waiting is not None else units.number(own_id),
        submit_s=units.moment(submit),
        start_s=start_s,
        end_s=end_s,
        limit_s=units.limit_s(limit),
        nodes=nodes,
    )
