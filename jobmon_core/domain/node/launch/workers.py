"""Check whether all workers of a run have started.

How many there should be is what the user says, else what a launcher was asked for. What Slurm has granted is
not counted: `--ntasks=4` without srun starts one process, and often that is meant.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from jobmon_core.domain.humanize import count
from jobmon_core.domain.node.launch.model import WORKERS, Item, Result
from jobmon_core.domain.node.telemetry.measuring.programs import is_helper
from jobmon_core.domain.slurm.job_ids import IndexSet, compact

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jobmon_core.domain.node.launch.facts import LaunchFacts
    from jobmon_core.domain.node.telemetry.model import RankGroup, Worker

# srun prints them to its error output when the tasks end (Slurm 22.05, ``src/srun/libsrun/srun_job.c``)::
#
#     srun: error: n1: task 3: Exited with exit code 1
#     srun: error: n[1-2]: tasks 0-2,5: Killed
_LINE = re.compile(r"srun: error: \S{1,256}: tasks? ([0-9][0-9,-]{0,512}): \S.{0,200}")
_MAX_RANKS = 4096

_SRUN = "srun"
_MAX_DETAILS = 8


class Launch(NamedTuple):
    """The workers of one launcher, on all nodes."""

    launcher: str
    size: int
    running: frozenset[int]  # ranks
    ended: frozenset[int]  # ranks that were seen and no longer run
    needs_all: bool  # none of its workers may end before the others

    @property
    def missing(self) -> frozenset[int]:
        """The ranks that do not run."""
        return frozenset(range(self.size)) - self.running


def launches(facts: LaunchFacts) -> tuple[Launch, ...]:
    """Return the launches whose size is certain, each put together from all nodes."""
    groups: dict[tuple[str, str, int], list[RankGroup]] = {}
    for report in facts.reports:
        for group in report.ranks:
            groups.setdefault((group.launcher, group.name, group.size), []).append(group)
    found = []
    for (launcher, _, size), parts in groups.items():
        running = [rank for part in parts for rank in part.running]
        is_sure = all(part.is_sure for part in parts) or len(set(running)) > 1
        if is_sure and len(set(running)) == len(running):
            ended = frozenset(rank for part in parts for rank in part.ended) - set(running)
            found.append(
                Launch(launcher, size, frozenset(running), ended, any(part.needs_all for part in parts))
            )
    return tuple(found)


def check_workers(facts: LaunchFacts) -> Item:
    """Return how the check of the workers came out."""
    if not facts.reports or not facts.is_complete:
        if facts.reports:
            why = "not every node has an agent"
        elif facts.why_no_report:
            why = f"no agent beside the job ({facts.why_no_report})"
        else:
            why = "no agent beside the job has reported yet"
        return Item(WORKERS, Result.NOT_KNOWN, f"workers: {why}")
    found = launches(facts)
    if facts.num_workers:
        return _against_settings(facts, found, facts.num_workers)
    if found:
        return _against_launcher(facts, found)
    if any(worker.rank is not None for worker in facts.workers):
        return Item(WORKERS, Result.NOT_KNOWN, "workers: how many there should be is not known")
    if not facts.workers:
        result = Result.FAILED if facts.has_own_window else Result.NOT_YET
        return Item(WORKERS, result, "no process of the job seen yet")
    programs = [worker for worker in facts.workers if not is_helper((worker.name,), "")]
    return Item(WORKERS, Result.PASSED, count(len(programs) or 1, "worker"))  # or the script does the work


def _against_settings(facts: LaunchFacts, found: tuple[Launch, ...], expected: int) -> Item:
    ranked = sum(len(launch.running) for launch in found)
    number = ranked or len(facts.workers)
    if number >= expected:
        return Item(WORKERS, Result.PASSED, f"{expected}/{count(expected, 'worker')}")
    if not ranked and len(facts.workers) == 1 and (item := _within(facts.workers[0], expected)):
        return item
    if not (facts.has_own_window or facts.has_begun):
        return Item(WORKERS, Result.NOT_YET, f"{number} of {expected} workers are running so far")
    text = f"only {number} of {expected} workers are running"
    return Item(WORKERS, Result.FAILED, text, tuple(_details(facts, found)) if found else _programs(facts))


def _within(only: Worker, expected: int) -> Item | None:
    """Return how the check came out if the workers may be parts of the only program; None if they are not."""
    if only.children >= expected:
        return Item(
            WORKERS, Result.PASSED, f"{expected}/{count(expected, 'worker')}, processes of one program"
        )
    if only.threads >= expected:
        text = "workers: one process runs, and it is not known whether its threads are the workers"
        return Item(WORKERS, Result.NOT_KNOWN, text)
    return None


def _against_launcher(facts: LaunchFacts, found: tuple[Launch, ...]) -> Item:
    size, running = sum(launch.size for launch in found), sum(len(launch.running) for launch in found)
    if size == running:
        return Item(WORKERS, Result.PASSED, f"{running}/{count(size, 'worker')}")
    details = tuple(_details(facts, found))
    if any(_must_run(facts, launch) for launch in found):
        return Item(WORKERS, Result.FAILED, f"only {running} of {size} workers are running", details)
    if all(launch.missing <= launch.ended for launch in found):
        ended = size - running
        return Item(
            WORKERS, Result.PASSED, f"{size}/{count(size, 'worker')}, {ended} of which have already ended"
        )
    text = f"workers: {running} of {size} are running; the others ended early or never started"
    return Item(WORKERS, Result.NOT_KNOWN, text, details)


def _must_run(facts: LaunchFacts, launch: Launch) -> bool:
    """Whether a rank that should be running is missing.

    A missing rank alone proves no failure: independent tasks end when their share of the work is done, and
    if a rank of mpirun fails, mpirun ends all others, too.
    """
    return bool(launch.missing) and (launch.needs_all or bool(_errors(facts, launch)))


def _errors(facts: LaunchFacts, launch: Launch) -> dict[int, str]:
    """Return what srun says about ranks that do not run."""
    if launch.launcher != _SRUN:
        return {}
    return {rank: facts.step_errors[rank] for rank in sorted(launch.missing) if rank in facts.step_errors}


def _details(facts: LaunchFacts, found: tuple[Launch, ...]) -> Iterator[str]:
    """Yield a line for the missing ranks of each kind."""
    for launch in found:
        errors = _errors(facts, launch)
        yield from list(dict.fromkeys(errors.values()))[:_MAX_DETAILS]
        rest = launch.missing - errors.keys()
        for ranks, what in ((rest & launch.ended, "ended"), (rest - launch.ended, "not seen")):
            if ranks:
                name = "rank" if len(ranks) == 1 else "ranks"
                yield f"{name} {compact(list(ranks))} of {launch.size} ({launch.launcher}): {what}"


def _programs(facts: LaunchFacts) -> tuple[str, ...]:
    """Return a line for each running worker, with its PID in place of a rank."""
    return tuple(f"running: process {worker.pid} {worker.name}" for worker in facts.workers[:_MAX_DETAILS])


def step_errors(lines: Iterable[str]) -> dict[int, str]:
    """Return the line about each failed task of a step, by its rank; a line about very many is skipped."""
    found: dict[int, str] = {}
    for line in lines:
        if match := _LINE.search(line):
            ranks = IndexSet.parse(match[1])
            if len(ranks) <= _MAX_RANKS:
                found |= dict.fromkeys(ranks, match[0])
    return found
