"""Read what sacct answers. Pure and total: a row that makes no sense is left out.

The first line names the columns. A job's row is followed by those of its steps, which are folded into it.

slurmctld tells of starts every few seconds and of ends at once. Until it has told of the start of a job that
ended before, sacct shows but a stub: no partition, no name of the job's, and the last task of an array as if
the whole array were a plain job (seen on 22.05). A stub is left out; the full row follows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jobmon_core.domain.slurm.rows import AccountingRow, Usage
from jobmon_core.domain.slurm.states import JobState
from jobmon_core.scheduler.slurm import values
from jobmon_core.scheduler.slurm.commands import SEP

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_UID = re.compile(r"by (\d{1,10})", re.ASCII)
_OWN_ID = "JobIDRaw"
_NOTHING = ("None", "Unknown", "None assigned")

Fields = dict[str, str]


@dataclass(slots=True)
class _Run:
    """One run while it is read: its own row, then those of its steps."""

    main: Fields
    steps: list[Fields] = field(default_factory=list)


def is_answer(text: str) -> bool:
    """Whether sacct wrote this, if only to say that it has nothing."""
    return text.startswith(f"JobID{SEP}") and text.endswith("\n")


def read_accounting(text: str, job_id: int) -> tuple[AccountingRow, ...]:
    """Read the rows of one job, its tasks and components included, oldest run first."""
    header, _, body = text.partition("\n")
    names = header.split(SEP)
    starts = tuple(f"{job_id}{mark}" for mark in (SEP, "_", "+", "."))
    rows = (
        dict(zip(names, record.split(SEP, len(names) - 1), strict=True))
        for record in _records(body)
        if record.startswith(starts) and record.count(SEP) >= len(names) - 1
    )
    found = (_row(run) for run in _runs(rows))
    ours = (row for row in found if row and row.ref.job_id == job_id)  # a damaged id may begin with ours
    return tuple(sorted(ours, key=lambda row: row.submit_s or 0))


def _records(body: str) -> Iterator[str]:
    """Put lines together that one record was broken into: a job's name may hold newlines."""
    record: list[str] = []
    for line in body.removesuffix("\n").split("\n"):
        if line[:1].isdigit() and SEP in line:
            yield "\n".join(record)
            record = []
        record.append(line)
    yield "\n".join(record)


def _runs(rows: Iterator[Fields]) -> Iterator[_Run]:
    run: _Run | None = None
    for row in rows:
        own_id, dot, _ = row.get(_OWN_ID, "").partition(".")
        if not dot:
            if run is not None:
                yield run
            run = _Run(row)
        elif run is not None and run.main.get(_OWN_ID) == own_id:
            run.steps.append(row)
    if run is not None:
        yield run


def _row(run: _Run) -> AccountingRow | None:
    main = run.main
    job = values.listed_id(main.get("JobID", ""))
    word = main.get("State", "")
    if job is None or not word.strip() or _is_stub(main):
        return None
    ref, waiting = job
    by = _UID.search(word)
    exit_code, signal = values.exit_pair(main.get("ExitCode", ""))
    return AccountingRow(
        ref=ref,
        state=JobState.from_slurm(word),
        raw_state=word,
        raw_job_id=None if waiting is not None else values.number(main.get(_OWN_ID, "")),
        pending_indices=waiting,
        cancelled_by=int(by[1]) if by else None,
        exit_code=exit_code,
        signal=signal,
        derived_exit_code=values.exit_pair(main.get("DerivedExitCode", ""))[0],
        submit_s=values.unix_time(main.get("Submit", "")),
        start_s=values.unix_time(main.get("Start", "")),
        end_s=values.unix_time(main.get("End", "")),
        elapsed_s=values.number(main.get("ElapsedRaw", "")),
        limit_s=values.limit_of_minutes_s(main.get("TimelimitRaw", "")),
        nodes=_text(main, "NodeList"),
        reason=_text(main, "Reason"),
        partition=main.get("Partition", ""),
        name=main.get("JobName", ""),
        cluster=main.get("Cluster", ""),
        user=main.get("User", ""),
        workdir=main.get("WorkDir", ""),
        usage=_usage(run),
    )


def _is_stub(main: Fields) -> bool:
    """Whether accounting knows of this job's end alone: every job that was submitted has a partition."""
    return main.get("Partition") == ""


def _text(row: Fields, name: str) -> str:
    value = row.get(name, "")
    return "" if value in _NOTHING else value


def _usage(run: _Run) -> Usage:
    """What all steps used together: they run beside or after each other, each with its own processes.

    The batch step does not hold what srun started, so CPU time adds up; memory does not, over time.
    """
    peaks = [size for step in run.steps for size in _memory(step)]
    times = [seconds for step in run.steps if (seconds := _cpu_s(step)) is not None]
    whole = values.duration_s(run.main.get("TotalCPU", ""))
    return Usage(
        max_rss_bytes=max(peaks, default=None),
        requested_bytes=_requested(run.main),
        cpu_s=max(sum(times), whole or 0.0) if times else whole,
        cpus=values.number(run.main.get("AllocCPUS", "")) or None,
    )


def _memory(step: Fields) -> Iterator[int]:
    """What a step's tasks held: all together, and the largest. Short steps were never sampled."""
    total = values.tres(step.get("TRESUsageInTot", "")).get("mem", "")
    for text in (total, step.get("MaxRSS", "")):
        size = values.size_bytes(text)
        if size:
            yield size


def _cpu_s(step: Fields) -> float | None:
    """CPU time of a step: 25.05 was seen to leave one of the two figures at zero."""
    texts: Sequence[str] = (
        step.get("TotalCPU", ""),
        values.tres(step.get("TRESUsageInTot", "")).get("cpu", ""),
    )
    return max((seconds for text in texts if (seconds := values.duration_s(text)) is not None), default=None)


def _requested(main: Fields) -> int | None:
    for name in ("AllocTRES", "ReqTRES"):
        size = values.size_bytes(values.tres(main.get(name, "")).get("mem", ""))
        if size:
            return size
    return None
