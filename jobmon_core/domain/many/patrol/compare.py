"""What has changed since the last patrol, and what the next one must remember."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import replace

from jobmon_core.domain.humanize import count, number, plural
from jobmon_core.domain.logs.diagnosis.model import Quote
from jobmon_core.domain.many.patrol.model import (
    Memory,
    Patrol,
    PatrolledJob,
    Problem,
    Remembered,
    SeenJob,
)

_DIGEST_CHARS = 16
OUTCOME = "outcome"  # the kind of a problem that the state of the job shows, too


def compare(
    seen: Iterable[SeenJob],
    problems: Iterable[Problem],
    memory: Memory,
    now_s: float,
    *,
    names_jobs: bool = False,
    is_done: bool = False,
) -> Patrol:
    """Return the patrol at ``now_s`` over the jobs ``seen``.

    Args:
        seen: the jobs, sorted by id.
        problems: what is wrong and concerns no single job.
        memory: what the last patrol saw.
        now_s: Unix seconds.
        names_jobs: whether the user asked for these jobs only.
        is_done: whether nothing is watched any more.
    """
    jobs = [_compared(job, memory.jobs.get(job.id)) for job in seen]
    times = [memory.jobs[job.seen.id].at_s for job in jobs if job.seen.id in memory.jobs]
    since_s = max(times, default=0.0) if names_jobs else memory.at_s
    # sorted() keeps the order of jobs that are equally bad
    ranked = sorted(jobs, key=lambda job: (-job.severity, not job.has_news))
    return Patrol(now_s, since_s or None, tuple(ranked), tuple(problems), is_done)


def remembered(memory: Memory, patrol: Patrol, *, names_jobs: bool = False) -> Memory:
    """Return the memory after a patrol; one over named jobs forgets nothing about the others."""
    seen = {job.seen.id: _remembered(job.seen, patrol.at_s) for job in patrol.jobs}
    if names_jobs:
        return replace(memory, jobs={**memory.jobs, **seen})
    return Memory(patrol.at_s, seen)


def _remembered(seen: SeenJob, at_s: float) -> Remembered:
    return Remembered(
        at_s,
        seen.state,
        seen.current,
        seen.unit,
        seen.outputs,
        seen.newest_checkpoint,
        tuple(sign for sign, exists in seen.markers.items() if exists),
        {quote.name: _digest(quote) for quote in seen.results},
        {problem.kind: problem.text for problem in seen.problems},
        seen.is_over,
    )


def _compared(seen: SeenJob, before: Remembered | None) -> PatrolledJob:
    known = before.results if before else {}
    results = tuple(quote for quote in seen.results if known.get(quote.name) != _digest(quote))
    changes = _first_sight(seen) if before is None else _changes(seen, before)
    return PatrolledJob(seen, tuple(changes), results, before is None)


def _first_sight(seen: SeenJob) -> Iterator[str]:
    yield _with_reason(seen.state, seen)
    if seen.progress and not seen.is_over:
        yield seen.progress
    if seen.outputs:
        yield f"outputs: {_outputs(seen)}"
    if seen.newest_checkpoint:
        yield f"{seen.newest_checkpoint} is the newest of {count(seen.checkpoints or 1, 'checkpoint')}"
    yield from (f"{sign} is there" for sign, exists in seen.markers.items() if exists)
    yield from (problem.text for problem in seen.problems if problem.kind != OUTCOME)


def _changes(seen: SeenJob, before: Remembered) -> Iterator[str]:
    if seen.state != before.state:
        yield f"{before.state} -> {_with_reason(seen.state, seen)}"
    elif seen.is_unwatched and not before.is_over:
        yield "no longer watched"
    else:
        yield from _outcome(seen, before)
    yield from _progress(seen, before)
    if seen.newest_checkpoint and seen.newest_checkpoint != before.newest_checkpoint:
        yield f"{seen.newest_checkpoint} saved"
    if seen.outputs is not None and seen.outputs != (before.outputs or 0):
        yield f"outputs: {before.outputs or 0} -> {_outputs(seen)}"
    for sign, exists in seen.markers.items():
        if exists != (sign in before.markers):
            yield f"{sign} {'appeared' if exists else 'is gone'}"
    known = (OUTCOME, *before.problems)
    yield from (problem.text for problem in seen.problems if problem.kind not in known)
    now = {problem.kind for problem in seen.problems}
    if (
        before.is_over or not seen.is_over
    ):  # of a job that ends, nobody needs to know that it is no longer slow
        yield from (f"no longer: {text}" for kind, text in before.problems.items() if kind not in now)


def _outcome(seen: SeenJob, before: Remembered) -> Iterator[str]:
    """Yield how a job ended, if its state showed only that it ended, or its cause was found since."""
    for problem in seen.problems:
        if problem.kind == OUTCOME and problem.text != before.problems.get(OUTCOME):
            yield problem.text


def _progress(seen: SeenJob, before: Remembered) -> Iterator[str]:
    """Yield how far a job came since the last patrol."""
    if seen.current is None or seen.current == before.current:
        return
    if before.current is None or seen.unit != before.unit:
        yield seen.progress
    elif seen.current < before.current:
        done = f"{number(before.current)} -> {number(seen.current)} {plural(seen.unit)}".rstrip()
        yield f"started again: {done}, {seen.progress}"
    else:
        done = number(seen.current - before.current)
        unit = seen.unit if done == "1" else plural(seen.unit)
        yield f"+{done} {unit}".rstrip() + f": {seen.progress}"


def _outputs(seen: SeenJob) -> str:
    """Return e.g. ``6 of 8 files``: how many there are, and how many there should be."""
    if seen.expected_outputs is None:
        return count(seen.outputs or 0, "file")
    return f"{seen.outputs or 0:,} of {count(seen.expected_outputs, 'file')}"


def _with_reason(state: str, seen: SeenJob) -> str:
    return f"{state}: {seen.reason}" if seen.reason else state


def _digest(quote: Quote) -> str:
    return hashlib.sha256(quote.text.encode("utf-8", "backslashreplace")).hexdigest()[:_DIGEST_CHARS]
