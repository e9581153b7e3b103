"""Parse the listing of ``qstat -t -s -u USER``: a line for each job and subjob, with its comment below.

Source: ``altdsp_statjob()`` of ``src/cmds/qstat.c``; Torque prints the same columns, wider. Ended jobs are
left out: how they ended stands only in their record. Never raises.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.slurm.job_ids import IndexSet, JobRef, compact
from jobmon_core.domain.slurm.rows import JobRow
from jobmon_core.domain.slurm.states import JobState, Phase
from jobmon_core.scheduler.pbs import values

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_MIN_COLUMNS = 6
_NAME = 3
_RULE = re.compile(r"^-{8,}( -+)+\s*$", re.MULTILINE)
# By the letter: the state, and PBS's own word for it if that says more. F, C (Torque) and X have ended.
# M: another server has it now, and this one does not know more.
STATES = {
    "Q": "PENDING",
    "H": "PENDING (held)",
    "W": "PENDING (waits for its time)",
    "T": "PENDING (in transit)",
    "R": "RUNNING",
    "B": "RUNNING (array has begun)",
    "S": "SUSPENDED",
    "U": "SUSPENDED (its workstation is in use)",
    "E": "COMPLETING",
    "M": "UNKNOWN (moved to another server)",
}
ENDED = frozenset("FCX")


class Listed(NamedTuple):
    """One line, with the comment below it."""

    ref: JobRef
    is_array: bool
    letter: str
    name: str
    comment: str = ""


def state_of(letter: str) -> tuple[JobState, str]:
    """The state of a job that has not ended, and its text; of an unknown letter, the job may be alive."""
    raw_state = STATES.get(letter, f"UNKNOWN (PBS: {letter})")
    return JobState.from_slurm(raw_state), raw_state


def defect_of(text: str) -> str:
    """Why this is not a complete listing; an empty one is: the user has no job."""
    if text and not text.endswith("\n"):
        return "truncated output"
    if text.strip() and not _RULE.search(text):
        return f"unintelligible output: {text.strip()[:80]!r:.120}"
    return ""


def read_listing(text: str, job_ids: Collection[int]) -> tuple[JobRow, ...]:
    """The rows of these jobs; waiting subjobs of an array that are in one state share a row, as in Slurm."""
    waiting: dict[tuple[int, str, str], list[int]] = {}
    rows: list[JobRow] = []
    for each in listed(text):
        ref, letter = each.ref, each.letter
        # of an array only the subjobs count: the array itself has state B until the last one has ended
        if ref.job_id not in job_ids or each.is_array or letter in ENDED:
            continue
        state, raw_state = state_of(letter)
        reason = each.comment if state.phase is Phase.WAITING else ""
        if state.phase is Phase.WAITING and ref.task is not None:
            waiting.setdefault((ref.job_id, letter, reason), []).append(ref.task)
        else:
            rows.append(JobRow(ref, state, raw_state, raw_job_id=ref.job_id, reason=reason))
    for (job_id, letter, reason), indices in waiting.items():
        pending = IndexSet.parse(compact(indices))
        rows.append(JobRow(JobRef(job_id), *state_of(letter), pending_indices=pending, reason=reason))
    return tuple(rows)


def listed(text: str) -> Iterator[Listed]:
    """Yield the lines of all jobs."""
    latest: Listed | None = None
    for line in text.split("\n"):
        columns = line.split()
        job = values.job_of(columns[0]) if len(columns) >= _MIN_COLUMNS and line[:1].isdigit() else None
        if job is not None:
            if latest:
                yield latest
            latest = Listed(*job, columns[-2], columns[_NAME])
        elif latest and line.startswith("   ") and columns and columns != ["--"]:
            latest = latest._replace(comment=line.strip())
    if latest:
        yield latest
